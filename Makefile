# `make reports` and `make test` set up what they need in .venv and run; nothing else is needed.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
TARGET ?= reports/all

.PHONY: reports test lint clean

reports: $(VENV)/replay.stamp
	@$(BIN)/snakemake $(TARGET) $(ARGS)

test: $(VENV)/test.stamp lint
	@$(BIN)/python -m pytest --numprocesses=auto --dist=loadfile $(ARGS)

lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check .
	$(BIN)/mypy --strict
	$(BIN)/snakemake --lint
	$(BIN)/snakemake reports/all --dry-run --quiet
	$(BIN)/snakemake --list-target-rules | grep --line-regexp --quiet reports/gelu

# A Python that already has torch for CUDA shares it with the environment: a GPU node keeps its own.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; (3, 11) <= sys.version_info[:2] < (3, 14) or sys.exit(f"$(PYTHON): Python {sys.version.split()[0]}, expected 3.11 to 3.13; name one with make PYTHON=python3.12")'
	@echo "Setting up $(VENV)"
	@$(PYTHON) -m venv $$($(PYTHON) -c 'import torch; print("--system-site-packages" if torch.version.cuda else "")' 2>/dev/null) $(VENV)

$(VENV)/replay.stamp: requirements/replay.txt requirements/constraints.txt | $(BIN)/python
	@echo "Installing $<"
	@$(PIP) install -r $< -c requirements/constraints.txt
	@touch $@

$(VENV)/test.stamp: requirements/test.txt requirements/build.txt $(VENV)/replay.stamp
	@echo "Installing $<"
	@$(PIP) install -r $< -c requirements/constraints.txt
	@$(BIN)/python -c 'import torch, triton, nvtx' 2>/dev/null || { echo "Installing requirements/build.txt"; $(PIP) install -r requirements/build.txt; }
	@touch $@

clean:
	rm -rf results .snakemake
