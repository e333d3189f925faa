"""Pages name what exists, the API page names what is public, and there is one version."""

import inspect
import re
from importlib import import_module, metadata

import pytest

import tensorgrade
from tensorgrade import author
from tensorgrade.exchange.cases import SETTINGS
from tensorgrade.recognition.signatures import SIGNATURES

from ..support import ROOT

REFERENCE = ROOT / "docs" / "reference"
PAGE = (REFERENCE / "api.md").read_text(encoding="utf-8")
ARCHITECTURE = ROOT / "docs" / "explanation" / "architecture.md"
ENGINE = ROOT / "tensorgrade"
FILES = re.compile(r"[\w/]+\.py\b|\b[a-z_]+(?:/[a-z_]+)*/(?=\s|`|$)")
OUR_FILES = re.compile(r"\b(?:tests|benchmarks|docs|kit)/[\w./-]*\w")
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize(
    "module", ["tensorgrade", "tensorgrade.author", "tensorgrade.notebook", "tensorgrade.command"]
)
def test_the_page_names_all_that_a_module_offers(module):
    public = import_module(module).__all__
    named = set(re.findall(r"`@?(\w+)[`(]", SECTIONS[f"`{module}`"]))
    assert set(public) <= named
    assert all(hasattr(import_module(module), name) for name in public)


def test_names_for_authors_are_in_examples_and_reference_pages():
    pages = (*(ROOT / "docs" / "how-to").glob("*.md"), ROOT / "docs" / "tutorial" / "author.md")
    manual = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    blocks = re.findall(r"^```python.*?\n(.*?)^```$", manual, re.MULTILINE | re.DOTALL)
    used = set(re.findall(r"\b(\w+)[.(]", "\n".join(blocks)))
    page = (REFERENCE / "checks.md").read_text(encoding="utf-8")
    assert {name for name in SIGNATURES if f"| `{name}` |" not in page} == set()
    page = (REFERENCE / "cases.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"`(\w+)=", page))
    assert set().union(*SETTINGS.values()) - listed == set()
    made = {
        one.__name__: getattr(one.__annotations__.get("return"), "__name__", "")
        for one in vars(author).values()
        if inspect.isfunction(one)
    }
    steps = {name for name, kind in made.items() if kind in ("Step", "Part")}
    words = {name for name, kind in made.items() if kind in ("Check", "Drawing", "WrittenCase")}
    assert (steps | words) - used == set()
    assert len(steps) > 8
    assert [name for name in steps if f"`{name}(" not in page] == []


@pytest.mark.proof
def test_the_page_names_the_hooks_that_a_course_sets():
    config = (ROOT / "course_config.py").read_text(encoding="utf-8")
    hooks = set(re.findall(r'"tensorgrade\.nbgrader_plugin\.([\w.]+)"', config))
    assert hooks and hooks <= set(re.findall(r"`(\w+\.\w+)`", SECTIONS["The nbgrader hooks"]))


def test_courses_settings_import_public_names_only():
    for path in (*ROOT.glob("course_config.py"), *ROOT.glob("courses/*/course_config.py")):
        modules = re.findall(r"^from (\S+) import", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert {name for name in modules if name.startswith("tensorgrade")} == {"tensorgrade"}


@pytest.mark.proof
def test_what_pages_name_exists_and_what_they_import_is_public():
    """Everything else may change, as the page on the API says."""
    text = ARCHITECTURE.read_text(encoding="utf-8")
    named = [name for name in FILES.findall(text) if not (ENGINE / name).exists()]
    for page in (ROOT / "README.md", ROOT / "course_config.py", *(ROOT / "docs").rglob("*.md")):
        named += OUR_FILES.findall(page.read_text(encoding="utf-8"))
    assert named and [name for name in named if not (ROOT / name).exists()] == []
    folders = [path.parent.name for path in ENGINE.glob("*/__init__.py")]
    assert [folder for folder in folders if f"{folder}/" not in text] == []
    public = {name.strip("`") for name in SECTIONS if name.startswith("`")}
    for path in (ROOT / "docs").rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        used = set(re.findall(r"^ *(?:from|import) (tensorgrade[\w.]*)", text, re.MULTILINE))
        assert used <= public, path


def test_there_is_one_version_and_the_changelog_has_a_place_for_it():
    version = metadata.version("tensorgrade")
    assert tensorgrade.__version__ == version
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev0)?", version)
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## \[(.+?)\]", changes, re.MULTILINE)[1]
    assert newest == ("Unreleased" if version.endswith(".dev0") else version)
    written = [path for path in ROOT.rglob("*.toml") if ".venv" not in path.parts]
    assert [path.name for path in written if version in path.read_text("utf-8")] == [
        "pyproject.toml"
    ]
