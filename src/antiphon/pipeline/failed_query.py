"""Why a streaming query failed, in one line."""


def reason_of(text: str) -> str:
    """The line that says what was wrong, below those that say where."""
    ours = [line for line in text.splitlines() if line.startswith("antiphon.")]
    return (ours or text.splitlines())[-1 if ours else 0].strip()
