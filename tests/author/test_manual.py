"""The authors' guides and reference pages leave no name out."""

import inspect
import re

import tensorgrade.author
from tensorgrade.author import words
from tensorgrade.exchange.cases import SETTINGS, Part
from tensorgrade.recognition.signatures import SIGNATURES
from tensorgrade.runner.step import Step

from ..support import ROOT

REFERENCE = ROOT / "docs" / "reference"


def test_names_for_authors_are_in_examples_and_reference_pages():
    pages = (*(ROOT / "docs" / "how-to").glob("*.md"), ROOT / "docs" / "tutorial" / "author.md")
    manual = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    blocks = re.findall(r"^```python.*?\n(.*?)^```$", manual, re.MULTILINE | re.DOTALL)
    used = set(re.findall(r"\b(\w+)[.(]", "\n".join(blocks)))
    assert set(tensorgrade.author.__all__) - used == set()
    page = (REFERENCE / "checks.md").read_text(encoding="utf-8")
    assert {name for name in SIGNATURES if f"| `{name}` |" not in page} == set()
    page = (REFERENCE / "cases.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"`(\w+)=", page))
    assert set().union(*SETTINGS.values()) - listed == set()
    functions = [one for one in vars(words).values() if inspect.isfunction(one)]
    steps = [one for one in functions if one.__annotations__.get("return") in (Step, Part)]
    assert len(steps) > 8
    assert [one.__name__ for one in steps if f"`{one.__name__}(" not in page] == []
