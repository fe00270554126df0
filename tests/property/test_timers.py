"""Timers against a plain dictionary: the remembered deadline is always the earliest."""

from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.machine import NEVER, Timers

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["set", "set", "clear", "due", "shift", "clear_all"]),
        st.sampled_from("abcd"),
        st.integers(0, 12),
    ),
    max_size=40,
)


@given(STEPS)
def test_it_does_what_a_dictionary_would_do(steps: list[tuple[str, str, int]]) -> None:
    tested, model = Timers(), dict[str, int]()
    for what, name, amount in steps:
        match what:
            case "set":
                tested.set(name, amount)
                model[name] = amount
            case "clear":
                tested.clear(name)
                model.pop(name, None)
            case "due":
                due = sorted((at, name) for name, at in model.items() if at <= amount)
                assert tested.due(amount) == [name for _, name in due]
                model = {name: at for name, at in model.items() if at > amount}
            case "shift":
                tested.shift(amount)
                model = {name: at + amount for name, at in model.items()}
            case "clear_all":
                tested.clear_all()
                model.clear()
        assert tested.deadline() == min(model.values(), default=NEVER)
        for name in "abcd":
            assert tested.at(name) == model.get(name, NEVER)
            assert tested.running(name) == (name in model)
