"""How cost grows with groups, daemons, sessions, receivers, and what is recorded."""
