"""Every worked example in a docstring is true: the engine's and the solutions'."""

import doctest
import importlib
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ENGINE = sorted(
    str(path.relative_to(ROOT).with_suffix("")).replace("/", ".")
    for path in (ROOT / "tensorgrade").rglob("*.py")
    if ">>>" in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", ENGINE)
def test_engine(name):
    failed, tried = doctest.testmod(importlib.import_module(name))
    assert tried and not failed


@pytest.mark.parametrize("path", sorted((ROOT / "solutions").glob("ch*.py")), ids=lambda p: p.stem)
def test_solutions(path, monkeypatch):
    monkeypatch.syspath_prepend(str(path.parent))
    for other in path.parent.glob("ch*.py"):  # a stand-in of that name may have been loaded before
        monkeypatch.delitem(sys.modules, other.stem, raising=False)
    failed, tried = doctest.testmod(importlib.import_module(path.stem))
    assert tried >= 5 and not failed
