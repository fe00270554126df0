"""Other systems, measured beside ours."""
