"""Sessions in groups, and the views they see."""
