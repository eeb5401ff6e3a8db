# make help lists the targets. Debian packages and Python parts are installed where they are missing.

# Debian's own where it is there: every user can run it, which the sandbox of a normal user needs.
PYTHON  ?= $(firstword $(wildcard /usr/bin/python3) python3)
VENV    := .venv
BIN     := $(VENV)/bin
SUDO    := $(if $(filter 0,$(shell id -u)),,sudo)
APT     := $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get

# What a run needs: MPI and its compiler, Slurm's daemons and clients, asynchronous I/O.
PACKAGES := gcc make libc6-dev openmpi-bin libopenmpi-dev liburing-dev slurmctld slurmd slurm-client \
            munge python3 python3-venv util-linux mount hostname procps openssh-client
# What the tests need beside it: accounting, a file system of their own, and what applies patches.
TEST_PACKAGES := $(PACKAGES) git patch slurmdbd mariadb-server-core mariadb-client-core e2fsprogs

# MPI refuses root unless it is told twice.
export OMPI_ALLOW_RUN_AS_ROOT         := 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM := 1

# Half of a test on Slurm is waiting. WORKERS=0: all tests in one process.
WORKERS ?= $(shell echo $$((2 * $$(nproc) < 8 ? 2 * $$(nproc) : 8)))
PYTEST  := $(BIN)/python -m pytest --numprocesses=$(WORKERS) --dist=loadgroup --no-loadscope-reorder

.PHONY: help run unit test lint bench docs build setup test-setup clean
.DEFAULT_GOAL := help

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: setup ## the whole Crossroads matrix at rehearsal size, on a Slurm started here if none answers
	$(BIN)/campaign run --sandbox docs/examples/crossroads-rehearsal.yaml

unit: test-setup ## the tests that need nothing but Python and a C compiler; a minute
	$(MAKE) --no-print-directory --jobs=$(shell nproc) -C bench-src check
	$(PYTEST) -m unit $(PYTEST_ARGS)

test: test-setup ## all tests, the ones on a real multi-node Slurm included
	$(MAKE) --no-print-directory --jobs=$(shell nproc) -C bench-src check
	$(PYTEST) $(PYTEST_ARGS)

lint: test-setup ## ruff, mypy --strict, shellcheck, and the C with -Wall -Wextra -Werror
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/shellcheck --shell=bash templates/*.bash .ci/run tests/fake_slurm/bin/mdtest tests/fake_slurm/bin/srun
	$(MAKE) --no-print-directory -C bench-src

bench: test-setup ## performance against the limits; MDTEST=, IOR=, OSU_MBW_MR= add the upstream binaries' columns
	$(BIN)/python -m tests.bench

docs: setup ## the generated parts of docs/
	$(BIN)/python -m tests.reference --write

build: setup ## the benchmark binary

# --- what has to be there

missing = $(shell for package in $(1); do \
	dpkg-query --show --showformat='$${db:Status-Abbrev}' $$package 2>/dev/null | grep -q '^ii' || echo $$package; done)

define install
	@missing="$(strip $(call missing,$(1)))"; if [ -n "$$missing" ]; then \
		command -v apt-get >/dev/null || { echo "not a Debian: install by hand: $$missing" >&2; exit 1; }; \
		echo "installing $$missing"; \
		$(APT) -qq update && $(APT) -qq install --yes --no-install-recommends $$missing >/dev/null; \
	fi
endef

setup: $(VENV)/installed
	$(call install,$(PACKAGES))
	@$(MAKE) --no-print-directory --silent --jobs=$(shell nproc) -C bench-src

test-setup: setup
	$(call install,$(TEST_PACKAGES))

# pip would take another index's newer version: the lock file says which.
$(VENV)/installed: requirements.lock pyproject.toml
	$(call install,python3 python3-venv)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip --quiet --disable-pip-version-check install --requirement requirements.lock
	@$(BIN)/python -m pip --quiet --disable-pip-version-check install --no-deps --no-build-isolation --editable .
	@touch $@

clean: ## remove what was built; results/ stays
	rm -rf $(VENV) bench-src/build bench-src/build-san
