"""Weights and trees between sites from what was measured, and what other ways would cost."""
