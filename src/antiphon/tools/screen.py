"""Where `antiphon shell` prints: under what is being typed on a terminal, or plainly."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby

from rich.console import Console
from rich.text import Text

from antiphon.client.events import Closed, Event, Gap, Message, Refusal, Transition, View
from antiphon.tools.event_text import EventText, event_object, name_of
from antiphon.tools.reaching import print_json

PROMPT = "> "
RUN_SHOWN = 3
"""Of a run of messages from one sender that came at once; the others are counted."""

STYLES: dict[type[Event], str] = {
    View: "green",
    Transition: "yellow",
    Gap: "yellow",
    Refusal: "red",
    Closed: "red",
}


class Screen:
    def __init__(self, is_typed: bool, as_json: bool) -> None:
        self.is_prompting = False
        """A line is being typed."""

        self._is_typed = is_typed
        self._as_json = as_json
        self._console = Console(highlight=False, soft_wrap=True)
        self._text = EventText()

    def show(self, events: Sequence[Event]) -> None:
        if self._as_json:
            for event in events:
                print_json(event_object(event))
            return
        for origin, run in groupby(events, _origin):
            together = list(run)
            shown = together[:RUN_SHOWN] if origin else together
            for event in shown:
                for line in self._text.lines(event):
                    self._print(line, STYLES.get(type(event), ""))
            rest = [one for one in together[len(shown) :] if isinstance(one, Message)]
            if rest:
                who = f"{'+'.join(rest[0].groups)} {name_of(rest[0].sender)}"
                size = sum(one.size for one in rest)
                self._print(f"{who}: {len(rest):,} more messages, {size:,} bytes", "")

    def note(self, text: str) -> None:
        """Something about the shell itself; programs that read events are not to see it."""
        if not self._as_json:
            self._print(text, "dim")

    def complain(self, text: str) -> None:
        if self._is_typed:
            self._print(text, "red")
        else:
            print(text, file=sys.stderr, flush=True)

    def _print(self, text: str, style: str) -> None:
        if not self._is_typed:
            print(text, flush=True)
            return
        if not self.is_prompting:
            self._console.print(Text(text, style=style))
            return
        import readline

        # Over the line that is being typed, which is then written again below.
        sys.stdout.write("\r\x1b[K")
        sys.stdout.flush()
        self._console.print(Text(text, style=style))
        sys.stdout.write(PROMPT + readline.get_line_buffer())
        sys.stdout.flush()

    @contextmanager
    def kept(self) -> Iterator[None]:
        """The terminal as it was: readline changes it while a line is typed, and a line may be
        half typed when we end."""
        if not self._is_typed:
            yield
            return
        import termios

        before = termios.tcgetattr(sys.stdin)
        try:
            yield
        finally:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
            if self.is_prompting:
                print()


def _origin(event: Event) -> tuple[object, ...]:
    """The same for messages that may be told together; empty for all else."""
    return (event.origin, event.groups) if isinstance(event, Message) else ()
