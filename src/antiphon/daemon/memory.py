"""How this process holds its memory."""

import ctypes

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
KEPT_BYTES = 64 << 20
MAPPED_BYTES = 32 << 20
"""Longer than any bundle; the C library takes no more."""


def keep_freed_memory() -> None:
    """What is freed stays with us, and buffers of a bundle are not mapped one by one: the C library
    would give each back to the system and ask for it anew, page by page. Where there is no such
    setting nothing changes."""
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(M_TRIM_THRESHOLD, KEPT_BYTES)
        set_option(M_MMAP_THRESHOLD, MAPPED_BYTES)
