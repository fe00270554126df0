"""Planting: what changes, and that a mutant which finds nothing to change is an error."""

from typing import Any

import pytest

from antiphon.sim.mutants.planting import mutants_of, swap, whenever


class Counter:
    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0

    def add(self, much: int, *, times: int = 1) -> int:
        self.value += much * times
        return self.value


class Owner:
    def __init__(self) -> None:
        self.part: Counter | None = None

    def renew(self) -> None:
        self.part = Counter()


def double(original: Any, much: int, **named: Any) -> Any:
    return original(2 * much, **named)


def test_a_swapped_method_gets_the_original_and_the_arguments() -> None:
    counter = Counter()
    swap(counter, "add", double)
    assert counter.add(3, times=5) == 30


def test_only_the_one_object_is_changed() -> None:
    swap(Counter(), "add", double)
    assert Counter().add(1) == 1


def test_swaps_of_one_object_stand_on_each_other() -> None:
    counter = Counter()
    swap(counter, "add", double)
    swap(counter, "add", double)
    assert counter.add(1) == 4


def test_a_method_that_is_gone_is_an_error() -> None:
    with pytest.raises(AttributeError):
        swap(Counter(), "subtract", double)


def test_an_attribute_that_is_gone_is_an_error() -> None:
    with pytest.raises(AttributeError):
        whenever(Owner(), "parts", lambda part: None)


def test_whenever_changes_what_is_there_and_what_comes() -> None:
    owner = Owner()
    owner.renew()
    seen: list[object] = []
    whenever(owner, "part", seen.append)
    owner.renew()
    owner.part = None
    owner.renew()
    assert len(seen) == 3
    assert None not in seen
    assert seen[-1] is owner.part


def test_a_mutant_is_named_by_its_function_and_told_by_its_docstring() -> None:
    def token_eaten(node: object) -> None:
        """The token is
        eaten.

        Not told.
        """

    (mutant,) = mutants_of("ring", token_eaten)
    assert (mutant.name, mutant.area, mutant.sentence) == (
        "token-eaten",
        "ring",
        "The token is eaten.",
    )
