"""The client library: one session without I/O, and two faces of it, asyncio and blocking."""
