"""ReLU networks as gated linear ones."""
