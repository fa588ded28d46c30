# Everything is set up on first use, in .venv; only Python 3.11 or newer, git and make are needed.
# Without make: create a virtual environment, `pip install -e ".[dev]"`, and run the commands below.

.DEFAULT_GOAL := help
SHELL := /bin/sh
PYTHON ?= python3
VENV := .venv
VENV_PYTHON := $(VENV)/bin/python
STAMP := $(VENV)/.arh-installed
MUTANTS ?=
TARGETS ?=

# The first of these that starts and is new enough makes the environment.
PYENV_ROOT ?= $(HOME)/.pyenv
CANDIDATES := $(PYTHON) python3.13 python3.12 python3.11 $(wildcard $(PYENV_ROOT)/versions/3.1[123].*/bin/python)
NEW_ENOUGH := import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))

.PHONY: help install gate test test-frameworks lint format bench fuzz mutation lock clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-16s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

gate: $(STAMP) ## decide whether the packaged agent may ship (scorecard in reports/latest/)
	@$(VENV_PYTHON) -m arh.harness.release_gate

test: $(STAMP) ## run every check: format, lint, types, imports, tests on each Python, workflows
	@$(VENV_PYTHON) -m tools.check all

test-frameworks: $(STAMP) ## run agents of well-known frameworks as the agent under test
	@$(VENV_PYTHON) -m tools.frameworks

lint: $(STAMP) ## run the checks that execute nothing
	@$(VENV_PYTHON) -m tools.check lint

format: $(STAMP) ## rewrite the code in the project's format and fix what can be fixed safely
	@$(VENV_PYTHON) -m ruff check --fix-only --exit-zero .
	@$(VENV_PYTHON) -m ruff format .

bench: $(STAMP) ## measure what the harness itself costs
	@$(VENV_PYTHON) -m benchmarks

fuzz: $(STAMP) ## property tests for far longer, then a coverage-guided fuzzer (TARGETS="names" narrows it)
	@if [ -z "$(TARGETS)" ]; then $(VENV_PYTHON) -m pytest tests/property --hypothesis-profile=fuzz --timeout=0; fi
	@$(VENV_PYTHON) -m tools.fuzz $(TARGETS)

mutation: $(STAMP) ## change the code that decides, and see that a test notices (MUTANTS="names" narrows it)
	@$(VENV_PYTHON) -m tools.mutation $(MUTANTS)

lock: $(STAMP) ## write requirements.lock anew from pyproject.toml
	@$(VENV_PYTHON) -m tools.lock

install: $(STAMP) ## set up .venv and nothing else

clean: ## remove environments, caches, builds and generated reports
	@rm -rf .venv .venv-* build dist mutants .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	@find reports -mindepth 1 ! -name README.md -prune -exec rm -rf {} + 2>/dev/null || true
	@find src tests tools benchmarks -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

$(STAMP): pyproject.toml requirements.lock
	@for python in $(CANDIDATES); do \
	  if "$$python" -c '$(NEW_ENOUGH)' 2>/dev/null; then exec "$$python" -m tools.environment $(VENV); fi; \
	done; \
	echo 'arh needs Python 3.11 or newer with its venv module: none was found as $(CANDIDATES). Install one, or name it: make PYTHON=/path/to/python' >&2; \
	exit 1
