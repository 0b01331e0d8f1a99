# Everything runs in .venv, which the first command makes: by uv where it is installed, by pip elsewhere.
# What is installed is in a lock, with its hash.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null || { test -x $(BIN)/uv && echo $(BIN)/uv; })
SCENARIO ?= data/scenarios/next-quarter.toml
OUT ?= plan-next-quarter

ifneq ($(UV),)
ANY := '>=3.11,<3.15'
MAKE_VENV = $(UV) venv --quiet --seed --python $(if $(filter file,$(origin PYTHON)),$(ANY),$(PYTHON)) $(VENV)
INSTALL = $(UV) pip install --quiet --python $(BIN)/python
else
MAKE_VENV = $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12 ...")' \
	&& $(PYTHON) -m venv $(VENV)
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check
endif
INSTALL_SELF = $(INSTALL) --no-deps --no-build-isolation --editable .

.DEFAULT_GOAL := help
.PHONY: help plan app quick test check docs bench examples fit lock screenshots clean

help: ## say what can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

plan: $(VENV)/.run ## solve the next-quarter scenario and write its report (SCENARIO=..., OUT=...)
	$(BIN)/everfleet plan $(SCENARIO) --out $(OUT)

app: $(VENV)/.run ## serve the app on this machine
	$(BIN)/everfleet app

quick: $(VENV)/.test ## run the tests that are done within a minute: no plan is solved, no page drawn (ARGS=...)
	$(BIN)/python -m pytest --quick -n 2 $(ARGS)

test: $(VENV)/.test ## run the tests; those that need a browser are skipped where there is none (ARGS=--nightly for all of them)
	$(BIN)/python -m pytest $(ARGS)

check: $(VENV)/.test ## lint, types, import contracts, and the shipped scenarios
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/everfleet check data/scenarios/*.toml

docs: $(VENV)/.test ## write the documentation as a site, without the network: build/site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build

bench: $(VENV)/.test ## measure speed and memory, and write docs/benchmarks.md (half an hour)
	$(BIN)/python -m benchmarks $(ARGS)

fit: $(VENV)/.run ## fit the constants of training and serving again and cross-validate them; prints only (ARGS=...)
	$(BIN)/python -m benchmarks.studies.fit $(ARGS)
	$(BIN)/python -m benchmarks.studies.fit_serving
	$(BIN)/python -m benchmarks.studies.fit_power

examples: $(VENV)/.run ## solve again what the app shows at first; needed when facts or shipped scenarios change (ten minutes)
	$(BIN)/python -m benchmarks.studies.examples
	$(BIN)/python -m benchmarks.studies.examples_front
	$(BIN)/python -m benchmarks.studies.example_fits

screenshots: $(VENV)/.test ## draw the pictures of the documentation again
	$(BIN)/python -m benchmarks.studies.screenshots

# One lock for running, one for testing too; the second may not differ from the first in what they share.
COMPILE = $(UV) pip compile pyproject.toml --group build --quiet --universal --generate-hashes --no-annotate \
	--custom-compile-command 'make lock' --python-version 3.11 $(ARGS)

lock: ## choose the locked versions anew (needs uv; ARGS=--upgrade for the newest)
	@test -n "$(UV)" || { echo "make lock needs uv: pip install uv"; exit 1; }
	$(COMPILE) --extra postgresql --output-file requirements.lock
	$(COMPILE) --extra test --constraint requirements.lock --output-file requirements-test.lock

clean: ## remove what the other commands made, the environment included
	rm -rf $(VENV) build dist plan-next-quarter .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(MAKE_VENV)

# The stamps: a set-up is done once, and again when what it rests on changes.
$(VENV)/.run: requirements.lock pyproject.toml hatch_build.py | $(BIN)/python
	@echo "Setting up $(VENV) (once; about a minute with pip, half of that with uv)"
	@$(INSTALL) --require-hashes --requirement requirements.lock
	@$(INSTALL_SELF)
	@touch $@

$(VENV)/.test: requirements-test.lock $(VENV)/.run | $(BIN)/python
	@echo "Adding what the tests need to $(VENV)"
	@$(INSTALL) --require-hashes --requirement requirements-test.lock
	@touch $@
