"""What runs amounted to, in figures: latency, traffic, rounds, changes, overhead."""
