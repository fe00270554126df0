# Every target works in .venv, which scripts/bootstrap makes when it is missing or out of date.
# Tools are called as `python -m ...`: console scripts break in a path with spaces.

PY := .venv/bin/python
ANTIPHON := $(PY) -m antiphon
FAST := PYTHONPATH=build/fast $(PY) -P -m antiphon
PYTEST := $(PY) -m pytest -n 2 --dist loadgroup
SEED ?= 7

# What `make check` tests; kept under two minutes. `make test` takes all of tests/.
QUICK_TESTS := $(wildcard tests/unit tests/property tests/wire) tests/test_tidy.py

# What `make test` runs after pytest: one command a line, the first that fails ends it.
define AFTER_PYTEST
$(ANTIPHON) sim --seeds 0:200 --json
$(ANTIPHON) sim --sites --seeds 0:40 --json
$(ANTIPHON) sim mutants --quick --json
$(ANTIPHON) sim changes --seeds 0:20
endef

.DEFAULT_GOAL := help
BASE ?= HEAD
.PHONY: help demo check test soak chaos fast bench bench-full bench-check sim docs clean environment others style

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

demo: environment ## real daemons under load and faults; judged, and measured on Spark
	$(ANTIPHON) demo

check: style ## style, types, tidiness, unit tests: under two minutes
	$(PYTEST) $(QUICK_TESTS)

test: style ## check, and every other test and the seeds
	$(PYTEST) tests
	$(AFTER_PYTEST)

soak: environment ## everything that takes long, going on where it was stopped
	$(ANTIPHON) soak

chaos: environment ## real daemons and clients under faults for three minutes; needs root
	$(ANTIPHON) chaos --seconds 180

fast: build/fast/.made ## compile the machines to C, into build/fast: PYTHONPATH=build/fast antiphon ...

build/fast/.made: setup.py pyproject.toml $(shell find src -name '*.py' -o -name '*.c') | environment
	rm -rf build
	ANTIPHON_COMPILE=1 MYPYPATH=src $(PY) -m pip install --quiet --no-deps --no-build-isolation --target build/fast .
	touch $@

bench: fast others ## our rates, compiled, against those of the C systems on this machine; needs root
	$(FAST) bench peers

bench-full: fast others ## the same with every service that orders and several senders; half an hour
	$(FAST) bench peers --full

bench-check: environment ## this tree against a commit, by turns: make bench-check BASE=HEAD~1
	$(ANTIPHON) bench check $(BASE)

sim: environment ## replay one seed: make sim SEED=7
	$(ANTIPHON) sim --seed $(SEED)

docs: environment ## write the parts of the docs that are made from the code
	@for script in scripts/*_table; do $(PY) $$script || exit 1; done

clean: ## delete caches and results; .venv stays
	rm -rf out build dist .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find src tests scripts -name __pycache__ -type d -prune -exec rm -rf {} +

style: environment
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy --strict src

environment:
	@scripts/bootstrap dev spark

# The clients of systems that we are measured beside; without them the bench says so and goes on.
others: environment
	-@scripts/bootstrap bench
