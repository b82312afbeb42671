# `make ablation` and `make test` set up what they need; see `make help`.

PYTHON ?= python3
VENV ?= .venv
PIP_ARGS ?=
PYTEST_ARGS ?=

BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help ablation numerics timing figures notebooks test benchmark lint format clean distclean

help:
	@echo 'make ablation   compile all flag settings, count, check the claims, draw, run the notebooks'
	@echo 'make numerics   run every kernel in the emulator, sanitize, mutate, draw, run the notebooks'
	@echo 'make timing     model device times, hold them against published ones, draw, run the notebooks'
	@echo 'make figures    redraw figures/ from data/'
	@echo 'make notebooks  run notebooks/ in place'
	@echo 'make test       run the tests'
	@echo 'make benchmark  what an ablation costs here: seconds, memory, milliseconds per kernel; then'
	@echo '                benchmarks/: reading, comparing and emulating one kernel'
	@echo 'make lint       ruff and mypy;  make format  lets ruff rewrite'
	@echo 'make clean      remove what tools leave behind;  make distclean  also $(VENV)'
	@echo
	@echo 'Each sets up $(VENV) first, from $(PYTHON) (3.10 or later). Variables:'
	@echo '  PYTHON=python3.12   PYTEST_ARGS="-k cache"'
	@echo '  PIP_ARGS="--extra-index-url URL"   more options for pip, for instance an index with a'
	@echo '                                     CPU or ROCm build of torch'

# The stamp comes last, so an interrupted set-up is taken up again.
$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo 'error: $(PYTHON) is missing or older than Python 3.10; name another: make PYTHON=python3.12' >&2; \
	  exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' || { \
	  echo 'error: $(PYTHON) cannot make virtual environments; install its venv package' \
	    '(Debian and Ubuntu: apt-get install python3-venv)' >&2; \
	  exit 2; }
	@echo 'Setting up $(VENV). FlyDSL needs torch, and the default build of torch is large;' \
	  'PIP_ARGS can name an index with a CPU build.'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install $(PIP_ARGS) --upgrade pip
	$(BIN)/python -m pip install $(PIP_ARGS) --editable '.[all]'
	@touch $@

ablation: $(INSTALLED)
	$(BIN)/mxfp4kernels ablate
	$(BIN)/python -m mxfp4kernels.ablation.excerpts
	$(BIN)/python -m mxfp4kernels.ablation.nops
	$(BIN)/python -m mxfp4kernels.ablation.tile_loop
	$(BIN)/python -m mxfp4kernels.quoted
	$(BIN)/python -m mxfp4kernels.plots
	$(BIN)/python -m mxfp4kernels.notebooks

numerics: $(INSTALLED)
	$(BIN)/mxfp4kernels study
	$(BIN)/python -m mxfp4kernels.plots
	$(BIN)/python -m mxfp4kernels.notebooks

timing: $(INSTALLED)
	$(BIN)/python -m mxfp4kernels.modelled.study
	$(BIN)/python -m mxfp4kernels.modelled.timeline
	$(BIN)/python -m mxfp4kernels.quoted
	$(BIN)/python -m mxfp4kernels.plots
	$(BIN)/python -m mxfp4kernels.notebooks

figures: $(INSTALLED)
	$(BIN)/python -m mxfp4kernels.plots

notebooks: $(INSTALLED)
	$(BIN)/python -m mxfp4kernels.notebooks

test: $(INSTALLED)
	$(BIN)/python -m pytest $(PYTEST_ARGS)

# benchmarks/validate_graph_timing.py is not among these: it needs a GPU.
benchmark: $(INSTALLED)
	$(BIN)/python -m mxfp4kernels.benchmark
	$(BIN)/python benchmarks/isa.py
	$(BIN)/python benchmarks/emulator.py

lint: $(INSTALLED)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(INSTALLED)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Committed data, figures and notebooks are not listed here, and never are.
clean:
	rm -rf build dist mxfp4kernels.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find mxfp4kernels tests -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean
	rm -rf $(VENV)
