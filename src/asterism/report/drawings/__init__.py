"""Figures that a lane's section shows, where they are many."""
