"""The authors' guides and reference pages leave no name out."""

import inspect
import re

from tensorgrade import author
from tensorgrade.author import Check, Drawing, WrittenCase
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
    page = (REFERENCE / "checks.md").read_text(encoding="utf-8")
    assert {name for name in SIGNATURES if f"| `{name}` |" not in page} == set()
    page = (REFERENCE / "cases.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"`(\w+)=", page))
    assert set().union(*SETTINGS.values()) - listed == set()
    made = {
        one.__name__: one.__annotations__.get("return")
        for one in vars(author).values()
        if inspect.isfunction(one)
    }
    steps = {name for name, kind in made.items() if kind in (Step, Part)}
    words = {name for name, kind in made.items() if kind in (Check, Drawing, WrittenCase)}
    assert (steps | words) - used == set()
    assert len(steps) > 8
    assert [name for name in steps if f"`{name}(" not in page] == []
