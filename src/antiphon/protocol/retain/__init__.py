"""What is kept of some groups, on disk."""
