# Reclock: `make help` lists the targets.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
JARS := $(VENV)/share/reclock/jars/.fetched
DEMO_HOME ?= demo-home
TEST_PROCESSES ?= 3
COLLECTED = ($(BIN)/pytest --collect-only -p no:terminalreporter || $(BIN)/pytest -qq --collect-only)
TYPES = $(BIN)/mypy & $(BIN)/mypy --config-file tests/mypy.ini && wait $$!
UNIT_TESTS := $(addprefix tests/,structure consensus oracle sql reclocking connectors formats)

# with these, pytest lists failed tests with whole messages, which push the names out of a short log
unexport CI BUILD_NUMBER

# with this, each of the hundreds of processes that the tests start would compile all modules again
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo up test check bench site lock clean
.DEFAULT_GOAL := help

help: ## show this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 10

$(STAMP): requirements/all.txt setup.cfg pyproject.toml
	@echo "installing requirements/all.txt into $(VENV), which takes some minutes"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements/all.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --no-index -e .
	@touch $@

$(JARS): $(STAMP) src/reclock/clusters/jars.lock src/reclock/clusters/class_archive_writer.py
	$(BIN)/reclock jars
	@touch $@

setup: $(JARS) ## create the virtual environment from the lock and fetch the Spark jars

demo: setup ## run the main job on real flight data, through Airflow, in demo-home/
	$(BIN)/python examples/flights/demo.py --home $(DEMO_HOME)

up: setup ## open the demo environment: Airflow UI, SQL port and shell, on loopback
	$(BIN)/python examples/flights/up.py --home $(DEMO_HOME)

check: setup ## lint, types, import contracts, that every test is found, unit tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(TYPES)
	$(BIN)/lint-imports
	$(COLLECTED) & $(BIN)/pytest -q -x -n 2 --dist loadfile -m "not spark and not airflow and not servers" --malformed 500 $(UNIT_TESTS) && wait $$!

test: setup ## everything CI runs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(TYPES)
	$(BIN)/lint-imports
	$(BIN)/pytest -n $(TEST_PROCESSES) --dist loadfile --no-loadscope-reorder --durations=25

bench: setup ## run the benchmarks, each side by side with a peer
	$(BIN)/python -m benchmarks

SITE_VENV := build/site-venv
site: ## build the docs site in build/site, with a virtual environment of its own
	$(PYTHON) -m venv $(SITE_VENV)
	$(SITE_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements/docs.txt
	NO_MKDOCS_2_WARNING=1 $(SITE_VENV)/bin/mkdocs build --strict

CONNECTORS = $(addprefix --extra ,spark kafka protobuf aws iceberg hive pubnub)
UV_COMPILE = uv pip compile setup.cfg --python-version 3.11 --generate-hashes --no-header --no-annotate
lock: ## write the lock files again (needs uv)
	$(UV_COMPILE) --all-extras -o requirements/all.txt
	$(UV_COMPILE) $(CONNECTORS) --extra airflow --extra openlineage -c requirements/all.txt -o requirements/airflow.txt
	$(UV_COMPILE) -c requirements/all.txt -o requirements/core.txt
	echo mkdocs-material | uv pip compile - --python-version 3.11 --generate-hashes --no-header --no-annotate -o requirements/docs.txt

clean: ## remove the demo environment (not the virtual environment)
	rm -rf $(DEMO_HOME)
