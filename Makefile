# Every word sets itself up: see scripts/setup.sh. ARGS="…" reaches the command that a word runs.
ARGS ?=
PEERS ?=
PYTHON ?=
export PYTHON

bin := .venv/bin
pytest := $(bin)/python -m pytest

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test test-all check bench chaos mutate docs clean runtime dev site-tools oracles system weak-model

help:
	@echo "make demo      a scripted session in the terminal, no key and no network"
	@echo "make test      the fast tests"
	@echo "make test-all  the slow ones too, properties with thousands of examples"
	@echo "make chaos     full sweeps; takes long"
	@echo "make weak-model  fetch a small real model (1.1 GB) for slow tests: calls that it writes as text"
	@echo "make mutate    how many small faults in policy/ and shell/ the tests find; ARGS=\"--minutes 5\""
	@echo "make check     ruff, types, layers and house rules, generated docs"
	@echo "make bench     speed against limits; PEERS=path/to/python adds other libraries"
	@echo "make docs      redraw the generated parts of the docs and build the site: site/index.html"
	@echo "make clean     remove .venv, caches and builds"

demo: runtime
	@$(bin)/callgate demo $(ARGS)

test: dev system
	HYPOTHESIS_PROFILE=fast $(pytest) -n auto -m "not slow and not chaos" $(ARGS)

test-all: oracles system
	HYPOTHESIS_PROFILE=thorough $(pytest) -n auto -m "not chaos" $(ARGS)

chaos: oracles system
	HYPOTHESIS_PROFILE=chaos $(pytest) -n auto -m "slow or chaos" $(ARGS)

mutate: dev
	$(bin)/python scripts/mutate.py $(ARGS)

check: dev
	$(bin)/ruff check .
	$(bin)/ruff format --check .
	$(bin)/basedpyright
	$(pytest) -q tests/house
	$(bin)/python scripts/docs.py --check

bench: dev
	$(bin)/python -m benchmarks $(if $(PEERS),--peers "$(PEERS)") $(ARGS)

docs: site-tools
	$(bin)/python scripts/docs.py
	$(bin)/sphinx-build -q -E -W --keep-going -n -d .venv/doctrees docs site $(ARGS)
	@echo "site/index.html"

clean:
	rm -rf .venv build dist site .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

runtime dev oracles:
	@sh scripts/setup.sh $@

site-tools:
	@sh scripts/setup.sh docs

system:
	@sh scripts/system.sh

weak-model: dev
	@sh scripts/weak_model.sh
