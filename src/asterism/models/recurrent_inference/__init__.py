"""Recurrent networks as functions from images to probabilities and hidden states."""

from asterism.models.recurrent_inference.model import RecurrentModel
from asterism.models.recurrent_inference.opening import open_rnn

__all__ = ["RecurrentModel", "open_rnn"]
