# Two commands do everything: `make demo` shows it at work, `make test` runs every test.
PYTHON ?= python3
BIN := .venv/bin
DEMO := demo
export PATH := $(CURDIR)/$(BIN):$(PATH)
# Else each of the many processes that tests start would compile the whole engine anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test check wheel clean

demo: .venv/ready
	@echo "── This machine's isolation for learner code"
	@tensorgrade doctor || true
	@echo; echo "── Building stubs, references and notebooks from solutions/"
	@tensorgrade build
	@echo; echo "── A made-up class: 30 learners put together from the solutions and known mistakes"
	@rm -rf $(DEMO)
	@tensorgrade sample $(DEMO)/submitted --learners 30
	@echo; echo "── Grading it with the hidden tests"
	@tensorgrade grade $(DEMO)/submitted --out $(DEMO)/out || { test $$? = 2 && \
	    echo "The made-up learners are ours, so the demo goes on without a sandbox:" && \
	    tensorgrade grade $(DEMO)/submitted --out $(DEMO)/out --isolation none; }
	@tensorgrade bundle --out $(DEMO)/attention-kit.zip
	@echo; echo "Where to look:"
	@echo "  $(DEMO)/submitted/                what the made-up learners handed in"
	@echo "  $(DEMO)/out/results.jsonl         a row for every exercise of every learner"
	@echo "  $(DEMO)/out/report.html           the class on one page, for a browser"
	@echo "  $(DEMO)/attention-kit.zip         what learners get"
	@echo "  exercises/                   where you can try it yourself:"
	@echo "                               source .venv/bin/activate, then pytest exercises/"

# A file's tests stay together: they share what the file's fixtures build. In order, so that no long
# file comes last.
test: .venv/ready
	@pytest tests -m "" -p no:cacheprovider -n logical --dist loadfile --no-loadscope-reorder

check: .venv/ready
	@ruff format --check --quiet .
	@ruff check --quiet .
	@mypy
	@tensorgrade build --check
	@cd courses/tokens && tensorgrade build --check
	@check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	@check-jsonschema --quiet --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/*.yml
	@check-jsonschema --quiet --builtin-schema vendor.citation-file-format CITATION.cff

# The source package, and the wheel made of it: what learners and instructors install.
wheel: .venv/ready
	@rm -rf dist
	@python -m build --no-isolation
	@rm -rf tensorgrade.egg-info

.venv/ready: requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

clean:
	rm -rf .venv $(DEMO) dist
