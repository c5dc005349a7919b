# `make repro` and `make test` are all that a newcomer needs; `make help` lists the rest.
SHELL := /bin/bash
PYTHON ?= python3.11
VENV := .venv
# Stages at a time: more than four need more than 8 GB.
JOBS ?= $(shell cores=$$(nproc 2>/dev/null || sysctl -n hw.ncpu); echo $$((cores < 4 ? cores : 4)))
# Workers of the tests: each imports all large libraries, so that more than the cores take longer.
WORKERS ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu)
# The git remote that experiments travel through.
ORIGIN ?= origin
STAMP := $(VENV)/.installed
# Of fuzz-readers: how many damaged files each reader gets, and which.
EXAMPLES ?= 350
SEED ?= 0
# Of reproduce: smoke, small or full; MODELS is the folder of the published models, if any.
SCALE ?= smoke
# Of cases: where situations that people report lie.
CASES ?= ../shared/cases
# Stages are run as `python`, so that a command, and with it the cache's key, names no machine.
export PATH := $(abspath $(VENV))/bin:$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# DVC runs independent stages in the order of their hashes, and dvc.lock lists them as they ran.
export PYTHONHASHSEED := 0

.DEFAULT_GOAL := help
.PHONY: help install repro reproduce remote push pull pull-experiments test test-all tests cases fuzz-readers mutants dependencies lint format \
  params dag docs reference tutorial lock try-dvc clean findings

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

install: $(STAMP) ## make .venv with exactly the versions of requirements.lock
	@# An environment keeps the Python that made it, so that another one which is asked for is an error.
	@test "$(origin PYTHON)" != "command line" || test "$$($(PYTHON) --version)" = "$$($(VENV)/bin/python --version)" || { \
	  echo "error: $(VENV) has $$($(VENV)/bin/python --version): remove it before you ask for $(PYTHON)"; exit 1; }

$(STAMP): requirements.lock pyproject.toml
	test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --requirement requirements.lock
	$(VENV)/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@# PyTorch for GPUs brings Triton, whose LLVM and TensorFlow's crash in one process; nothing here needs it.
	$(VENV)/bin/python -m pip uninstall --quiet --yes triton 2>/dev/null
	@touch $@

repro: $(STAMP) ## run every stage whose inputs changed, JOBS (one a core) at a time
	@asterism repro --jobs $(JOBS)
	@echo "The report is report/index.html"

reproduce: $(STAMP) ## run the papers' experiments at SCALE (smoke) and compare; MODELS=folder of published models
	@asterism reproduce --scale "$(SCALE)" --jobs $(JOBS) $(if $(MODELS),--models "$(MODELS)")
	@asterism compare

remote: $(STAMP) ## make URL (a folder, s3://…, ssh://…, webdavs://…) the remote that all share
	@test -n "$(URL)" || { echo "error: say which: make remote URL=s3://bucket/folder"; exit 1; }
	@asterism remote "$(URL)"

push: $(STAMP) ## send results, the record of what was computed, and experiments with theirs
	@asterism push --experiments "$(ORIGIN)"

pull: $(STAMP) ## get what others have computed from the remote
	@asterism pull

pull-experiments: $(STAMP) ## get others' experiments, points of sweeps among them, with results
	@asterism pull --experiments "$(ORIGIN)"

test: $(STAMP) ## lint, types and the fast tests
	@$(MAKE) --no-print-directory --jobs 2 lint tests

cases: $(STAMP) ## run every case of CASES (../shared/cases) and print the truth beside the answer; CASE=11: one
	@python benchmarks/vetted_truth cases --cases "$(CASES)" --work build/cases $(if $(CASE),--case "$(CASE)")

test-all: $(STAMP) ## the slow tests too
	@$(MAKE) --no-print-directory --jobs 2 lint tests CHOSEN="-m ''"

tests: $(STAMP)
	python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(CHOSEN)

