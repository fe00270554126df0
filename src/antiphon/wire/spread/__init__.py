"""The client protocol of Spread 5, both directions, both byte orders, without I/O."""
