# make help lists the targets. What is missing is installed on Debian, and named elsewhere; see .ci/needs.

VENV    := .venv
SITE    := $(VENV)/site
BIN     := $(VENV)/bin
MPICC   ?= mpicc
# Debian's own where it is there: every user can run it, which the sandbox of a normal user needs.
PYTHON  ?= $(or $(shell for python in /usr/bin/python3 python3 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done),/usr/bin/python3)

# What is looked for, each with Debian's package. Without liburing, asynchronous I/O is that of POSIX; without a parallel HDF5,
# ior has no -a HDF5.
BUILD_NEEDS   := cc:gcc $(firstword $(MPICC)):libopenmpi-dev mpi.h:libopenmpi-dev stdio.h:libc6-dev ?liburing.h:liburing-dev \
                 ?h5pcc:libhdf5-openmpi-dev
SANDBOX_NEEDS := slurmctld:slurmctld slurmd:slurmd munged:munge unshare:util-linux setpriv:util-linux mount:mount \
                 hostname:hostname
STORAGE_NEEDS := glusterfsd:glusterfs-server glusterfs:glusterfs-client nsenter:util-linux
RUN_NEEDS     := mpirun:openmpi-bin srun:slurm-client
CLUSTER_NEEDS := hpcc:hpcc pw.x:quantum-espresso /usr/share/espresso/pseudo/Si.pz-vbc.UPF:quantum-espresso-data lmp:lammps fio:fio
TEST_NEEDS    := $(SANDBOX_NEEDS) $(CLUSTER_NEEDS) git:git patch:patch ssh-keygen:openssh-client slurmdbd:slurmdbd \
                 mariadbd:mariadb-server-core mariadb:mariadb-client-core zsh:zsh fish:fish chromium:chromium \
                 pdftotext:poppler-utils openssl:openssl valgrind/callgrind.h:valgrind \
                 $(STORAGE_NEEDS) ch-run:charliecloud-runtime musl-gcc:musl-tools slurm/spank.h:libslurm-dev ?mkfs.ext4:e2fsprogs /usr/share/lmod/lmod/libexec/lmod:lmod tclsh:tcl

# MPI refuses root unless it is told twice.
export OMPI_ALLOW_RUN_AS_ROOT         := 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM := 1

# Processes for all tests: more than half of a test on Slurm is waiting. 0: one, whose tests can be looked at with --pdb.
WORKERS ?= $(shell echo $$((3 * $$(nproc) < 8 ? 3 * $$(nproc) : 8)))

