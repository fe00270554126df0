"""`antiphon demo`: a cluster under load and faults, and everything that its records say."""
