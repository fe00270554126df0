"""How a bug is planted in a machine from outside.

A mutant takes the node of a new life and changes objects of it; product code has no switch
for that. A method is changed by giving its object a class of its own, so that objects with
slots can be changed, too, and a method that is no longer there is an error, not a mutant
that does nothing.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

from antiphon.core.bundle import Bundle
from antiphon.protocol.node import Node
from antiphon.protocol.stream.delivery import Delivery
from antiphon.protocol.stream.recovery import Plan
from antiphon.protocol.stream.ring import Ring

Plant = Callable[[Node], None]


@dataclass(frozen=True, slots=True)
class Mutant:
    name: str
    area: str
    sentence: str
    plant: Plant
    sites: bool = False
    """It shows only where there are several."""


def mutants_of(area: str, *plants: Plant, sites: bool = False) -> tuple[Mutant, ...]:
    """Mutants named by their functions and told by the first lines of their docstrings."""
    found = []
    for plant in plants:
        name = getattr(plant, "__name__", "")
        told = " ".join((plant.__doc__ or "").partition("\n\n")[0].split())
        found.append(Mutant(name.replace("_", "-"), area, told, plant, sites))
    return tuple(found)


def swap(owner: object, name: str, mutant: Callable[..., Any]) -> None:
    """From now on `owner.name(...)` is `mutant(original, ...)`."""
    base: type = type(owner)
    original = getattr(base, name)

    def changed(self: object, *arguments: Any, **named: Any) -> Any:
        return mutant(partial(original, self), *arguments, **named)

    _change_class(owner, base, name, changed)


def whenever(owner: object, name: str, change: Callable[[Any], None]) -> None:
    """Change each object that becomes `owner.name`, before anybody uses it."""
    base: Any = type(owner)
    if getattr(owner, name) is not None:
        change(getattr(owner, name))

    def assign(self: object, attribute: str, value: object) -> None:
        if attribute == name and value is not None:
            change(value)
        base.__setattr__(self, attribute, value)

    _change_class(owner, base, "__setattr__", assign)


def changed(bundle: Bundle, **fields: object) -> Bundle:
    """Another one, as it is but for these."""
    twin = copy(bundle)
    for name, value in fields.items():
        setattr(twin, name, value)
    return twin


def _change_class(owner: object, base: type, name: str, function: Callable[..., Any]) -> None:
    owner.__class__ = type(base.__name__, (base,), {"__slots__": (), name: function})


def on_ring(node: Node, change: Callable[[Ring], None]) -> None:
    """Each configuration has a ring of its own."""
    whenever(node.stream, "_ring", change)


def on_delivery(node: Node, change: Callable[[Delivery], None]) -> None:
    on_ring(node, lambda ring: change(ring.delivery))


def on_plan(node: Node, change: Callable[[Plan], None]) -> None:
    """Each attempt at a new configuration has a plan of what survives of the old one."""
    whenever(node.stream, "_pull", lambda pull: change(pull.plan))
