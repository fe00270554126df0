"""The node on real sockets, disk and clock."""
