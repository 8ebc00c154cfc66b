# ownergate: what can be done in this repository. `make help` lists it.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# `wheel` installs the built wheel, as CI does; `editable` is for working on it.
INSTALL ?= $(if $(CI),wheel,editable)
DEMO := .demo

.PHONY: help
help:  ## List these targets
	@awk 'BEGIN {FS = ":.*##"} /^[a-z-]+:.*##/ {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): requirements-dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed; say which with: make PYTHON=python3.12 ..." >&2; exit 1; }
	@echo "Setting up $(VENV) from requirements-dev.lock (about a minute, once) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements-dev.lock
ifeq ($(INSTALL),wheel)
	@rm -rf dist && $(BIN)/python -m build --quiet --wheel --no-isolation >/dev/null
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --force-reinstall dist/*.whl
else
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
endif
	@touch $@

.PHONY: setup
setup: $(READY)  ## Set up the virtual environment and look for runsc and Terraform
	@$(BIN)/python -m demo.requirements

.PHONY: demo
demo: setup  ## Tell the whole story on this machine, then clean up
	@$(BIN)/python -m demo --data $(DEMO)

.PHONY: demo-keep
demo-keep: setup  ## The same, then leave it running and say how to try it by hand
	@$(BIN)/python -m demo --data $(DEMO) --keep

.PHONY: audit
audit: $(READY)  ## Show and verify the audit trail of the last demo
	@$(BIN)/ownergate audit show --export $(DEMO)/audit/trail.jsonl
	@$(BIN)/ownergate audit verify --export $(DEMO)/audit/trail.jsonl --receipt-keys $(DEMO)/audit/receipt-keys.pem

.PHONY: down
down:  ## Stop what demo-keep left running
	@if [ -x $(BIN)/python ]; then $(BIN)/python -m demo --data $(DEMO) --down; fi

.PHONY: test
test: setup  ## Run every test that needs no cluster
	@$(BIN)/pytest -n 4 --dist loadgroup tests

.PHONY: test-mcp
test-mcp: setup  ## Run the tests of the MCP server alone
	@$(BIN)/pytest tests/unit/mcp_server

.PHONY: check
check: $(READY)  ## Lint, types, import contracts
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@if command -v terraform >/dev/null; then terraform fmt -check -recursive terraform; fi

.PHONY: bench
bench: setup  ## Measure against floors in the same run, as ratios (ONLY=read_call: one of them)
	@$(BIN)/python -m benchmarks $(ONLY)

.PHONY: lock
lock: $(READY)  ## Make the lock files anew from pyproject.toml
	@$(BIN)/pip install --quiet --disable-pip-version-check uv
	@$(BIN)/uv pip compile --quiet --upgrade --universal --no-strip-extras --python-version 3.11 --generate-hashes --no-header \
		--no-emit-index-url pyproject.toml --output-file requirements.lock
	@$(BIN)/uv pip compile --quiet --upgrade --universal --no-strip-extras --python-version 3.11 --generate-hashes --no-header \
		--no-emit-index-url --extra dev pyproject.toml --output-file requirements-dev.lock

.PHONY: clean
clean: down  ## Remove the virtual environment and everything that was built
	rm -rf $(VENV) $(DEMO) dist build .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
