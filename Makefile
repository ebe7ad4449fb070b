# `make demo` and `make test` each set up everything they need. PYTHON chooses the interpreter (3.11 or newer).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: help demo test soak mutants lint bench clean peers proto

help:
	@echo "make demo    see it work: list, call, refuse, time out, record"
	@echo "make test    everything that must hold: ruff, mypy, the tests"
	@echo "make soak    the tests once more, with those that try something often trying it for long"
	@echo "make mutants change the guarding code in small ways, and see whether a test notices (ARGS=… chooses)"
	@echo "make bench   speed beside floors and peers, as ratios"
	@echo "make lint    ruff and mypy alone"
	@echo "make proto   the Python stubs of the gRPC service, made anew"
	@echo "make peers   other people's MCP and gRPC clients, which some tests talk to (make test does it when it can)"

demo: $(VENV)/ready
	@$(BIN)/python examples/demo.py

test: $(VENV)/ready-dev lint
	@$(MAKE) --no-print-directory peers || echo "make test: no MCP clients could be installed here; their tests are skipped"
	$(BIN)/python -m pytest -n auto --dist worksteal

soak: $(VENV)/ready-dev
	TOOLCRIB_SOAK=1 $(BIN)/python -m pytest -n auto --dist worksteal

# Whether the tests would notice a mistake; see tests/mutation. Linux only: the mutants run in a namespace of their own.
MUTANTS := .venv-mutants
mutants: $(MUTANTS)/ready
	@$(MUTANTS)/bin/python tests/mutation/mutants.py $(ARGS)

$(MUTANTS)/ready: pyproject.toml
	@echo "installing mutmut and what the tests need into $(MUTANTS) …"
	@test -x $(MUTANTS)/bin/python || $(PYTHON) -m venv $(MUTANTS)
	@$(MUTANTS)/bin/python -m pip --disable-pip-version-check --quiet install --upgrade 'pip>=25.1'
	@$(MUTANTS)/bin/python -m pip --disable-pip-version-check --quiet install --editable . --group dev 'mutmut>=3.8,<3.9'
	@touch $@

lint: $(VENV)/ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/ready
	@$(BIN)/python -m bench

# Installed editable, and compiled at once, so that the first command typed is as quick as the second.
$(VENV)/ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Toolcrib needs Python 3.11 or newer; try: make PYTHON=python3.12 demo")'
	@test -x $(BIN)/python || { echo "making $(VENV) …"; $(PYTHON) -m venv $(VENV); }
	@echo "installing toolcrib into $(VENV) …"
	@$(PIP) install --editable .
	@$(BIN)/python -m compileall -q src
	@touch $@

$(VENV)/ready-dev: $(VENV)/ready
	@echo "installing what the tests need into $(VENV) …"
	@$(PIP) install --upgrade 'pip>=25.1'
	@$(PIP) install --group dev
	@touch $@

proto: $(VENV)/ready-dev
	@$(BIN)/python proto/generate.py src/toolcrib/serve/v1

# Clients that other people wrote, each in a place of its own; see tests/serve/peers.
PEERS := .venv-peers
peers: $(PEERS)/ready $(PEERS)/grpc/ready

$(PEERS)/ready: tests/serve/peers/mcp1.txt tests/serve/peers/mcp2.txt tests/serve/peers/package.json
	@echo "installing MCP clients into $(PEERS) …"
	@for peer in mcp1 mcp2; do \
	  test -x $(PEERS)/$$peer/bin/python || $(PYTHON) -m venv $(PEERS)/$$peer || exit 1; \
	  $(PEERS)/$$peer/bin/python -m pip --disable-pip-version-check --quiet install -r tests/serve/peers/$$peer.txt || exit 1; \
	done
	@mkdir -p $(PEERS)/inspector && cp tests/serve/peers/package.json $(PEERS)/inspector/
	@cd $(PEERS)/inspector && PATH="$$PWD/../mcp2/bin:$$PATH" npm install --silent --no-fund --no-audit --ignore-scripts >/dev/null
	@touch $@

$(PEERS)/grpc/ready: tests/serve/node/package.json | $(PEERS)/ready
	@echo "installing a gRPC client into $(PEERS)/grpc …"
	@mkdir -p $(PEERS)/grpc && cp tests/serve/node/package.json $(PEERS)/grpc/
	@cd $(PEERS)/grpc && PATH="$$PWD/../mcp2/bin:$$PATH" npm install --silent --no-fund --no-audit --ignore-scripts >/dev/null
	@touch $@

clean:
	rm -rf $(VENV) .venv-* bench/.venv-peers .mypy_cache .ruff_cache .pytest_cache
