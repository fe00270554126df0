"""Protocol machines, pure; node.py joins them."""