.PHONY: help run unit test lint bench soak fresh docs site build dist wheelhouse zipapp release wheel-test setup test-setup build-needs run-needs test-needs clean
.DEFAULT_GOAL := help
# Two targets that install packages at the same time would wait for one lock; what can run in parallel says so itself.
.NOTPARALLEL:

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Debian's Slurm 26.05 has no PMIx plugin: Open MPI's own launcher is used. Asked by a shell when the recipe runs, since Slurm
# may be installed just before, and make remembers the directories that it has read.
SLURM_PLUGINS ?= /usr/lib/*/slurm* /usr/lib64/slurm* /usr/lib/slurm* /usr/local/lib/slurm*
PMIX    = $(shell ls $(addsuffix /mpi_pmix*.so,$(SLURM_PLUGINS)) 2>/dev/null)
EXAMPLE = $(or $(RFP),docs/examples/crossroads-$(if $(STORAGE),gluster,$(if $(PMIX),rehearsal,mpirun)).yaml)

run: setup run-needs ## the whole Crossroads matrix at rehearsal size, on a Slurm started here if none answers; STORAGE=gluster: its nodes with a network file system; RFP=docs/examples/cluster/response.yaml: a whole RFP
	$(BIN)/campaign run --sandbox $(if $(STORAGE),--storage $(STORAGE)) $(EXAMPLE)

# The tests compiled with their assertions are kept: otherwise each process would do that again, which takes it seconds.
unit test soak: export PYTHONDONTWRITEBYTECODE =

unit: test-setup ## the tests that need nothing but Python and a C compiler; a minute
	$(MAKE) --no-print-directory --jobs=$(shell nproc) -C bench-src check
	$(BIN)/python -m pytest --numprocesses=auto --maxprocesses=8 -m unit $(PYTEST_ARGS)

test: test-setup $(SITE)/installed ## all tests, the ones on a real multi-node Slurm included
	$(MAKE) --no-print-directory --jobs=$(shell nproc) -C bench-src check
	$(BIN)/python -m pytest --numprocesses=$(WORKERS) $(PYTEST_ARGS)

lint: test-setup ## ruff, mypy --strict, shellcheck, and the C with -Wall -Wextra -Werror
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/shellcheck --shell=bash templates/*.bash .ci/run .ci/needs .ci/install.sh .ci/wheel-test tests/support/fake_slurm/bin/mdtest tests/support/fake_slurm/bin/srun tests/support/enter-root
	$(MAKE) --no-print-directory -C bench-src lint

bench: test-setup ## performance against the limits, in one table (TABLE=FILE); MDTEST=, IOR=, OSU_MBW_MR=, FIO=, IOPS= add other programs; FULL=1: simulations at full size
	$(BIN)/python -u -m tests.bench

soak: test-setup ## property tests with new examples, one campaign under some hundred kills and faults, and two on targets under attack; SEED=, SOAK_DRIVER=, HOSTILE_JOBS= …
	$(BIN)/python -m pytest --numprocesses=auto -m unit --hypothesis-profile=search
	$(BIN)/python -m tests.soak
	$(BIN)/python -m tests.hostile

fresh: setup ## the first `make run` in new roots of Debian 12 and 13, all results at once (RELEASES="trixie sid"); the C unit tests for aarch64; as root, minutes
	$(needs) mmdebstrap:mmdebstrap unshare:util-linux git:git aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu qemu-aarch64-static:qemu-user-static
	$(BIN)/python -m tests.fresh

docs: setup ## the generated parts of docs/ and of README.md
	$(BIN)/python -m tests.support.reference

# What builds it is no part of the program: an environment of its own.
site: setup $(SITE)/installed ## the documentation as pages with search, in dist/site; every link and anchor is checked
	@$(BIN)/python -m tests.support.reference dist/pages
	@NO_MKDOCS_2_WARNING=true $(SITE)/bin/mkdocs build --strict --config-file .ci/site/mkdocs.yml
	@echo "built dist/site: 'python3 -m http.server --directory dist/site' shows it, with its search"

build: setup ## the benchmark binary

dist: setup ## the wheel and the source distribution, in dist/
	@$(BIN)/python -m hatchling build

release: setup ## version, changelog and tag checked; wheel and source distribution (the same bytes twice), SBOM and checksums, in dist/
	@$(BIN)/python .ci/release.py dist

wheel-test: dist ## the wheel for PYTHON: installed without a network, then init, plan, build and the help of every verb
	@.ci/wheel-test $(BIN)/python $(PYTHON) $(WHEEL)

VERSION = $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' campaign/__init__.py)
WHEEL   = dist/campaign-$(VERSION)-py3-none-any.whl
PYTHONS ?= 3.11 3.12 3.13 3.14
MACHINE ?= $(shell uname -m)

wheelhouse: dist ## for machines without a network: a tar for each Python with everything and an install script; PYTHONS=3.12, MACHINE=aarch64
	@$(BIN)/python .ci/wheelhouse.py --machine $(MACHINE) --python $(PYTHONS) -- $(WHEEL) dist

zipapp: dist ## dist/campaign-verify.pyz: the buyer's `campaign verify` in one file, without numpy and scipy
	@$(BIN)/python .ci/zipapp.py --machine $(MACHINE) --python $(PYTHONS) -- $(WHEEL) dist

# --- what has to be there

needs = @PYTHON='$(PYTHON)' MPICC='$(MPICC)' .ci/needs

build-needs:
	$(needs) $(BUILD_NEEDS)

# Where a Slurm answers, none is started here.
run-needs:
	$(needs) $(RUN_NEEDS) $(if $(shell timeout 10 sinfo >/dev/null 2>&1 && echo there),,$(SANDBOX_NEEDS) $(if $(STORAGE),$(STORAGE_NEEDS))) $(if $(RFP),$(if $(findstring cluster,$(RFP)),$(CLUSTER_NEEDS),hpcc:hpcc))

test-needs:
	$(needs) $(RUN_NEEDS) $(TEST_NEEDS) $(CURDIR)/$(VENV)/modules/usr/share/modules:environment-modules@$(CURDIR)/$(VENV)/modules

# Compiled here, as pip compiles what it installs: where Python is told to write no bytecode, each start would do it again.
setup: $(VENV)/installed build-needs
	@$(BIN)/python -m compileall -q campaign
	@$(MAKE) --no-print-directory --silent --jobs=$(shell nproc) -C bench-src

test-setup: setup test-needs

# pip would take another index's newer version: the lock file says which.
$(VENV)/installed: requirements.lock pyproject.toml
	$(needs) python:python3-venv
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip --quiet --disable-pip-version-check install --requirement requirements.lock
	@$(BIN)/python -m pip --quiet --disable-pip-version-check install --no-deps --no-build-isolation --editable .
	@touch $@

$(SITE)/installed: .ci/site/requirements.lock
	$(needs) python:python3-venv
	@test -x $(SITE)/bin/python || $(PYTHON) -m venv $(SITE)
	@$(SITE)/bin/python -m pip --quiet --disable-pip-version-check install --requirement $<
	@touch $@

clean: ## remove what was built; results/ stays
	rm -rf $(VENV) dist bench-src/build bench-src/build-san
