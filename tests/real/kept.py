"""What daemons are told in stories about kept groups."""

KEEP = """
[store]
directory = "store"

[[retain]]
group = "kept.*"

[[retain]]
group = "small"
max_bytes = "64KiB"
"""
