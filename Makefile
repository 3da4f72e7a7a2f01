# Every target is one command a person could type; `make help` lists them.
.DEFAULT_GOAL := help
SHELL := bash
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
K8S ?= v1.36.1
ARGS ?=
# Unit tests use every core; each worker of the integration tests runs a control plane of its own.
UNIT_WORKERS ?= auto
INTEGRATION_WORKERS ?= 2
READY := $(VENV)/.ready

##@ General
.PHONY: help
help: ## Show this list
	@awk 'BEGIN {FS = ":.*##"} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*##/ {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: env
env: $(READY) ## Make the virtual environment in .venv with the locked dependencies

$(READY): hack/requirements/dev.txt
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit(f"Python 3.11 or newer is needed, this is {sys.version.split()[0]}; set PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r hack/requirements/dev.txt
	touch $@

.PHONY: binaries
binaries: env ## Fetch or build etcd, kube-apiserver, kube-controller-manager and kwok (first time: some minutes)
	$(PY) -m cluster binaries

##@ Development
.PHONY: generate
generate: env ## Generate models, clients, CRDs, manifests, samples and reference pages from api/
	$(PY) -m codegen generate
	$(PY) -m hack.manifests

.PHONY: format
format: env ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix-only --quiet .

.PHONY: lint
lint: env ## Check format and lint rules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

.PHONY: types
types: env ## Check types (mypy --strict)
	$(BIN)/mypy

.PHONY: imports
imports: env ## Check who imports whom
	$(BIN)/lint-imports

.PHONY: stale
stale: env ## Fail when generated files differ from their sources
	$(PY) -m codegen generate --check
	$(PY) -m hack.manifests --check

.PHONY: check
check: lint types imports stale unit ## Format, lint, types, import rules, stale files, unit tests

##@ Tests
.PHONY: unit
unit: env ## Unit tests: pure logic, no server
	$(BIN)/pytest tests/unit -n $(UNIT_WORKERS) $(ARGS)

.PHONY: integration
integration: env binaries ## Tests on the real control plane
	$(BIN)/pytest tests/integration -n $(INTEGRATION_WORKERS) --dist loadgroup $(ARGS)

.PHONY: test
test: unit integration ## All tests

##@ Local control plane
.PHONY: run
run: binaries ## Show two gang jobs at work on a local control plane (ARGS=--exit: end when they are done)
	$(PY) -m hack.run $(ARGS)

.PHONY: up
up: binaries ## Start a local control plane with simulated nodes
	$(PY) -m cluster up $(ARGS)

.PHONY: down
down: env ## Stop it
	$(PY) -m cluster down $(ARGS)

##@ Upkeep
.PHONY: vendor-schemas
vendor-schemas: env ## Refresh api/k8s from a Kubernetes release (K8S=v1.36.1)
	$(PY) -m codegen vendor --k8s $(K8S)

.PHONY: lock
lock: env ## Resolve the dependencies again and lock them with hashes
	$(BIN)/pip install --quiet uv
	$(BIN)/uv pip compile --universal --generate-hashes --no-header --python-version 3.11 --upgrade pyproject.toml -o hack/requirements/runtime.txt
	$(BIN)/uv pip compile --universal --generate-hashes --no-header --python-version 3.11 --upgrade pyproject.toml --extra dev -o hack/requirements/dev.txt
