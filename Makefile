# make build | demo | test | test-all | lint | format | clean. Whatever is missing is installed by tools/setup.
.DEFAULT_GOAL := build
MAKEFLAGS += --no-print-directory
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c

folders := base analysis autodiff gpu-runner features codeactions server tests
c_files = $(shell find $(folders) -name node_modules -prune -o -name '*.[ch]' -print 2>/dev/null)
python := .venv/bin/python

# $(call cmake_build,PRESET,FOLDER,TARGETS): configure once; ninja reconfigures by itself later on.
cmake_build = @if [ ! -f $(2)/build.ninja ]; then cmake --preset $(1) >/dev/null; fi; \
	ninja -C $(2) $(3)

.PHONY: build
build:
	@tools/setup build
	$(call cmake_build,release,build)

.PHONY: demo
demo: build
	@tools/setup demo
	@tools/demo

# Everything a change must pass. Files added under tests/ are found without a change here.
.PHONY: test
test: setup-test build lint test-c test-python test-editors test-fuzz test-threads

# Everything of `make test`, and what takes too long for it: every generated launcher, also under the current PyTorch.
.PHONY: test-all
test-all: test coverage-c
	@TAD_ALL_ROWS=1 TAD_BIN=$(CURDIR)/build TAD_BIN_DEV=$(CURDIR)/build-dev $(python) -m pytest -q -n auto -m sampled
	@TAD_ALL_MODULES=1 TAD_BIN=$(CURDIR)/build $(python) -m pytest -q -n auto tests/emitted/test_importable.py
	@TAD_ALL_MUTANTS=1 TAD_BIN=$(CURDIR)/build $(python) -m pytest -q -n auto tests/cli/test_edited.py
	@TAD_ALL_EDGES=1 TAD_BIN_DEV=$(CURDIR)/build-dev $(python) -m pytest -q -n auto tests/test_hostile.py -k in_the_editor
	@tools/setup oracle
	@TAD_BIN=$(CURDIR)/build tests/oracle/run --count 40
	@TAD_BIN=$(CURDIR)/build tests/oracle/run --python .torch-current/bin/python

.PHONY: setup-test
setup-test:
	@tools/setup test

.PHONY: test-c
test-c: setup-test
	$(call cmake_build,dev,build-dev)
	@ctest --test-dir build-dev --output-on-failure --no-tests=error -j 2

# Lines that the C tests alone run, by room; at least 80 % of each of these folders.
.PHONY: coverage-c
coverage-c: setup-test
	$(call cmake_build,coverage,build-coverage)
	@find build-coverage -name '*.gcda' -delete
	@ctest --test-dir build-coverage --output-on-failure --no-tests=error -j 2 -L 'tad-(autodiff|codeactions|features)'
	@$(python) tools/coverage build-coverage 80 autodiff codeactions

.PHONY: test-python
test-python: setup-test build
	@TAD_BIN=$(CURDIR)/build TAD_BIN_DEV=$(CURDIR)/build-dev $(python) -m pytest -n 2 --dist loadscope

# Real editors with the real server: tests/editors.
.PHONY: test-editors
test-editors: setup-editors build
	@luacheck -q --config clients/neovim/.luacheckrc clients/neovim tests/editors/neovim
	@TAD_BIN=$(CURDIR)/build $(python) -m pytest tests/editors/neovim
	$(vsix_pack)
	@cd clients/vscode && $(with_node) && npm run --silent typecheck && npm run --silent lint && \
		npm test --silent
	@$(with_node) && node tests/editors/vscode/run.mjs $(vsix)

# The VS Code extension with the server and its worker inside, for this platform.
vsix := build/tad-lsp.vsix
with_node := export PATH="$(CURDIR)/.editors/node:$$PATH"
vsix_pack = @cd clients/vscode && $(with_node) && npm run --silent package -- ../../build ../../$(vsix) >/dev/null
.PHONY: vsix
vsix: build
	@tools/setup vsix
	$(vsix_pack)
	@echo $(vsix)

.PHONY: setup-editors
setup-editors:
	@tools/setup editors

.PHONY: lint
lint: setup-test
	$(call cmake_build,clang,build-clang)
	@.venv/bin/clang-format --dry-run -Werror --ferror-limit=1 $(c_files) || \
		{ echo 'make format puts this right' >&2; exit 1; }
	@.venv/bin/ruff check --quiet
	@tools/tidy build-clang

.PHONY: format
format: setup-test
	@.venv/bin/clang-format -i $(or $(FILES),$(c_files))
	@.venv/bin/ruff check --quiet --fix-only

.PHONY: fuzz
fuzz: setup-test
	$(call cmake_build,fuzz,build-fuzz,fuzz)

# A bounded run of each fuzzer; what it finds is kept in build-fuzz.
FUZZ_SECONDS ?= 20
.PHONY: test-fuzz
test-fuzz: fuzz
	@tests/fuzz/run build-fuzz $(FUZZ_SECONDS)

# The unit tests that use threads, under the thread sanitizer.
.PHONY: test-threads
test-threads: setup-test
	$(call cmake_build,threads,build-threads,unit-edits unit-deep unit-parallel)
	TSAN_OPTIONS=suppressions=$(CURDIR)/tests/protocol/threads.supp build-threads/unit/unit-edits threads
	TSAN_OPTIONS=suppressions=$(CURDIR)/tests/protocol/threads.supp build-threads/unit/unit-parallel
	TSAN_OPTIONS=suppressions=$(CURDIR)/tests/protocol/threads.supp build-threads/unit/unit-deep recursion

ifneq ($(wildcard bench/run),)
.PHONY: bench
bench: build
	@bench/run build
endif

ifneq ($(wildcard tests/triton/coverage.py),)
.PHONY: coverage-doc
coverage-doc: setup-test build
	@TAD_BIN=$(CURDIR)/build $(python) tests/triton/coverage.py

# Who sums the gradients of these kernels, by class: docs/atomics.md. Some ten minutes.
.PHONY: atomics-doc
atomics-doc: setup-test build
	@TAD_BIN=$(CURDIR)/build $(python) tests/triton/schedules.py

# TAD_REPOSITORIES: a folder with checkouts of what tests/triton/repositories.txt lists.
.PHONY: coverage-repositories
coverage-repositories: setup-test build
	@TAD_BIN=$(CURDIR)/build $(python) tests/triton/repositories.py
endif

.PHONY: clean
clean:
	@rm -rf build build-dev build-threads build-clang build-coverage build-fuzz
