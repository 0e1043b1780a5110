# Two commands are enough: `make run` and `make test`. Both make .venv first when it is missing.

VENV := .venv
BIN := $(VENV)/bin

# `make PYTHON=/path/to/python3` names the Python to use. Without it, the first of these that is new
# enough; each is asked only when .venv has to be made, since that takes seconds where it is a shim.
PYTHON ?=
CANDIDATES := python3 python3.13 python3.12 python3.11

# A .venv whose Python has gone (an upgrade), or that was made elsewhere (a moved folder, whose
# scripts still name the old place), is made again.
ifneq ($(wildcard $(VENV)/pyvenv.cfg),)
ifneq ($(shell $(BIN)/python -c 'print(1)' 2>/dev/null)$(shell cat $(VENV)/.place 2>/dev/null),1$(if $(wildcard $(VENV)/.place),$(CURDIR)))
$(info The Python of $(VENV) has gone, or the folder has moved; making it again)
$(shell rm -rf $(VENV))
endif
endif

PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input install --quiet --quiet

# Once the tools for development are in .venv, they hold all that `make run` needs as well.
READY := $(if $(wildcard $(VENV)/.ready-dev),$(VENV)/.ready-dev,$(VENV)/.ready-run)

# pyright asks the network whether it is the newest, unless told not to.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

.PHONY: help run test lint format bench lock clean

help:
	@echo "make run     start everything on this machine"
	@echo "make test    run the tests (or some of them: make test ARGS=tests/worker)"
	@echo "make lint    check style, types and the direction of imports"
	@echo "make bench   measure against a bare skeleton"
	@echo "make format  format the sources"
	@echo "make lock    choose the versions of all dependencies anew"
	@echo "make clean   remove .venv and caches"

run: $(READY)
	@$(BIN)/everturn up

test: $(VENV)/.ready-dev
	@$(BIN)/python -m pytest $(or $(ARGS),$(ALL_TESTS))

lint: $(VENV)/.ready-dev
	@echo "Style …"
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .
	@echo "Types …"
	@$(BIN)/pyright
	@echo "Direction of imports …"
	@$(BIN)/lint-imports

format: $(VENV)/.ready-dev
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format .

bench: $(VENV)/.ready-dev
	@$(BIN)/python -m bench $(ARGS)

$(VENV)/pyvenv.cfg:
	@echo "Making $(VENV) …"
	@is_new() { "$$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }; \
	fail() { echo "$$1" >&2; exit 1; }; \
	python='$(PYTHON)'; \
	if [ -n "$$python" ]; then \
		is_new "$$python" || fail "$$python is too old or no Python: Everturn needs 3.11 or newer"; \
	else \
		for each in $(CANDIDATES); do if is_new $$each; then python=$$each; break; fi; done; \
		[ -n "$$python" ] || \
			fail "Everturn needs Python 3.11 or newer: install it, or name it with make PYTHON=…"; \
	fi; \
	"$$python" -c 'import venv, ensurepip' 2>/dev/null || \
		fail "$$python has no venv module: install it (Debian, Ubuntu: apt install python3-venv)"; \
	"$$python" -m venv $(VENV) || { rm -rf $(VENV); exit 1; }
	@echo "$(CURDIR)" > $(VENV)/.place

$(VENV)/.ready-run: requirements.lock pyproject.toml | $(VENV)/pyvenv.cfg
	@echo "Installing what Everturn needs (one to two minutes, once) …"
	@$(PIP) --requirement requirements.lock
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.ready-dev: requirements-dev.lock pyproject.toml | $(VENV)/pyvenv.cfg
	@echo "Installing what Everturn and its tests need (one to two minutes, once) …"
	@$(PIP) --requirement requirements-dev.lock
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

# In two processes: together the tests take most of one core, and wait for the rest of the time.
ALL_TESTS := -n 2 --dist loadgroup

UV := uv pip compile pyproject.toml --quiet --universal --python-version 3.11 \
	--generate-hashes --no-header

# --no-emit-index-url: a lock must work with whatever index the reader's pip uses.
lock:
	@command -v uv >/dev/null || { echo "make lock needs uv: pip install uv" >&2; exit 1; }
	@$(UV) --no-emit-index-url --output-file requirements.lock
	@$(UV) --no-emit-index-url --extra dev --output-file requirements-dev.lock
	@echo "requirements.lock and requirements-dev.lock are new"

clean:
	@rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis .import_linter_cache *.egg-info build
