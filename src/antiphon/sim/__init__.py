"""The node in a simulated world: virtual time, one seed, faults from a script."""
