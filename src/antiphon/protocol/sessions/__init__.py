"""Clients of one daemon."""
