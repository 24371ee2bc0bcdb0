# Every target works on a fresh machine: `make help` lists them.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python

# Workers of the tests and operators that they start would compile every module again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help venv fmt check lint type unit wire gitops test test-rest test-all verify generate golden cluster-up cluster-down cluster-status cluster-env bench bench-guard bench-engine bench-memory bench-gpu bench-scale matrix numbers faults soak lab-test audit \
        images image-nvidia image-ascend sbom resolve models push-model demo chart release-dry-run release-files docs plugin clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 18

venv: $(VENV)/.synced ## Make .venv from uv.lock

# Debian splits ensurepip off into python3-venv; root may install it, anybody else is told.
$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), f"Python >= 3.11 is needed, this is {sys.version}"'
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || (echo "installing python3-venv (Debian)" && apt-get install -y -qq python3-venv) \
	  || (echo "The venv module is missing: install your system's python3-venv package." && exit 1)
	$(PYTHON) -m venv $(VENV)

$(VENV)/bin/uv: | $(VENV)/bin/python
	$(RUN) -m pip install --quiet --require-hashes -r hack/images/requirements/uv.txt

$(VENV)/.synced: uv.lock pyproject.toml | $(VENV)/bin/uv
	VIRTUAL_ENV=$(VENV) $(VENV)/bin/uv sync --quiet --frozen --inexact --active --extra test --extra demo --extra docs --compile-bytecode
	@touch $@

fmt: venv ## Format the code
	$(VENV)/bin/ruff format
	$(VENV)/bin/ruff check --fix

check: lint type unit wire verify ## What must pass before each commit

lint: venv ## Formatting and lint, of the workflows and of the prose too
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/ruff check
	$(RUN) -m hack.workflows
	$(RUN) -m hack.prose

type: venv ## mypy --strict
	$(VENV)/bin/mypy

unit: venv ## Pure tests, seconds
	$(RUN) -m pytest -q -n 2 --dist=worksteal -m "not index" tests/unit

wire: venv ## Tests against a real etcd and kube-apiserver, and against the real KServe
	$(RUN) -m pytest -q -n 4 --dist=loadgroup --ignore=tests/wire/faults tests/wire tests/kserve

faults: venv ## What breaks, and what happens then: docs/reliability.md is about these tests (a quarter of an hour)
	$(RUN) -m pytest -q -n 4 tests/wire/faults

lab-test: venv ## Tests of the simulation, the benchmarks and the tables of a new engine (minutes)
	$(RUN) -m pytest -q -n 2 lab/tests

soak: venv ## Half an hour of churn with 200 services, and what is left of it afterwards
	$(RUN) -m lab.soak --services 200 --minutes 30

numbers: venv ## All measured pages anew, one after another, from this commit on a quiet machine (five hours)
	$(MAKE) demo
	cp demo.json demo.png docs/demo/
	$(MAKE) bench-memory bench-engine cluster-down bench-guard bench-scale
	$(RUN) -m lab.soak --services 200 --minutes 30 --out docs/soak
	$(RUN) -m lab.scale.sharded --services 3000 --out docs/scale/sharded.json
	$(RUN) -m lab.scale.sharded --services 10000 --out docs/scale/sharded.json
	$(MAKE) generate

audit: venv ## Known weaknesses of the locked packages, and their bill of materials
	@$(RUN) -m hack.audit || [ $$? -eq 3 ]

gitops: venv ## Argo CD's and Flux's own code over every state; Flux, Git, operator and a real API server in a round trip
	$(RUN) -m hack.gitops build
	$(RUN) -m pytest -q -n 2 tests/gitops

SCHEMA := operator/specdec_operator/api/schema.json

generate: venv ## Write crds/, manifests/, the reference pages and the images' requirements
	$(RUN) -m specdec_operator.schema.crd > crds/serving.specdec.io_speculativeinferenceservices.yaml
	$(RUN) -m specdec_operator.schema.crd schema > $(SCHEMA)
	$(RUN) -m hack.reference
	$(RUN) -m hack.images lock
	$(RUN) -m hack.helm manifests
	$(RUN) -m hack.gitops
	$(RUN) -m hack.packaging.man

golden: venv ## Rewrite tests/golden; `git diff` is the review
	SPECDEC_GOLDEN=write $(RUN) -m pytest -q tests/unit/render/test_inference_service.py tests/unit/cli/test_status_page.py tests/chart/test_render.py tests/gitops/test_page.py tests/gitops/test_argocd_lua.py

verify: venv ## Fail when a generated file is stale
	@$(RUN) -m specdec_operator.schema.crd | diff -u crds/serving.specdec.io_speculativeinferenceservices.yaml - \
	  || (echo "crds/ is stale: run 'make generate' and commit the result." && exit 1)
	@$(RUN) -m specdec_operator.schema.crd schema | diff -u $(SCHEMA) - \
	  || (echo "$(SCHEMA) is stale: run 'make generate' and commit the result." && exit 1)
	@$(RUN) -m hack.reference verify
	@$(RUN) -m hack.images verify
	@$(RUN) -m hack.helm verify
	@$(RUN) -m hack.gitops verify
	@$(RUN) -m hack.packaging.man verify

test: venv ## The main job in minutes: pure tests, a real API server, and a story of each kind on a real node
	$(RUN) -m hack.test quick

test-rest: venv ## What `make test` leaves out, a part at a time; MINUTES=N: as much as fits, begun with another part each time
	$(RUN) -m hack.test rest $(if $(MINUTES),--minutes $(MINUTES))

