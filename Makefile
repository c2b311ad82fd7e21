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
# Tests wait more than they compute, for servers and for processes of their own, so two workers for each core and
# one more keep the cores busy. They run in the order of the folders, which begins with the longest: at the end,
# short ones keep all workers busy. tests/workers.py forks them, which is not safe on macOS.
WORKERS := $(shell expr $$(getconf _NPROCESSORS_ONLN) '*' 2 + 1)
IN_WORKERS := $(if $(filter Linux,$(shell uname -s)),--workers,-n) $(WORKERS)
# Of the long ones, these take longest, and no other file has to be loaded than those with a long test.
LONGEST := $(addprefix tests/,integration/usecases/test_estimates.py integration/project/test_guides.py e2e/test_smoke.py \
	integration/scripts/test_deploy.py integration/project/test_runbook.py workflow/test_state_machine.py)
LONG = $(LONGEST) $(filter-out $(LONGEST),$(sort $(shell grep -rl --include='test_*.py' 'mark\.long' tests)))

.PHONY: help setup demo screens test long bytecode check static format format-check lint types imports openapi lock clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/bin/python:
	@python=$$(./scripts/find-python) && echo "Setting up .venv with $$($$python --version)" && $$python -m venv $(VENV)

$(RUNTIME): requirements.lock requirements-tools.lock pyproject.toml | $(VENV)/bin/python
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
	@command -v idea > /dev/null || echo 'To run idea yourself: export PATH="$(CURDIR)/$(BIN):$$PATH"'

screens: $(DEV) ## Draw the terminal of the README again, from the running program
	@$(BIN)/python -m scripts.record_terminal docs/images/terminal.svg

test: $(DEV) ## Run the tests
	@$(BIN)/pytest $(IN_WORKERS)

long: $(DEV) ## Run the tests that wait, measure, are killed or follow the guides in docs/ to the letter
	@$(BIN)/pytest -n $(WORKERS) -m 'long and not slow' $(LONG)

bytecode: $(DEV) ## Compile what the tests import, which saves the first run half a minute
	@$(BIN)/pytest --collect-only -qq > /dev/null

check: static ## Everything a commit must pass
	@$(BIN)/pytest $(IN_WORKERS) --cov --cov-report=term:skip-covered

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
SAM = PATH="$(CURDIR)/$(BIN):$$PATH" PYTHON="$(CURDIR)/$(BIN)/python" ARCHITECTURE=$(ARCHITECTURE) SAM_CLI_TELEMETRY=0 $(BIN)/sam

# One folder per purpose and architecture: what is deployed is never what `make invoke` left behind.
BUILD = .aws-sam/deploy-$(ARCHITECTURE)

.PHONY: validate build deploy undeploy invoke e2e
validate: $(DEV) ## Check template and state machine
	@$(SAM) validate --lint --region us-east-1
	@$(BIN)/pytest tests/workflow tests/unit/project/test_template.py

build: $(DEV) ## Build for deployment and check the result; ARCHITECTURE=x86_64 if not arm64
	@$(BIN)/python scripts/check-python
	@$(SAM) build --build-dir $(BUILD) --parameter-overrides Architecture=$(ARCHITECTURE)
	@echo $(ARCHITECTURE) > $(BUILD)/architecture
	@$(BIN)/python -m scripts.supply_chain sbom $(BUILD)/sbom.cdx.json
	@BUILD=$(BUILD) $(BIN)/pytest -m slow tests/unit/project/test_build.py tests/e2e/test_built.py

deploy: $(DEV) ## Deploy or update a stack and test it; STACK=… REPOSITORY=owner/name, optionally STAGE ARCHITECTURE REGION OWNER PARAMETERS
	@$(BIN)/python scripts/check-python
	@$(BIN)/python -m scripts.deploy deploy --stack "$(STACK)" --repository "$(REPOSITORY)" --stage "$(STAGE)" \
		--architecture "$(if $(filter command environment,$(origin ARCHITECTURE)),$(ARCHITECTURE))" --region "$(REGION)" \
		--owner "$(OWNER)" --built "$(BUILT)"

undeploy: $(DEV) ## Delete a stack, except for its explorations; STACK=…, optionally REGION CONFIRM
	@$(BIN)/python -m scripts.deploy undeploy --stack "$(STACK)" --region "$(REGION)"

EVENT ?= events/explore-queue-message.json
# events/explore-….json is for ExploreFunction
FUNCTION ?= $(shell basename $(EVENT) | awk -F- '{print toupper(substr($$1, 1, 1)) substr($$1, 2)}')Function
FLAGS ?=
REPORTS ?= artifacts/reports
PORT ?= 3000
# Functions for this machine, in a folder of their own: a deployment never takes what was built for a machine.
LOCAL := .aws-sam/local
LOCAL_TEMPLATE := --template $(LOCAL)/build/template.yaml --parameter-overrides Architecture=$(MACHINE)
.PHONY: local-build local-api sam-local
local-build invoke local-api: ARCHITECTURE = $(MACHINE)

