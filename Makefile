# Every target works from a clean clone: the first one called makes .venv (scripts/bootstrap.sh).
# Needed on the machine: bash, make, and Python 3.11 or newer (PYTHON=... picks another one).

BIN := .venv/bin
SAMPLE ?= manifests/mobilenet-quickstart.yaml
RESULTS ?= results
PYTEST_ARGS ?= --numprocesses auto --dist loadgroup
GENERATED := manifests/crds charts/gpubench/files docs/reference
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-header --no-annotate

.DEFAULT_GOAL := help
.PHONY: help venv demo demo-llm check static format unit test generate verify docs bench bench-operator lock clean distclean \
	cluster-up cluster-down cluster-status images chart

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: ## Make or refresh .venv from the lock files
	@scripts/bootstrap.sh

demo: venv ## Run a small benchmark on this machine; prints its table and report
	$(BIN)/gpubench run $(SAMPLE) --output $(RESULTS)

demo-llm: ## The same for a tiny language model, which gpubench makes itself
	@$(MAKE) demo SAMPLE=manifests/tiny-llama-quickstart.yaml

check: static unit ## What every commit passes: format, lint, types, imports, unit tests

static: venv
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

unit: venv ## Only the unit tests
	$(BIN)/pytest $(PYTEST_ARGS) tests/unit

test: static ## Everything: check, integration and end-to-end tests
	@scripts/test_tools.sh
	$(BIN)/pytest $(PYTEST_ARGS)

format: venv ## Format the code and mend what the linter can mend
	$(BIN)/ruff check --fix --exit-zero --quiet .
	$(BIN)/ruff format .

docs: venv ## Write the API reference from the models
	$(BIN)/python scripts/generate_docs.py

generate: docs ## Write every generated file: CRDs, API reference, rules and dashboards
	$(BIN)/gpubench crd --output manifests/crds
	$(BIN)/gpubench crd --output charts/gpubench/files/crds
	$(BIN)/python scripts/generate_monitoring.py

verify: generate ## Generate, then fail if that changed anything
	@test -z "$$(git status --porcelain -- $(GENERATED))" || \
		{ git status --short -- $(GENERATED); echo "Generated files differ: commit them."; exit 1; }

bench: venv ## Measure gpubench itself
	$(BIN)/pytest tests/bench -s

bench-operator: venv ## Measure only the operator, on an API server of its own (BENCH_ARGS=--help)
	$(BIN)/python -m tests.bench.operator_scale $(BENCH_ARGS)

cluster-up: venv ## Start a real Kubernetes here, or what of it does not run (root, Debian)
	$(BIN)/python -m tests.e2e.cluster up $(CLUSTER_ARGS)

cluster-down: venv ## End it; its images stay (CLUSTER_ARGS=--purge removes them, too)
	$(BIN)/python -m tests.e2e.cluster down $(CLUSTER_ARGS)

cluster-status: venv ## Tell which of its parts run
	$(BIN)/python -m tests.e2e.cluster status

lock: venv ## Resolve the lock files again (UPGRADE=--upgrade takes newer versions)
	$(COMPILE) $(UPGRADE) --group pyproject.toml:bootstrap -o requirements/uv.txt
	$(COMPILE) $(UPGRADE) --group pyproject.toml:go -o requirements/go.txt
	$(COMPILE) $(UPGRADE) pyproject.toml --extra local --extra operator --group dev -o requirements/dev.txt
	$(COMPILE) pyproject.toml --constraints requirements/dev.txt -o requirements/control.txt
	$(COMPILE) pyproject.toml --constraints requirements/dev.txt --extra report -o requirements/report.txt
	$(COMPILE) pyproject.toml --constraints requirements/dev.txt --extra local -o requirements/local.txt
	$(COMPILE) pyproject.toml --constraints requirements/dev.txt --extra workload -o requirements/workload.txt
	$(COMPILE) pyproject.toml --constraints requirements/dev.txt --extra llm -o requirements/llm.txt
	$(COMPILE) pyproject.toml --constraints requirements/dev.txt --extra operator -o requirements/operator.txt

images: ## Build the images (ENGINE=docker, BASE_IMAGE=..., TAG=...); prints sizes and contents
	@images/build.sh

chart: venv ## Check the Helm chart by helm and kubeconform, then pack it into dist/
	$(BIN)/pytest -q tests/unit/chart
	helm package charts/gpubench --destination dist

clean: ## Remove caches and build products; .venv and results stay
	rm -rf build dist .import_linter_cache .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find operator workloads scripts tests -name __pycache__ -prune -exec rm -rf {} +

distclean: clean ## Remove .venv, too
	rm -rf .venv