fuzz-readers: $(STAMP) ## read EXAMPLES (350) damaged files with each reader; SEED, READER=name
	READER_EXAMPLES=$(EXAMPLES) READER_FAILURES=logs/readers python -m pytest tests/readers/test_readers.py -m '' \
	  -k "damaged $(if $(READER),and ($(READER)))" --hypothesis-seed=$(SEED) --hypothesis-show-statistics

findings: $(STAMP) ## run every script of findings/ again and say which bugs live; SAMPLE=5: only so many
	@python findings check $(if $(SAMPLE),--sample $(SAMPLE))

mutants: $(STAMP) ## put small faults into the source and name those that no test notices; OPTIONS="--package images"
	cd tests && python -m mutation $(OPTIONS)

dependencies: $(STAMP) ## write into dvc.yaml what code stages depend on; lines that each declares and reaches
	python tests/pipeline/dependencies.py --write

lint: $(STAMP) ## check style and types
	ruff check .
	ruff format --check .
	@# Beside the tests, types are checked while these wait.
	nice -n 19 mypy

format: $(STAMP) ## put the source into its canonical form
	ruff check --fix .
	ruff format .

params: $(STAMP) ## compose conf/ into params.yaml
	asterism params

dag: $(STAMP) ## draw the pipeline's graph into README.md
	python docs/update_dag.py

docs: $(STAMP) ## build the manual from docs/ into build/manual; a broken link is an error
	sphinx-build --builder html --doctree-dir build/doctrees --fail-on-warning --keep-going --quiet docs build/manual
	@echo "The manual is build/manual/index.html"

tutorial: $(STAMP) ## follow the tutorial PAGE=check-an-upgrade, print its output and take its pictures
	PYTHONPATH=tests python tests/manual/tutorials.py "$(PAGE)"

reference: $(STAMP) ## write the manual's pages of parameters, plug-ins, stages and commands
	python docs/write_reference.py

lock: ## resolve pyproject.toml anew into requirements.lock
	@# The oldest Python needs all that later ones need, and a little more: a test compares.
	rm -rf $(VENV)-lock && $(PYTHON) -m venv $(VENV)-lock
	$(VENV)-lock/bin/pip install --quiet pip-tools
	$(VENV)-lock/bin/pip-compile --quiet --extra all --extra dask --extra dev --strip-extras --allow-unsafe \
	  --no-emit-index-url --no-emit-find-links --no-emit-options --output-file requirements.lock pyproject.toml
	@# An extra that is made of others names this checkout as well, which is no package of an index.
	sed -i -E -e 's/^(torch==[0-9.]+)\+cpu/\1/' -e '/^asterism @ /,+1d' requirements.lock
	rm -rf $(VENV)-lock

# The throw-away environment has that DVC, and all else from the project's own but pathspec: DVC 3.60 fails with its version 1.
try-dvc: $(STAMP) ## run the tests of what is relied upon in DVC with its VERSION (3.68), changing nothing
	@test -n "$(VERSION)" || { echo "error: say which: make $@ VERSION=3.68"; exit 1; }
	rm -rf $(VENV)-dvc && $(VENV)/bin/python -m venv $(VENV)-dvc
	packages=$$(echo $(abspath $(VENV))-dvc/lib/python*/site-packages); $(VENV)/bin/python -c \
	  'import sysconfig; print(sysconfig.get_path("purelib"))' > $$packages/outer.pth
	$(VENV)-dvc/bin/python -m pip install --quiet "dvc==$(VERSION).*" "pathspec<1"
	PATH="$(abspath $(VENV)-dvc)/bin:$$PATH" $(VENV)-dvc/bin/python -m pytest -m '' \
	  tests/pipeline/test_dvc_contract.py tests/pipeline/test_repository.py tests/pipeline/test_point_and_cache.py

clean: ## remove results of runs; the cache keeps them
	rm -rf artifacts metrics plots report logs
