"""Regions from subscriptions: which nodes should hear a group's messages together (QS-09)."""
