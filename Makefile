# make demo       what the package does, with the light core alone
# make test       format, lint, types, tests: what has to pass before a change lands
# make test-all   the long tests too
# make test-lowest  the whole suite with the oldest dependencies that pyproject.toml allows
# make bench      the figures of docs/performance.md; on a text of your own: make bench CORPUS=FILE MARKER='^#'
# make docs       the documentation as a web site in site/
# make format     write the code the way `make test` wants it

PYTHON ?= python3
ifeq ($(OS),Windows_NT)
BIN := .venv/Scripts
else
BIN := .venv/bin
endif

.PHONY: demo test test-all test-lowest bench docs format clean

demo:
	@$(PYTHON) scripts/environment.py core
	@$(BIN)/facetvec demo

test:
	@$(PYTHON) scripts/environment.py test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest --durations=5

test-all: test
	$(BIN)/pytest -m slow

test-lowest:
	@$(PYTHON) scripts/environment.py test --venv .venv-lowest --constraints requirements/lowest.txt
	$(subst .venv,.venv-lowest,$(BIN))/pytest

bench:
	@$(PYTHON) scripts/environment.py test
	$(BIN)/python -m benchmarks $(if $(CORPUS),--corpus $(CORPUS)) $(if $(MARKER),--document-marker '$(MARKER)')

docs:
	@$(PYTHON) scripts/environment.py docs
	$(BIN)/zensical build --strict --clean

format:
	@$(PYTHON) scripts/environment.py test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv .venv-lowest build dist site .mypy_cache .ruff_cache .pytest_cache
