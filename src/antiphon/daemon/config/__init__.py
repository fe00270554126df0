"""The configuration file: declared, read, checked and shown."""
