"""Pages name files that exist; the architecture page names every folder of the engine too."""

import re

import pytest

from .imports import ROOT

PAGE = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
ENGINE = ROOT / "tensorgrade"
NAMED = sorted(set(re.findall(r"[\w/]+\.py\b|\b[a-z_]+(?:/[a-z_]+)*/(?=\s|`|$)", PAGE)))


def test_the_page_names_many_files():
    assert len([name for name in NAMED if name.endswith(".py")]) >= 20


OUR_FILES = re.compile(r"\b(?:tests|benchmarks|docs|kit)/[\w./-]*\w")


@pytest.mark.parametrize(
    "page",
    [ROOT / "README.md", ROOT / "course_config.py", *sorted((ROOT / "docs").rglob("*.md"))],
    ids=lambda page: page.name,
)
def test_what_a_page_names_of_ours_exists(page):
    names = OUR_FILES.findall(page.read_text(encoding="utf-8"))
    assert [name for name in names if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("name", NAMED)
def test_what_the_page_names_exists(name):
    assert (ENGINE / name).exists() or (ROOT / name).exists()


def test_every_folder_of_the_engine_is_on_the_page():
    folders = [path.parent.name for path in ENGINE.glob("*/__init__.py")]
    assert [folder for folder in folders if f"{folder}/" not in PAGE] == []


def test_pages_give_the_kill_matrix_number_of_known_mistakes():
    """The command that writes the kill matrix counts them."""
    matrix = (ROOT / "docs" / "reference" / "kill_matrix.md").read_text(encoding="utf-8")
    found = re.search(r"^(\d+) mistakes", matrix, re.MULTILINE)
    number = f"{int(found[1]):,}"
    evidence = (ROOT / "docs" / "explanation" / "evidence.md").read_text(encoding="utf-8")
    assert f"{number} of {number}" in evidence
    assert f"{number} known mistakes" in (ROOT / "README.md").read_text(encoding="utf-8")
