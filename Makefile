# `make help` lists the targets. Every target that needs the environment sets it up by itself, into .venv.
.DEFAULT_GOAL := help
SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.runtime
DEV := $(VENV)/.dev
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# Programs start twice as fast if compiled bytecode is kept.
unexport PYTHONDONTWRITEBYTECODE
# Many tests wait for servers, so use more workers than cores.
WORKERS := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 2)

.PHONY: help setup demo test check static format format-check lint types imports openapi lock clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/bin/python:
	@python=$$(./scripts/find-python) && echo "Setting up .venv with $$($$python --version)" && $$python -m venv $(VENV)

$(RUNTIME): requirements.lock pyproject.toml | $(VENV)/bin/python
	@./scripts/install $(BIN) requirements.lock .
	@touch $@

$(DEV): requirements-dev.lock $(RUNTIME)
	@echo "Installing the development tools"
	@./scripts/install $(BIN) requirements-dev.lock
	@touch $@

setup: $(DEV) ## Install everything into .venv

demo: $(RUNTIME) ## Run one exploration on this machine: no key, no AWS, no GitHub
	@test -d demo/ideas || { mkdir -p demo && cp -R examples/ideas demo/ideas; }
	@$(BIN)/idea explore --research demo --if-exists run "A subscription box for urban beekeepers"

test: $(DEV) ## Run the tests
	@$(BIN)/pytest -n $(WORKERS) --dist loadscope

check: static ## Everything a commit must pass
	@$(BIN)/pytest -n $(WORKERS) --dist loadscope --cov --cov-report=term:skip-covered

static: format-check lint types imports ## Everything but the tests

format-check: $(DEV)
	@$(BIN)/ruff format --check --quiet . || { echo "Run 'make format'."; exit 1; }

lint: $(DEV)
	@$(BIN)/ruff check --quiet .

types: $(DEV)
	@$(BIN)/mypy

imports: $(DEV)
	@$(BIN)/lint-imports > /dev/null || $(BIN)/lint-imports

format: $(DEV) ## Format the code and fix lint errors
	@$(BIN)/ruff format --quiet . && $(BIN)/ruff check --fix --quiet .

openapi: $(DEV) ## Write docs/openapi.json from the API's routes
	@./scripts/openapi $(BIN)

MACHINE := $(if $(filter arm64 aarch64,$(shell uname -m)),arm64,x86_64)
ARCHITECTURE ?= arm64
SAM := PATH="$(CURDIR)/$(BIN):$$PATH" PYTHON="$(CURDIR)/$(BIN)/python" ARCHITECTURE=$(ARCHITECTURE) SAM_CLI_TELEMETRY=0 $(BIN)/sam

.PHONY: validate build invoke e2e
validate: $(DEV) ## Check template and state machine
	@$(SAM) validate --lint --region us-east-1
	@$(BIN)/pytest tests/workflow tests/unit/project/test_template.py

build: $(DEV) ## Build for deployment; ARCHITECTURE=x86_64 if not arm64
	@$(BIN)/python scripts/check-python
	@$(SAM) build --parameter-overrides Architecture=$(ARCHITECTURE)
	@$(BIN)/pytest -m slow tests/unit/project/test_build.py

EVENT ?= events/explore-queue-message.json
FUNCTION ?= ExploreFunction
FLAGS ?=
invoke: $(DEV) ## Run one function in a container, as Lambda would; FUNCTION=… EVENT=… FLAGS=…
	@./scripts/container-engine
	@$(MAKE) --no-print-directory build ARCHITECTURE=$(MACHINE)
	@$(SAM) local invoke $(FUNCTION) --event $(EVENT) --parameter-overrides Architecture=$(MACHINE) $(FLAGS)

e2e: $(DEV) ## Run the whole service on this machine, including the slow cases
	@$(BIN)/pytest tests/e2e -m "slow or not slow" --durations=10

lock: $(VENV)/bin/python ## Update the lock files
	@$(PIP) uv
	@./scripts/lock $(BIN)

clean: ## Remove .venv and build output
	rm -rf $(VENV) .aws-sam artifacts

.PHONY: adversarial chaos
adversarial: $(DEV) ## A thousand models that spend all they can, against small budgets
	@$(BIN)/python -m tests.adversarial.budget

chaos: $(DEV) ## Kill a run before and after each of its side effects
	@$(BIN)/python -m tests.chaos.run

.PHONY: faults
faults: $(DEV) ## Sixty failures of external services, one at a time
	@$(BIN)/python -m tests.adversarial.faults

.PHONY: load benchmark
load: $(DEV) ## Fifty concurrent publishers, publishers killed at every call, memory use with hostile pages
	@$(BIN)/pytest tests/integration -m slow -s

benchmark: $(DEV) ## Code tools on Django's source, music search on 100,000 tracks, savings from caching; needs a package index
	@$(BIN)/python -m tests.performance.code_tools
	@$(BIN)/python -m tests.performance.discover
	@$(BIN)/python -m tests.performance.caching

.PHONY: cold-start
BEFORE ?=
cold-start: $(DEV) ## CPU time of each function's cold start, and the size of its layers; BEFORE=revision to compare with
	@$(BIN)/python -m tests.performance.cold_start $(if $(BEFORE),--before $(BEFORE))

.PHONY: browser browser-core axe picture
axe:
	@npm install --silent --no-save --no-package-lock --no-audit --no-fund axe-core@4 2> /dev/null || echo "No accessibility check: npm could not install axe-core here."

browser: $(DEV) axe ## Test the console in a real Chromium; screenshots go to artifacts/browser
	@$(BIN)/pytest tests/browser -m slow -rs -s

browser-core: $(DEV) axe ## One journey and the accessibility of each view, as run in CI
	@$(BIN)/pytest tests/browser -m core -rs

picture: $(DEV) ## Take the README's screenshot of the console
	@$(BIN)/python -m tests.browser.picture

.PHONY: github-openapi
github-openapi: $(DEV) ## Update the test GitHub from GitHub's OpenAPI description; needs npm
	@$(BIN)/python scripts/refresh-github-openapi.py