local-build: $(DEV)
	@$(BIN)/python scripts/check-python
	@mkdir -p $(LOCAL)
	@$(SAM) build --cached --cache-dir $(LOCAL)/cache --build-dir $(LOCAL)/build --parameter-overrides Architecture=$(MACHINE) > $(LOCAL)/build.log 2>&1 || { cat $(LOCAL)/build.log; exit 1; }
	@$(BIN)/python scripts/prepare-local-template $(LOCAL)/build/template.yaml

invoke: $(DEV) ## Run one function in a container, as Lambda would; EVENT=… FLAGS=… REPORTS=folder
	@./scripts/container-engine
	@$(MAKE) --no-print-directory local-build
	@$(SAM) local invoke $(FUNCTION) --event $(EVENT) $(LOCAL_TEMPLATE) $(FLAGS) > $(LOCAL)/answer.json
	@$(BIN)/python scripts/show-answer $(LOCAL)/answer.json $(REPORTS)

local-api: $(DEV) ## Serve the API with its authorizer from containers, at 127.0.0.1; PORT=… FLAGS=…
	@./scripts/container-engine
	@$(MAKE) --no-print-directory local-build
	@echo "The API's token is $${IDEA_API_TOKEN:-local}. Try:"
	@echo "  curl -H 'Authorization: Bearer $${IDEA_API_TOKEN:-local}' http://127.0.0.1:$(PORT)/explorations"
	@$(SAM) local start-api --port $(PORT) --warm-containers LAZY --no-watch $(LOCAL_TEMPLATE) $(FLAGS)

sam-local: $(DEV) ## Try 'make invoke' and 'make local-api' with a scripted Claude; without Docker, in podman (Debian, root)
	@$(BIN)/python -m tests.e2e.sam_local

e2e: $(DEV) ## Run the whole service on this machine, including the slow cases
	@$(BIN)/pytest tests/e2e -m "slow or not slow" --durations=10

.PHONY: drain
JOBS ?= 1000
drain: $(DEV) ## A thousand jobs, each delivered five times, under AWS's rules (about 20 minutes); JOBS=…
	@$(BIN)/python -m tests.e2e.drain --jobs $(JOBS)

lock: $(VENV)/bin/python ## Update the lock files
	@$(PIP) --require-hashes --requirement requirements-tools.lock
	@./scripts/lock $(BIN)

clean: ## Remove .venv and build output
	rm -rf $(VENV) .aws-sam artifacts

.PHONY: adversarial chaos
adversarial: $(DEV) ## A thousand models that spend all they can, against small budgets
	@$(BIN)/python -m tests.adversarial.budget

chaos: $(DEV) ## Kill a run before and after each of its side effects
	@$(BIN)/python -m tests.chaos.run

.PHONY: eval
eval: $(DEV) ## Score recorded reports and say what changed; with a key, LIVE=1 CAP=dollars asks the real model; JUDGE=… ONLY=…
	@$(BIN)/python -m tests.evaluation $(if $(LIVE),--live $(if $(CAP),--cap $(CAP)) --judge $(or $(JUDGE),haiku)) $(if $(ONLY),--only $(ONLY))

.PHONY: injection
injection: $(DEV) ## A model that obeys every planted instruction, over each toolset: what leaves
	@$(BIN)/python -m tests.adversarial.injection

.PHONY: hostile
hostile: $(DEV) ## Hostile strings for every component that handles untrusted text; TRIES=… SEED=…
	@$(BIN)/python -m tests.hostile.run --tries $(or $(TRIES),100000) --seed $(or $(SEED),1)

.PHONY: faults
faults: $(DEV) ## Sixty failures of external services, one at a time
	@$(BIN)/python -m tests.adversarial.faults

.PHONY: load benchmark admission
load: $(DEV) ## Fifty concurrent publishers, publishers killed at every call, memory use with hostile pages
	@$(BIN)/pytest tests/integration -m slow -s --ignore tests/integration/cli

.PHONY: terminal
terminal: $(DEV) ## Every promise of the command line in a real shell and a real terminal; about two minutes
	@$(BIN)/pytest tests/integration/cli/test_sessions.py -m 'slow or long' -n $(WORKERS)

.PHONY: connections
connections: $(DEV) ## 2,000 idle connections and 100 slow bodies against 'idea serve', while others use it
	@$(BIN)/python -m tests.performance.connections

EMBEDDER := $(VENV)/.embedder
$(EMBEDDER): requirements-embedder.lock $(DEV)
	@./scripts/install $(BIN) requirements-embedder.lock
	@touch $@

.PHONY: discover
discover: $(EMBEDDER) ## How well music search finds: BM25, the default and the extra, on both labelled sets; DATA=folder instead of a download
	@$(BIN)/python -m tests.performance.search_quality $(if $(DATA),--data $(DATA))

benchmark: $(DEV) ## Code tools on Django's source, music search on 100,000 tracks, savings from caching and filtering; needs a package index
	@$(BIN)/python -m tests.performance.code_tools
	@$(BIN)/python -m tests.performance.discover
	@$(BIN)/python -m tests.performance.caching
	@$(BIN)/python -m tests.performance.filtering

