"""Pairs of models whose truth is known, and whether ``asterism vet`` tells it of them."""
