# Two commands do everything: `make run` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS := $(shell $(PYTHON) -c 'import os; print(1 + (os.cpu_count() or 1))') # most tests wait
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: run test chaos check format bench clean

run: $(VENV)/.run city.toml ## run city.example.toml in the foreground
	@$(BIN)/gc start

city.toml:
	@cp city.example.toml city.toml

test: $(VENV)/.test ## the whole test suite; GC_TEST_KUBECONFIG names a cluster for the tests of pods
	@./.ci/needs
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(if $(REQUIRE),--require $(REQUIRE))

chaos: $(VENV)/.test ## a real city under 1,000 random faults; CHAOS_SEED and CHAOS_FAULTS repeat a run
	@./.ci/needs
	@$(BIN)/python -m tests.chaos

check: $(VENV)/.lint ## format, lint, types, layers
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: $(VENV)/.lint
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench: $(VENV)/.run ## what it costs, as ratios against the bare floor
	@$(BIN)/python bench/cli.py
	@$(BIN)/python bench/hooks.py
	@$(BIN)/python bench/screens.py
	@$(BIN)/python bench/journal.py
	@$(BIN)/python bench/runs.py
	@$(BIN)/python bench/guest.py
	@$(BIN)/python bench/solve.py
	@$(BIN)/python bench/subprocess_provider.py
	@$(BIN)/python bench/observe.py
	@$(BIN)/python bench/death.py
	@$(BIN)/python bench/heal.py
	@$(BIN)/python bench/tick.py
	@$(BIN)/python bench/stop.py
	@$(BIN)/python bench/delivery.py --quick
	@$(BIN)/python bench/dialogs.py

clean:
	rm -rf $(VENV)

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "error: Python 3.11 or newer is needed; set PYTHON=..."; exit 3; }
	@echo "making $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.run: $(VENV)/bin/python pyproject.toml
	@echo "installing gc into $(VENV) ..."
	@$(PIP) install -e .
	@touch $@

$(VENV)/.test: $(VENV)/.run
	@echo "installing what the tests need ..."
	@$(PIP) install -e '.[test]'
	@touch $@

$(VENV)/.lint: $(VENV)/.test
	@echo "installing the linters ..."
	@$(PIP) install -e '.[lint]'
	@touch $@
