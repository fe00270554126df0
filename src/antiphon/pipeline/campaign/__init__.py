"""Thousands of simulations on executors, each judged where it ran."""
