# Tidelog: one verb a task. `make` alone lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
# The first Python that is new enough; `make PYTHON=… setup` chooses another.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do command -v $$p >/dev/null && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
PACKAGES := protocol config runtime storage cluster broker cli pytest_tidelog bench
DATA ?= data
PEER ?=
ROUNDS ?= 3

.PHONY: help setup setup-dev run test test-long check format lint types layers tidy docs coverage bench bench-kafka interop fuzz wheel lock clean

help: ## list the verbs
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort | awk -F'\t' '{printf "  make %-12s %s\n", $$1, $$2}'

setup: $(VENV)/.runtime ## virtual environment, locked dependencies, compiled kernel, .venv/bin/tidelog

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "Tidelog needs Python 3.11 or newer; install it, or run: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 2; }
	@$(PYTHON) -m venv $(VENV) || { echo "$(PYTHON) cannot make virtual environments; on Debian: apt-get install python3-venv" >&2; exit 2; }

$(VENV)/.runtime: requirements/runtime.txt requirements/build.txt setup.py deploy/checkout_command.py protocol/records/kernel.py protocol/records/compaction.py | $(VENV)/bin/python
	@echo "setting up $(VENV) …"
	@$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/runtime.txt
	@$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/build.txt
	@$(PY) deploy/checkout_command.py
	@$(PY) setup.py --quiet build_ext --inplace >$(VENV)/kernel.log 2>&1 \
		&& echo "kernel: compiled" \
		|| echo "kernel: not compiled, the pure Python one serves (slower; details in $(VENV)/kernel.log)"
	@touch $@

setup-dev: $(VENV)/.dev

$(VENV)/.dev: $(VENV)/.runtime requirements/dev.txt
	@$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@touch $@

run: setup ## a broker on 127.0.0.1:9092, metrics on 127.0.0.1:9404, data under ./data
	@echo "data: $(CURDIR)/$(DATA) · stop with Ctrl-C" >&2
	@exec $(BIN)/tidelog start --listen 127.0.0.1:9092 --metrics 127.0.0.1:9404 --data-dir $(DATA)

test: setup-dev ## every suite that needs no Java: unit, property, crash, interop (≤ 6 minutes)
	@$(PY) -m tests.run

test-long: setup-dev ## the same with full exploration (tens of minutes)
	@$(PY) -m tests.run --long

check: lint types layers tidy ## static part: format, lint, types, layers, tidy (≤ 2 minutes)

format: setup-dev ## rewrite in the house format
	@$(BIN)/ruff format . && $(BIN)/ruff check --fix .

lint: setup-dev
	@$(BIN)/ruff format --check . && $(BIN)/ruff check .

types: setup-dev
	@$(BIN)/mypy $(PACKAGES) tests

layers: setup-dev
	@$(BIN)/lint-imports

tidy: setup-dev
	@$(PY) -m pytest -q tests/test_tidy.py tests/test_docs.py

docs: setup-dev ## render docs/ pages that come from declarations
	@$(PY) -m tests.render_docs

coverage: setup-dev ## branch coverage with its gate
	@$(PY) -m coverage erase && COVERAGE_PROCESS_START=$(CURDIR)/pyproject.toml $(PY) -m coverage run -m pytest -q tests/unit tests/property tests/crash
	@$(PY) -m coverage combine -q && $(PY) -m coverage report --fail-under=95

bench: setup-dev ## the figures of docs/performance.md; PEER="name=host:port:pid" adds a peer
	@$(PY) -m bench run $(if $(PEER),--peer $(PEER)) --rounds $(ROUNDS)

bench-kafka: setup-dev ## the same beside Apache Kafka from Maven Central (needs Java 17 and Maven)
	@$(PY) -m bench kafka --rounds $(ROUNDS)

interop: setup-dev ## beside real Kafkas: same answers, same files, directories carried there and back (needs Java 17 and Maven)
	@$(PY) -m pytest -q tests/kafka_tools

fuzz: setup-dev ## coverage-guided fuzzing of the decoders (installs atheris; SECONDS=60)
	@$(PY) -m pip install --quiet --disable-pip-version-check atheris && $(PY) -m tests.fuzz_decoders --seconds $${SECONDS:-60}

wheel: setup-dev ## build the wheel and try it in a clean environment
	@$(PY) -m build --outdir dist . >build-wheel.log 2>&1 || { tail -30 build-wheel.log; exit 1; }
	@rm -rf build-wheel.log *.egg-info && $(PY) -m tests.wheel_smoke dist

lock: ## lock the dependencies anew (versions and hashes, no index addresses)
	@$(PYTHON) deploy/lock.py

clean: ## remove everything that setup and tests made; data/ stays
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} + ; rm -f protocol/records/*.so protocol/records/kernel.c protocol/records/compaction.c