.PHONY: tokens
tokens: $(DEV) ## Tokens of the prompts and tools of each toolset, and what caching saves
	@$(BIN)/python -m tests.performance.tokens
	@$(BIN)/python -m tests.performance.caching

.PHONY: code-benchmark
code-benchmark: $(DEV) ## Definitions and importers of ten public repositories against other tools, search_files beside ripgrep; needs pip, npm and apt
	@$(BIN)/python -m tests.performance.code_accuracy
	@$(BIN)/python -m tests.performance.code_search

.PHONY: verification
verification: $(DEV) ## How many altered sentences of four planted sets the rules of verification find, and how long they take
	@$(BIN)/python -m tests.performance.verification

.PHONY: growth
growth: $(DEV) ## How the time of everything that reads foreign text grows, up to 1 MB; about ten minutes
	@$(BIN)/python -m tests.performance.growth

.PHONY: scaling
scaling: $(DEV) ## How the index grows with the documents, up to 20,000, and a run with its steps and results; about five minutes
	@$(BIN)/python -m tests.performance.scaling

SUBMISSIONS ?= 1000 10000
admission: $(DEV) ## Simulate a burst of explorations: waits, most at once, cost, before and after; about ten minutes
	@$(BIN)/python -m tests.performance.admission $(SUBMISSIONS)

.PHONY: counts
counts: $(DEV) ## What one exploration asks of the stores: transactions, fsyncs, requests to AWS and their price, threads
	@$(BIN)/python -m tests.performance.counts

.PHONY: estimates
estimates: $(DEV) ## What fifty scripted runs were estimated to cost and take, and what they did
	@$(BIN)/python -m tests.performance.estimates

.PHONY: health
health: $(DEV) ## How long /health takes while the worst pattern, source file, document and page are worked on
	@$(BIN)/python -m tests.performance.health

.PHONY: peers latency throughput commands
ROUNDS ?= 5
peers: $(DEV) ## Our engine beside the loops of others, in turns: start, CPU, memory; PEERS=… ROUNDS=…, CHECK=1 shows their requests; needs npm
	@$(BIN)/python -m tests.performance.peers --rounds $(ROUNDS) $(if $(PEERS),--peers $(PEERS)) $(if $(CHECK),--check)

latency: $(DEV) ## How long a word of the model takes to the event stream and to the terminal; about four minutes
	@$(BIN)/python -m tests.performance.latency

throughput: $(DEV) ## 500 explorations through 'idea serve' with 8 workers and a model that answers at once
	@$(BIN)/python -m tests.performance.throughput

commands: $(DEV) ## CPU time of 'idea explore' offline and of 'idea tool --stdin'
	@$(BIN)/python -m tests.performance.commands

.PHONY: cold-start
BEFORE ?=
cold-start: $(DEV) ## CPU time of each function's cold start, and the size of its layers; BEFORE=revision to compare with
	@$(BIN)/python -m tests.performance.cold_start $(if $(BEFORE),--before $(BEFORE))

.PHONY: browser browser-core axe picture lighthouse
axe:
	@npm ci --prefix scripts/node --silent --no-audit --no-fund 2> /dev/null || echo "No accessibility check: npm could not install axe-core here."

browser: $(DEV) axe ## Test the console in a real Chromium; screenshots go to artifacts/browser
	@$(BIN)/pytest tests/browser -m slow -rs -s

browser-core: $(DEV) axe ## One journey and the accessibility of each view, as run in CI
	@$(BIN)/pytest tests/browser -m core -rs

picture: $(DEV) ## Take the README's screenshots of the console, light and dark
	@$(BIN)/python -m tests.browser.picture

lighthouse: $(DEV) ## Lighthouse's scores of the main views, phone and desktop; fails below 95; needs npm and Chromium
	@$(BIN)/python -m tests.browser.lighthouse

.PHONY: audit sbom licences
audit: $(DEV) ## Check code, packages, licences, template and state machine with the tools of others; needs a package index and npm
	@./scripts/audit $(BIN)

sbom: $(DEV) ## Write the software bill of materials, in CycloneDX, to artifacts/sbom.cdx.json
	@$(BIN)/python -m scripts.supply_chain sbom artifacts/sbom.cdx.json

licences: $(DEV) ## Write docs/licences.md from the locks and the installed packages
	@$(BIN)/python -m scripts.supply_chain licences

.PHONY: github-openapi
github-openapi: $(DEV) ## Update the test GitHub from GitHub's OpenAPI description; needs npm
	@$(BIN)/python scripts/refresh-github-openapi.py

.PHONY: tidal-openapi
tidal-openapi: $(DEV) ## Update the test Tidal from Tidal's OpenAPI description; DESCRIPTION=file instead of the address
	@$(BIN)/python scripts/refresh-tidal-openapi.py $(DESCRIPTION)

.PHONY: qdrant-openapi
qdrant-openapi: $(DEV) ## Update the test Qdrant from Qdrant's OpenAPI description; DESCRIPTION=file instead of the address
	@$(BIN)/python scripts/refresh-qdrant-openapi.py $(DESCRIPTION)
