"""Gated networks and the neural race."""
