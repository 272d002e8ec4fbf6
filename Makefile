# Everything works without root and leaves your own FiftyOne (database, plugins, configuration) untouched.
PYTHON ?= python3
PORT ?= 5151
RUN = .venv/bin/python
# every test process would compile FiftyOne and the checkout again, which takes longer than most tests
unexport PYTHONDONTWRITEBYTECODE
PYTEST_SIDE_BY_SIDE = $(RUN) -m pytest -n logical --maxprocesses 4 --dist loadscope --no-loadscope-reorder
WITHOUT_DATABASE = tests/metrics tests/agreement tests/charts tests/test_layers.py tests/test_compare.py

.PHONY: help setup setup-demo demo app test test-long test-all test-oldest quick lint format notebook docs release bench stress compare screenshots way clean

help:
	@echo "make demo    build the demo dataset, compute its agreement, print the report on boxes (all: ALL=1), save views"
	@echo "make app     open the demo dataset in the FiftyOne App, with the panel (PORT=$(PORT))"
	@echo "make test    run the tests that guard a change (REQUIRE_BROWSER=1: fail without Chromium, do not skip)"
	@echo "make test-long    run the others: most tests in the App, kills, all random cases, simulations"
	@echo "make test-all     run both in one go, each test once: 10 minutes less than one after the other"
	@echo "make test-oldest  run a part of them with the oldest FiftyOne that is supported (2 minutes; in make test-long)"
	@echo "make quick   run the tests that need no database and no browser, less than a minute"
	@echo "make lint    check style, spelling and types;  make format  correct the style"
	@echo "make notebook  execute docs/tutorial.ipynb and keep its outputs (half a minute)"
	@echo "make docs    build the documentation with search into .dev/site"
	@echo "make release build sdist and wheel, check them, and install the wheel in a clean environment"
	@echo "make bench   measure speed and memory (10 minutes)"
	@echo "make stress  try to break it: processes at once, hostile files and names (half an hour)"
	@echo "make compare run kalos and kalphacv on the same data, write docs/method/compare.md (3 minutes)"
	@echo "make screenshots   take the pictures of README and docs again (needs Chromium, 1 minute)"
	@echo "make way     draw the way of a run, module by module, into docs/images/way_of_a_run.svg (10 seconds)"
	@echo "make clean   remove everything that these commands made"

setup:
	@PYTHON=$(PYTHON) sh tools/dev/setup.sh

setup-demo:
	@PYTHON=$(PYTHON) sh tools/dev/setup.sh demo

demo: setup-demo
	@$(RUN) -m tools.dev.show_demo demo $(if $(ALL),--all)

app: setup-demo
	@$(RUN) -m tools.dev.show_demo app --port $(PORT)

test: setup
ifdef ARGS
	@$(PYTEST_SIDE_BY_SIDE) $(ARGS)
else
	@$(RUN) -m tools.dev.run_tests short
endif

test-long: setup
	@$(RUN) -m tools.dev.run_tests long

test-all: setup
	@$(RUN) -m tools.dev.run_tests all

test-oldest: setup
	@sh tools/dev/test_oldest.sh $(ARGS)

quick: setup
	@FEW_CASES=1 $(PYTEST_SIDE_BY_SIDE) -m "not long and not browser" $(WITHOUT_DATABASE) $(ARGS)

lint: setup
	@$(RUN) -m ruff check . && $(RUN) -m ruff format --check . && $(RUN) -m codespell_lib && $(RUN) -m tools.dev.check_types

format: setup
	@$(RUN) -m tools.dev.reference_docs && $(RUN) -m ruff check --fix . && $(RUN) -m ruff format .

notebook: setup
	@$(RUN) -m tools.dev.notebook

docs: setup
	@sh tools/dev/build_docs.sh

release: setup
	@sh tools/dev/release.sh

bench: setup
	@$(RUN) -m tools.bench.run $(ARGS)

stress: setup
	@$(RUN) -m tools.stress.run $(ARGS)

compare: setup
	@$(RUN) -m tools.compare.run

way: setup
	@$(RUN) -m tools.dev.way

screenshots: setup
	@$(RUN) -m tools.dev.screenshots $(ARGS)

clean:
	rm -rf .venv .dev build *.egg-info .pytest_cache .hypothesis .mypy_cache .ruff_cache
