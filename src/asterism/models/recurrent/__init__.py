"""Recurrent networks as functions from inputs to probabilities and hidden states."""

from asterism.models.recurrent.model import RecurrentModel
from asterism.models.recurrent.opening import open_rnn

__all__ = ["RecurrentModel", "open_rnn"]
