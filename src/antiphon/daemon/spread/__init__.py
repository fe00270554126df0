"""Spread's client protocol at the daemon's end."""
