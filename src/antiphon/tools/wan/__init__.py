"""An emulated wide area: sites in network namespaces, and links with delay, loss and bandwidth."""
