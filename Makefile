# Two commands show everything: `make demo` grades a sample class, `make test` runs every test.
# The others are parts of these: build, release, check, docs, wheel, clean. `make proofs` takes long: what it
# proves speaks about the course, or about chance.
PYTHON ?= python3
# An index that has torch's CPU build: the address that pytorch.org's "Get Started" shows behind
# --index-url. On Linux it saves 5 GB: the usual build brings libraries for graphics cards. The builds
# for macOS and Windows are CPU builds. Leave it empty if pip's settings already name such an index.
TORCH_INDEX ?=
BIN := .venv/bin
DEMO := demo
export PATH := $(CURDIR)/$(BIN):$(PATH)
# Else each of the many processes that tests start would compile the whole engine anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test release proofs build check docs wheel clean

demo: release
	@echo; echo "── The kit, and a sample class of 30. One learner has an endless loop, one ends the process"
	@rm -rf $(DEMO)
	@printf '%s\n' 'bundle --out $(DEMO)/attention-kit.zip' 'sample $(DEMO)/submitted --learners 30' \
	    | xargs -P 2 -L 1 tensorgrade
	@echo; echo "── The sandbox for learner code on this machine"
	@if tensorgrade doctor; then isolation=auto; else isolation=none; fi; \
	    echo; echo "── Grading the class with the hidden tests (--isolation $$isolation)"; \
	    tensorgrade grade $(DEMO)/submitted --out $(DEMO)/out --isolation $$isolation
	@echo; echo "Where to look:"
	@echo "  $(DEMO)/submitted/                the sample class's submissions"
	@echo "  $(DEMO)/out/results.jsonl         a row for every exercise of every learner"
	@echo "  $(DEMO)/out/report.html           the class on one page, for a browser"
	@echo "  $(DEMO)/attention-kit.zip         what learners get"
	@echo "  exercises/                     where you can try it yourself:"
	@echo "                                 source .venv/bin/activate, then pytest exercises/"

# On all cores (tests/conftest.py).
test: release
	@pytest tests -m "not proof" --amount 3 -p no:cacheprovider

proofs: build
	@python tools/proofs.py

# References are not tracked: a fresh clone builds them, in about two minutes.
build: .venv/ready
	@echo "── Building stubs, references and notebooks from solutions/"
	@tensorgrade build
	@cd courses/tokens && tensorgrade build

# What learners get as notebooks: nbgrader makes it from source/, as it does on its users' machines.
release: build
	@printf '%s\n' . courses/tokens | xargs -P 2 -I COURSE sh -c \
	    'cd COURSE && nbgrader generate_assignment "*" --force --no-db --log-level=ERROR'

check: build
	@ruff format --check --quiet .
	@ruff check --quiet .
	@codespell
	@mypy
	@$(MAKE) --no-print-directory release
	@git diff --exit-code --stat -- exercises source release graders/pairs
	@check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	@check-jsonschema --quiet --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/*.yml
	@check-jsonschema --quiet --builtin-schema vendor.citation-file-format CITATION.cff
	@$(MAKE) --no-print-directory docs

# The source package, and the wheel made of it: what learners and instructors install.
wheel: .venv/ready
	@rm -rf dist
	@python -m build --no-isolation
	@rm -rf tensorgrade.egg-info

docs: .venv/ready
	@NO_MKDOCS_2_WARNING=1 mkdocs build --strict --quiet

# uv takes seconds, pip a minute or two. uv does not read pip's settings, so pip is asked if uv fails.
# uv looks through all indexes: torch's has some other packages too, in few versions.
# The lock names every package, so nothing has to be resolved, and two processes of pip, which uses one core,
# share them: those at the end, torch's among them, take longest and come first. What learner code may import
# is compiled now, because it cannot write bytecode in the sandbox; some of torch's files are for newer Pythons.
COMPILED := .venv/lib/*/site-packages/torch .venv/lib/*/site-packages/numpy
NEVER_IMPORTED := /(_inductor|distributed|testing|onnx|ao)/
INDEX := $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX))
UV := uv pip install --quiet --no-deps --python $(BIN)/python \
    --index-strategy unsafe-best-match $(INDEX)
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-compile $(INDEX)
define install
	@{ command -v uv >/dev/null && { $(UV) $(1) || { echo "uv failed, now with pip"; false; }; } } \
	    || $(2)
endef

.venv/ready: requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(call install,-r requirements.lock,sort -r requirements.lock | xargs -P 2 -n 64 $(PIP))
	$(call install,--no-build-isolation -e .,$(PIP) --no-build-isolation -e .)
	@$(BIN)/python -m compileall -qq -j 0 -x '$(NEVER_IMPORTED)' $(COMPILED) || true
	@touch $@

clean:
	rm -rf .venv $(DEMO) dist
