# make demo and make test do everything on a fresh machine with Python 3.10+ and Java 17+.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
COMPILING := tests/spark/test_event_batch.py tests/engine/test_backtrack.py tests/engine/test_sweep.py \
	tests/engine/test_measures.py tests/engine/test_ordered.py
CONNECT := tests/connect/test_public_calls.py
RUN := PYSPARK_PYTHON=$(abspath $(BIN)/python) $(BIN)/

.PHONY: demo test check pytest test-connect test-matrix test-recipes bench golden docs clean

demo: $(INSTALLED)
	$(RUN)sparkcep demo --output out/late_departures.html --output out/late_departures.png

test: check pytest

check: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The large kernels compile in one process each; later all processes find them in the cache.
pytest: $(INSTALLED)
	$(RUN)python -m pytest -n 2 --dist loadfile --no-loadscope-reorder $(COMPILING)
	$(RUN)python -m pytest -n 2 --dist loadfile --no-loadscope-reorder $(COMPILING:%=--ignore=%)
	$(RUN)python -m pytest $(CONNECT)

# Bodies of tests/spark on Spark Connect: sessions of both kinds cannot share a process.
test-connect: $(INSTALLED)
	$(RUN)python -m pytest -n 2 --dist loadfile --no-loadscope-reorder tests/connect

# Recipes that start Spark by spark-submit and spark-pipelines: some minutes.
test-recipes: $(INSTALLED)
	$(RUN)python -m pytest tests/recipes

# PySpark 4.0, 4.1 and 4.3 with the lowest and newest of the rest; MATRIX=4.0-lowest chooses one.
test-matrix: export MATRIX := $(MATRIX)
test-matrix: export TESTS := $(TESTS)
test-matrix:
	@sh scripts/check_machine.sh $(PYTHON)
	$(PYTHON) scripts/test_matrix.py

bench: $(INSTALLED)
	$(RUN)python -m benchmarks

golden: $(INSTALLED)
	SPARKCEP_WRITE_GOLDEN=1 $(RUN)python -m pytest tests/spark/test_sql_jobs.py tests/spark/test_errors.py
	git diff --stat -- sql/golden tests/golden

docs: $(INSTALLED)
	$(BIN)/python -m pip install --quiet -e '.[docs]'
	$(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) .matrix out site .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(INSTALLED): pyproject.toml scripts/check_machine.sh
	@sh scripts/check_machine.sh $(PYTHON)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e '.[dev]'
	touch $@
