"""Antiphon: ordered multicast and membership for groups of processes."""

__version__ = "0.1.0"
