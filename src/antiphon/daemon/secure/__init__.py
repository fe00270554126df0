"""Sealed datagrams between the daemons of one cluster, and the keys for them."""
