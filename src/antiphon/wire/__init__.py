"""Everything that crosses the network, declared once."""
