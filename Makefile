# Everything runs in its own virtual environment, installed from constraints.txt.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.installed
export DO_NOT_TRACK = 1

.PHONY: demo test test-all bench ui typecheck lint wheel-test clean

$(READY): pyproject.toml constraints.txt
	@echo "Installing into $(VENV): 1 to 3 minutes, about 1.3 GB on disk."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

# All tasks on the three replayed models, into the registry, then the leaderboard.
REPLAYED := $(patsubst %,tasks/%.py,grounding decomposition code_set judge_calibration)
METHODS  := bm25 hybrid bm25_descendants best
EVAL     := $(BIN)/inspect eval
QUIET    := --display none --log-dir logs > /dev/null
demo: $(READY)
	@for model in faithful overreaching gaming; do \
	  echo "replay/$$model: grounding, decomposition, code_set, judge_calibration"; \
	  $(EVAL) $(REPLAYED) --model replay/$$model $(QUIET) || exit 1; \
	  echo "replay/$$model, judged by replay/faithful: summary"; \
	  $(EVAL) tasks/summary.py --model replay/$$model --model-role grader=replay/faithful $(QUIET) || exit 1; \
	done
	@for method in $(METHODS); do \
	  echo "$$method: retrieval"; \
	  $(EVAL) tasks/retrieval.py --model none -T method=$$method $(QUIET) || exit 1; \
	done
	@$(BIN)/clinical-evals leaderboard

test: lint typecheck
	$(BIN)/python -m pytest -n 2 -m "not slow"

test-all: lint typecheck
	$(BIN)/python -m pytest -n 2

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check

# A type checker and import-linter do not see an editable install's mapped folders, so they get a copy.
typecheck: $(READY)
	@rm -rf build
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --disable-pip-version-check --target build/typecheck .
	MYPYPATH=build/typecheck $(BIN)/mypy -p clinical_evals
	PYTHONPATH=build/typecheck $(BIN)/lint-imports

# The wheel in an environment of its own, run from another folder.
wheel-test: $(READY)
	bash tests/wheel.sh $(PYTHON)

bench: $(READY)
	$(BIN)/python benchmarks/spans.py
	$(BIN)/python benchmarks/context.py
	$(BIN)/python benchmarks/score_cohort.py
	$(BIN)/python benchmarks/retrieval.py
	$(BIN)/python benchmarks/facts.py
	$(BIN)/python benchmarks/gate.py
	$(BIN)/python benchmarks/leaderboard.py
	$(BIN)/python benchmarks/registry_overhead.py

ui: $(READY)
	$(BIN)/clinical-evals ui

clean:
	rm -rf $(VENV) build dist mlruns logs
