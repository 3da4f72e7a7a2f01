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
AUDIT := build/audit
PRODUCTION := build/production
PACKAGES := api cli cluster codegen controllers generated hack runtime scheduler webhooks
# Deployment: which overlay, which features beside it, which cluster.
ENV ?= dev
COMPONENTS ?=
IMAGE ?=
CONTEXT ?=
ACCEPT ?=
TAKE_OVER ?=
CONFIRM ?=
OUTPUT ?= dist/install-$(ENV).yaml
ENGINE ?= docker
BASE ?= python:3.13-slim
TAG ?= dev
KIND ?= volcano
DEPLOY := $(PY) -m hack.deploy
ON_CLUSTER := $(if $(CONTEXT),--context=$(CONTEXT))
RENDERED := --env=$(ENV) $(if $(COMPONENTS),--components=$(COMPONENTS)) $(if $(IMAGE),--image='$(IMAGE)')
ACCEPTED := $(if $(ACCEPT),--accept=$(ACCEPT))
# A flag for a variable that is yes or empty: anything else isn't taken for a no.
yes = $(if $($(1)),$(if $(filter-out yes,$($(1))),$(error $(1) is yes or empty, not $($(1))),$(2)))

##@ General
.PHONY: help
help: ## Show this list
	@awk 'BEGIN {FS = ":.*##"} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*##/ {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: env
env: $(READY) ## Make the virtual environment in .venv with the locked dependencies
	@# Compiled even where Python is told to write no bytecode: each process would do it anew, for half a second of CPU.
	@$(PY) -m compileall -q $(PACKAGES)

$(READY): hack/requirements/dev.txt
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit(f"Python 3.11 or newer is needed, this is {sys.version.split()[0]}; set PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	@echo "installing the locked dependencies into $(VENV): a minute or two"
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r hack/requirements/dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --editable .
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

.PHONY: docs
docs: binaries ## Run the commands that the pages show and write what they print (ARGS=--check: compare only)
	$(PY) -m hack.docs $(ARGS)

##@ Local control plane
.PHONY: run
run: binaries ## Show two gang jobs at work on a local control plane (ARGS=--exit: end when they are done)
	$(PY) -m hack.run $(ARGS)

.PHONY: up
up: binaries ## Start a local control plane with simulated nodes
	$(PY) -m cluster up $(if $(ARGS),$(ARGS),--nodes 10)

.PHONY: down
down: env ## Stop it
	$(PY) -m cluster down $(ARGS)

##@ Deployment
.PHONY: deploy
deploy: env ## Deploy to a cluster (ENV=dev|staging|production CONTEXT=... COMPONENTS=prometheus,... IMAGE=... TAKE_OVER=yes)
	$(DEPLOY) apply $(RENDERED) $(ON_CLUSTER) $(ACCEPTED) $(call yes,TAKE_OVER,--take-over) $(ARGS)

.PHONY: preflight
preflight: env ## Look for what stands in the way of a deployment; changes nothing
	$(DEPLOY) preflight $(RENDERED) $(ON_CLUSTER) $(ACCEPTED) $(call yes,TAKE_OVER,--take-over) $(ARGS)

.PHONY: manifest
manifest: env ## Write an overlay into one file (OUTPUT=dist/install-dev.yaml)
	$(DEPLOY) manifest $(RENDERED) --output=$(OUTPUT)

.PHONY: undeploy
undeploy: env ## Remove an installation; CRDs, queues and jobs stay
	$(DEPLOY) undeploy $(RENDERED) $(ON_CLUSTER)

.PHONY: undeploy-crds
undeploy-crds: env ## Remove the CRDs, and with them every job and queue (CONFIRM=yes)
	$(DEPLOY) undeploy-crds $(ON_CLUSTER) $(call yes,CONFIRM,--confirm)

.PHONY: images
images: ## Build the image stromboli:dev (TAG=... BASE=python:3.13-slim ENGINE=docker|podman)
	$(ENGINE) build --build-arg BASE=$(BASE) --build-arg GIT_SHA=$$(git rev-parse HEAD) \
		--build-arg BUILT_AT=$$(date -u +%Y-%m-%dT%H:%M:%SZ) --tag stromboli:$(TAG) .

.PHONY: kind-up
kind-up: images ## Make a kind cluster of three workers, if it isn't there, and load the image (KIND=volcano)
	kind get clusters | grep --quiet --line-regexp $(KIND) || kind create cluster --name $(KIND) --config hack/kind.yaml
	kind load docker-image stromboli:$(TAG) --name $(KIND)

.PHONY: e2e
e2e: env ## Tests on a cluster that runs containers (CONTEXT=kind-volcano), into which ENV is deployed first
	@test -n "$(CONTEXT)" || { echo "say which cluster: make e2e CONTEXT=kind-volcano"; exit 2; }
	$(MAKE) deploy
	E2E_CONTEXT=$(CONTEXT) $(BIN)/pytest tests/e2e $(ARGS)

##@ Upkeep
$(AUDIT)/.ready: hack/requirements/audit.txt | $(READY)
	$(BIN)/python -m venv $(AUDIT)
	$(AUDIT)/bin/pip install --quiet --disable-pip-version-check --require-hashes -r hack/requirements/audit.txt
	touch $@

.PHONY: audit
audit: $(AUDIT)/.ready ## Look the locked dependencies up among known vulnerabilities (asks the package index)
	$(AUDIT)/bin/pip-audit --strict --require-hashes --disable-pip -r hack/requirements/runtime.txt

# From an installation and not from the lock: only packages tell who needs whom, without which the bill is incomplete.
$(PRODUCTION)/.ready: hack/requirements/runtime.txt | $(READY)
	$(BIN)/python -m venv --clear --without-pip $(PRODUCTION)
	$(BIN)/pip --python $(PRODUCTION)/bin/python install --quiet --disable-pip-version-check --require-hashes -r hack/requirements/runtime.txt
	touch $@

.PHONY: bom
bom: $(AUDIT)/.ready $(PRODUCTION)/.ready ## Write the bill of materials of a production installation into dist/bom.cdx.json
	mkdir -p dist
	PYTHONWARNINGS=error::UserWarning $(AUDIT)/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible -o dist/bom.cdx.json $(PRODUCTION)/bin/python

.PHONY: vendor-schemas
vendor-schemas: env ## Refresh api/k8s from a Kubernetes release (K8S=v1.36.1)
	$(PY) -m codegen vendor --k8s $(K8S)

.PHONY: lock
lock: env ## Resolve the dependencies again and lock them with hashes
	$(BIN)/pip install --quiet uv
	$(BIN)/uv pip compile --universal --generate-hashes --no-header --python-version 3.11 --upgrade pyproject.toml -o hack/requirements/runtime.txt
	$(BIN)/uv pip compile --universal --generate-hashes --no-header --python-version 3.11 --upgrade pyproject.toml --extra dev -o hack/requirements/dev.txt
	$(BIN)/uv pip compile --universal --generate-hashes --no-header --python-version 3.11 --upgrade hack/requirements/audit.in -o hack/requirements/audit.txt
