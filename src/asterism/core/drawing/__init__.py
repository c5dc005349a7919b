"""Figures as SVG files."""