test-all: venv ## Every test that this machine can run, side by side; says what it could not and why (an hour and a half)
	$(RUN) -m hack.test all

bench: venv ## How long `specdec validate` takes on this machine, and how often the guard is wrong (minutes)
	@$(RUN) -m lab.bench
	@$(RUN) -m lab.guard --print

bench-guard: venv ## How often the guard is wrong and how soon it is right, printed and written to docs/guard (minutes)
	@$(RUN) -m lab.guard

matrix: venv ## Every mix of artifacts on the real KServe of four versions, written to docs/staging (ten minutes)
	$(RUN) -m lab.staging.matrix --out docs/staging/matrix.json
	@$(RUN) -m hack.reference

bench-scale: venv ## 100 to 3,000 services on a real API server, and other operators beside, written to docs/scale (over an hour)
	$(RUN) -m lab.scale --out docs/scale
	@$(RUN) -m hack.reference

bench-engine: venv ## Methods, faults and speed on the real engine, written to docs/engine.md (an hour)
	$(RUN) -m lab.engine methods
	$(RUN) -m lab.engine faults
	$(RUN) -m lab.engine bench
	$(RUN) -m lab.engine image
	@$(RUN) -m hack.reference

bench-memory: venv ## The KV cache against its plan, and out-of-memory crashes, on the node, written to docs/memory.md (a quarter of an hour)
	$(RUN) -m hack.cluster up
	$(RUN) -m hack.images all
	SPECDEC_MEASURED=docs/memory $(RUN) -m pytest -q tests/node/test_planned_cache.py tests/node/test_memory.py
	@$(RUN) -m hack.reference

bench-dial: venv ## How soon running pods follow the dial, on the node, written to docs/dial.md (five minutes)
	$(RUN) -m hack.cluster up
	$(RUN) -m hack.images all
	SPECDEC_MEASURED=docs/dial $(RUN) -m pytest -q -s tests/node/test_dial_times.py
	@$(RUN) -m hack.reference

bench-gpu: venv ## The same, methods and faults besides, on this machine's GPU, written to docs/engine.md (an hour)
	SPECDEC_ACCELERATOR=nvidia $(RUN) -m lab.engine methods
	SPECDEC_ACCELERATOR=nvidia $(RUN) -m lab.engine bench
	SPECDEC_ACCELERATOR=nvidia $(RUN) -m lab.engine faults
	SPECDEC_ACCELERATOR=nvidia $(RUN) -m lab.engine dial
	@$(RUN) -m hack.reference

cluster-up: venv ## A real local cluster: kind where Docker or podman is, else one real node
	$(RUN) -m hack.cluster up

cluster-down: venv ## Remove the local cluster without a trace
	$(RUN) -m hack.cluster down

cluster-status: venv ## What runs, and which KServe it has
	$(RUN) -m hack.cluster status

cluster-env: venv ## Lines for: eval "$$(make -s cluster-env)"
	@$(RUN) -m hack.cluster env

images: venv ## Build the images and load them onto the local cluster
	$(RUN) -m hack.images all

image-nvidia: venv ## Build the image for GPUs and ask it what can be asked without one (30 GB of free disk; KEEP=yes: keep it)
	$(RUN) -m lab.trial nvidia
	@$(RUN) -m hack.reference

image-ascend: venv ## The same for NPUs, on a Debian where CANN's base image cannot be had
	$(RUN) -m lab.trial ascend
	@$(RUN) -m hack.reference

sbom: venv ## What the operator's and the runtime image are made of, in CycloneDX, checked and written to dist/sbom
	$(RUN) -m hack.images sbom

resolve: venv ## Ask the package index whether each engine's requirements hold together (a minute)
	$(RUN) -m hack.images resolve

models: venv ## Train the tiny model pair (about two minutes, cached)
	$(RUN) -m hack.models

push-model: venv ## A Modelcar of MODEL=folder, pushed as IMAGE=registry/name:tag (PUSH=no: built only; NODE=yes: to the node)
	@$(RUN) -m hack.push_model "$(MODEL)" "$(IMAGE)" $(if $(filter no,$(PUSH)),--no-push) $(if $(filter yes,$(NODE)),--node)

demo: venv ## The whole story on a real cluster, with measured numbers
	$(RUN) -m hack.cluster up
	$(RUN) -m hack.images all
	$(RUN) -m pytest -q -s tests/node/demo.py

chart: venv ## The chart with the real Helm: what it renders, and its life cycle on the local cluster (minutes)
	$(RUN) -m pytest -q tests/chart

release-dry-run: venv ## A release on this machine, installed from its registry on the local cluster (Go >= 1.26; NODE=no: not installed)
	@$(RUN) -m hack.dry_run $(if $(filter no,$(NODE)),--no-node)

docs: venv ## The documentation's site, into dist/site; one warning fails it
	NO_MKDOCS_2_WARNING=1 $(RUN) -m mkdocs build --quiet --strict

release-files: venv ## Every file of a release's page, into dist/files; BASE=URL of the folder that they will lie in
	@$(RUN) -m hack.packaging files "$(BASE)"

plugin: venv ## The kubectl plugin for krew, into dist/krew; BASE=URL of the folder that its archives will lie in
	@$(RUN) -m hack.packaging plugin "$(BASE)" $(PLATFORMS)

clean: ## Remove .venv and caches inside the tree
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
