"""Measures a cluster with clients that are processes of their own, and checks what they get."""
