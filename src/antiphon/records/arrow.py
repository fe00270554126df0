"""pyarrow, loaded by the first who writes or reads a file, for it takes long and is large.

It has no types of its own; here they get names.
"""

from functools import cache
from importlib import import_module
from typing import Any

Array = Any
Batch = Any
DataType = Any
Schema = Any


@cache
def load() -> Any:
    """The package with the parts that the room uses."""
    for part in ("pyarrow.compute", "pyarrow.ipc"):
        import_module(part)
    pyarrow = import_module("pyarrow")
    pyarrow.array([0])  # the first array imports pandas, where there is one: now, not in the run
    return pyarrow
