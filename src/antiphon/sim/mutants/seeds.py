"""For each mutant a seed that is known to catch it, so that a quick look need not search."""

SEEDS: dict[str, int] = {}
