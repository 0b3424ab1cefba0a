# festina: everything from a fresh checkout, with only python3 (3.11 to 3.14), pip and make.
#
#   make demo        install, take a tour of the four bodies of work, print where the report is
#   make test        install with the test extras; lint, types, tests
#   make test-all    the same, and then the tests that take long
#
# Nothing has to be activated: every recipe calls the environment in .venv by its path. Stamps inside .venv
# remember what is installed, so the second time is quick; a broken, half-made or moved environment is rebuilt.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# What each target runs; override on the command line, as in: make demo DEMO="run linear/chain"
DEMO ?= tour --out runs
WORKERS ?= 2
TESTS ?= tests
BENCH ?= benchmarks

SHELL := /bin/sh
.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help demo test test-all coverage browser others types lint style format bench docs figures clean distclean rebuild

# The caller's shell must not leak into the results.
unexport PYTHONPATH PYTHONHOME PYTHONSTARTUP VIRTUAL_ENV CONDA_PREFIX PIP_USER PIP_TARGET PIP_PREFIX
unexport PYTHONDONTWRITEBYTECODE PIP_REQUIRE_VIRTUALENV PIP_CONSTRAINT PYTEST_ADDOPTS PYTEST_PLUGINS JAX_ENABLE_X64 RUFF_CONFIG
export PYTHONNOUSERSITE := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
export MPLBACKEND := Agg

PIP_INSTALL := $(BIN)/python -m pip install -qq --constraint constraints.txt
SUPPORTED := 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 15))'
INPUTS := pyproject.toml constraints.txt src/festina/_version.py

# An environment is sound if it was made here, its interpreter starts, and no installation was cut short.
SOUND := $(shell test "$$(cat $(VENV)/.stamp-venv 2>/dev/null)" = "$(CURDIR)" && test ! -e $(VENV)/.installing \
	&& $(BIN)/python -I -S -c '' 2>/dev/null && echo yes)
ifneq ($(SOUND),yes)
$(VENV)/.stamp-venv: rebuild
endif

help:
	@echo 'make demo      install and take the tour; prints where the report is'
	@echo 'make test      install the test extras; lint, types and tests, in a few minutes'
	@echo 'make test-all  the same, and then the tests that take long'
	@echo 'make coverage  the tests of make test, with lines and branches counted'
	@echo 'make lint      only ruff, codespell and pyright'
	@echo 'make format    let ruff rewrite the source'
	@echo 'make bench     run the benchmarks'
	@echo 'make docs      build the documentation into docs/_build/html, offline'
	@echo 'make figures   run every experiment at its quick budget, for the pages of the documentation'
	@echo 'make clean     remove caches and built files (distclean: the environment too)'
	@echo 'Another interpreter: make demo PYTHON=python3.12'

demo: $(VENV)/.stamp-core
	$(BIN)/festina $(DEMO)

# Tests that share what takes long to make go to one worker (tests/sharing.py says which), in the order of files. Most of their time is compiling: wherever
# festina does not ask for LLVM's optimisations there are none, each program is one piece for LLVM, since both cores are
# busy (a fifth less of compiling), and what the first tier has compiled serves the second. Nor has NumPy a second
# thread, which would spin beside small matrices for as long as they take.
COMPILING := JAX_PLATFORMS=cpu OPENBLAS_NUM_THREADS=1 XLA_FLAGS='--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false \
	--xla_llvm_disable_expensive_passes=true --xla_cpu_parallel_codegen_split_count=1'
PYTEST := $(COMPILING) $(BIN)/python -m pytest -n $(WORKERS) --no-loadscope-reorder

# Tests of a tier, and beside them the types of some folders, which take a core for a minute or two.
TIER = $(BIN)/python -m pyright $(1) & types=$$!; $(PYTEST) -m '$(2)' $(TESTS); tests=$$?; \
	wait $$types || { echo 'Types are not right: see above, among the tests.' >&2; exit 1; }; exit $$tests

test: style browser
	$(call TIER,src benchmarks,not full)
	@echo 'Left out: tests that take long, and those with PyTorch and Flax; they are in make test-all.'

test-all: test others
	$(call TIER,tests,full)

types: $(VENV)/.stamp-dev
	$(BIN)/python -m pyright

