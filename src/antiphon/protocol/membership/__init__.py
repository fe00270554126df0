"""Which daemons form the next configuration."""
