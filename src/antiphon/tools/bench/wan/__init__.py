"""Seeds 000 and 001 measured again: real daemons on an emulated wide area."""