# Tests run as many times slower as they have lines to count; fewer of them, as in: make coverage TESTS=tests/theory
coverage: browser
	$(BIN)/python -m coverage erase
	$(COMPILING) $(BIN)/python -m coverage run -m pytest -n 0 -m 'not full' $(TESTS)
	$(BIN)/python -m coverage combine -q
	$(BIN)/python -m coverage report

# Libraries whose networks festina takes in are tried where they are installed. PyTorch is large: it is installed for the
# tests only where continuous integration says that it is at work, or on demand, as in: make others OTHERS=torch
OTHERS ?= $(if $(CI),torch==2.13.0 flax)
others: $(VENV)/.stamp-dev
	@test -z '$(OTHERS)' || $(PIP_INSTALL) $(OTHERS) || echo 'Not to be had here, and not tried: $(OTHERS)'

# The page is tested in a real browser: one that is there, or that the system's package manager has if it may be used
# without a password, or that playwright can fetch; without any, its tests are skipped.
browser: $(VENV)/.stamp-dev
	@sh tests/page/install_browser.sh $(BIN)/python

lint: style
	$(BIN)/python -m pyright src benchmarks

style: $(VENV)/.stamp-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell --toml pyproject.toml .

format: $(VENV)/.stamp-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.stamp-dev
	$(BIN)/python $(BENCH)

# Figures of experiments are drawn from a store of quick runs, which the tests fill (or `make figures`, which takes some
# minutes); what it lacks is named on its page. Lessons and the gallery run, each again only if its text has changed.
docs: $(VENV)/.stamp-docs
	$(COMPILING) PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m sphinx -b html -W --keep-going -q -d docs/_build/doctrees docs docs/_build/html
	@echo 'docs/_build/html/index.html'

figures: $(VENV)/.stamp-core
	$(COMPILING) $(BIN)/festina reproduce --budget quick --out .cache/results

clean:
	rm -rf docs/_build docs/gallery docs/reference/generated docs/sg_execution_times.rst build dist .coverage .coverage.* .pytest_cache .ruff_cache .hypothesis
	find src tests benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean
	rm -rf $(VENV)

# One stamp per set of extras. `.installing` stays behind when pip is killed, and the next make starts afresh.
$(VENV)/.stamp-core: $(VENV)/.stamp-venv $(INPUTS)
	@echo 'Installing festina into $(VENV) (once; a minute or two)'
	@touch $(VENV)/.installing
	@$(PIP_INSTALL) -e .
	@rm -f $(VENV)/.installing
	@touch $@

$(VENV)/.stamp-dev: EXTRAS := dev
$(VENV)/.stamp-docs: EXTRAS := docs
$(VENV)/.stamp-page: EXTRAS := page
$(VENV)/.stamp-cluster: EXTRAS := cluster
$(VENV)/.stamp-dev $(VENV)/.stamp-docs $(VENV)/.stamp-page $(VENV)/.stamp-cluster: $(VENV)/.stamp-core
	@echo 'Installing the extras [$(EXTRAS)] (once)'
	@touch $(VENV)/.installing
	@$(PIP_INSTALL) -e '.[$(EXTRAS)]'
	@rm -f $(VENV)/.installing
	@touch $@

# A virtual environment that already works here is kept; anything else is made anew. Systems that split `ensurepip`
# off from Python get pip from the system's pip instead.
$(VENV)/.stamp-venv:
	@$(PYTHON) -c $(SUPPORTED) 2>/dev/null || { \
	  echo "festina needs Python 3.11 to 3.14, but '$(PYTHON)' is $$($(PYTHON) -V 2>&1 | tail -n 1): name another with make PYTHON=python3.12" >&2; \
	  exit 1; }
	@if test ! -e $(VENV)/.installing && test ! -e $@ && $(BIN)/python -c $(SUPPORTED) 2>/dev/null \
	  && $(BIN)/python -m pip --version 2>/dev/null | grep -qF "$(CURDIR)/$(VENV)/"; then :; else \
	  echo 'Creating $(VENV) with '"$$($(PYTHON) -V)"; \
	  rm -rf $(VENV); \
	  $(PYTHON) -m venv $(VENV) >/dev/null 2>&1 || { \
	    rm -rf $(VENV); \
	    $(PYTHON) -m venv --without-pip $(VENV) && $(PYTHON) -m pip --python $(BIN)/python install -qq pip; } || { \
	    rm -rf $(VENV); echo "festina could not create $(VENV): does '$(PYTHON) -m venv' work here?" >&2; exit 1; }; \
	fi
	@echo "$(CURDIR)" > $@
