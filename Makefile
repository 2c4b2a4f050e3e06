# `make reports` and `make test` set up what they need in .venv and run; nothing else is needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
TARGET ?= reports/all

.PHONY: reports test lint environment clean

expect = import sys; (3, 11) <= sys.version_info[:2] < (3, 14) or sys.exit("$(1): Python %d.%d.%d, expected 3.11 to 3.13; $(2)" % sys.version_info[:3])

torch_folder = import pathlib, torch; torch.version.cuda and print(pathlib.Path(torch.__file__).parents[1])

reports: $(VENV)/replay.stamp
	@$(BIN)/snakemake $(TARGET) $(ARGS)

test: lint $(VENV)/bytecode.stamp
	@$(BIN)/python -m pytest --numprocesses=auto --dist=loadfile $(ARGS)

lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check .
	$(BIN)/mypy --strict
	$(BIN)/snakemake --lint
	$(BIN)/snakemake reports/all --dry-run --quiet
	$(BIN)/snakemake --list-target-rules | grep --line-regexp reports/gelu > /dev/null

# A Python that already has torch for CUDA shares it with the environment, by a path file that also
# works where that Python is one of an environment itself: a GPU node keeps its own torch and Triton.
# An environment that could not be made, or was interrupted, is not left behind.
environment:
	@test -e $(VENV) || { \
	    $(PYTHON) -c '$(call expect,$(PYTHON),name one with make PYTHON=python3.12)' || exit; \
	    echo "Setting up $(VENV)"; \
	    trap 'rm -rf $(VENV); exit 1' HUP INT TERM; \
	    $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }; \
	    $(PYTHON) -c '$(torch_folder)' 2>/dev/null > "$$(echo $(VENV)/lib/python3*/site-packages)/gpu-node.pth" || true; }
	@$(BIN)/python -c 'import pip' 2>/dev/null || { echo "$(VENV): its Python is gone or has no pip; remove $(VENV) to set it up anew" >&2; exit 1; }
	@$(BIN)/python -c '$(call expect,$(VENV),remove $(VENV) to set it up anew)'
ifeq ($(origin PYTHON),command line)
	@test "$$($(PYTHON) -V)" = "$$($(BIN)/python -V)" || { echo "$(VENV): $$($(BIN)/python -V), not that of PYTHON=$(PYTHON); remove $(VENV) to set it up anew" >&2; exit 1; }
endif

$(VENV)/replay.stamp: requirements/replay.txt requirements/constraints.txt | environment
	@echo "Installing $<"
	@$(PIP) install -r $< -c requirements/constraints.txt
	@touch $@

$(VENV)/test.stamp: requirements/test.txt requirements/build.txt $(VENV)/replay.stamp
	@echo "Installing $<"
	@$(PIP) install --no-compile -r $< -c requirements/constraints.txt
	@$(BIN)/python -c 'import torch, triton' 2>/dev/null || { echo "Installing requirements/build.txt"; $(PIP) install --no-compile -r requirements/build.txt; }
	@touch $@

# pip would compile with one core while nothing else runs; `make --jobs=2 test` does so beside the linters.
# Some of torch is written for later Pythons and does not compile; nothing imports it.
$(VENV)/bytecode.stamp: $(VENV)/test.stamp
	@$(BIN)/python -m compileall -qq $(VENV)/lib || true
	@touch $@

clean:
	rm -rf results .snakemake
