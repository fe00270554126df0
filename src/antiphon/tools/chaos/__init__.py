"""Chaos: real daemons and clients in network namespaces, faults on purpose, and a judgement."""
