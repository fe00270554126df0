"""Events that wait: in order, each taken once, whoever takes it and wherever somebody stops."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.client.events import Event, Left
from antiphon.client.waiting import Waiting


def events(first: int, count: int) -> list[Event]:
    return [Left(f"g{number}") for number in range(first, first + count)]


ACTION = st.one_of(
    st.tuples(st.just("add"), st.integers(0, 4)),
    st.tuples(st.just("one"), st.just(0)),
    st.tuples(st.just("some"), st.integers(0, 5)),
    st.tuples(st.just("look"), st.just(0)),
    st.tuples(st.just("held"), st.integers(0, 3)),
    st.tuples(st.just("clear"), st.just(0)),
)


@given(st.lists(ACTION, max_size=40))
def test_it_is_a_queue_whoever_takes_from_it(actions: list[tuple[str, int]]) -> None:
    waiting, model, made = Waiting(), list[Event](), 0
    for what, count in actions:
        if what == "add":
            waiting.add(events(made, count), count)
            model += events(made, count)
            made += count
        elif what == "held":
            held = Waiting()
            for number in range(made, made + count):
                held.add(events(number, 1), 1)
            waiting.add_all(held)
            model += events(made, count)
            made += count
        elif what == "one" and model:
            assert next(waiting.portion()) == model.pop(0)
        elif what == "some" and model:
            for event, _ in zip(waiting.portion(), range(count), strict=False):
                assert event == model.pop(0)
                if len(model) == 0:
                    break
            model[:] = list(waiting)  # zip takes one more than it gives
        elif what == "look" and model:
            assert waiting.first() == model[0]
        elif what == "clear":
            waiting.clear()
            model.clear()
        assert list(waiting) == model and len(waiting) == len(model)
        assert bool(waiting) == bool(model)


def test_bytes_of_the_portion_that_was_begun_do_not_count() -> None:
    waiting = Waiting()
    waiting.add(events(0, 2), 100)
    waiting.add(events(2, 1), 50)
    assert waiting.later_bytes == 150
    next(waiting.portion())
    assert waiting.later_bytes == 50


def test_nothing_comes_to_who_iterates_after_a_clear() -> None:
    waiting = Waiting()
    waiting.add(events(0, 3))
    taken = waiting.portion()
    next(taken)
    waiting.clear()
    assert next(taken, None) is None and not waiting
    with pytest.raises(IndexError):
        waiting.portion()
