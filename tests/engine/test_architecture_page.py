"""Pages name files that exist; the architecture page names every folder of the engine too."""

import re

import pytest

from ..support import ROOT

PAGE = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
ENGINE = ROOT / "tensorgrade"
FILES = re.compile(r"[\w/]+\.py\b|\b[a-z_]+(?:/[a-z_]+)*/(?=\s|`|$)")
OUR_FILES = re.compile(r"\b(?:tests|benchmarks|docs|kit)/[\w./-]*\w")
pytestmark = pytest.mark.proof


def test_what_pages_name_exists():
    named = [(PAGE, name) for name in FILES.findall(PAGE)]
    pages = [ROOT / "README.md", ROOT / "course_config.py", *(ROOT / "docs").rglob("*.md")]
    named += [(page, n) for page in pages for n in OUR_FILES.findall(page.read_text("utf-8"))]
    assert named
    missing = {(page, name) for page, name in named if not (ROOT / name).exists()}
    assert [one for one in missing if one[0] is not PAGE or not (ENGINE / one[1]).exists()] == []


def test_every_folder_of_the_engine_is_on_the_page():
    folders = [path.parent.name for path in ENGINE.glob("*/__init__.py")]
    assert [folder for folder in folders if f"{folder}/" not in PAGE] == []
