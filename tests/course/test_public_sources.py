"""The public sources of open-world cases are fetched by commit, or reported if they cannot be."""

import runpy
import sys

import pytest

from ..conftest import ROOT

MAIN = runpy.run_path(str(ROOT / "benchmarks" / "public_sources.py"))["main"]


@pytest.fixture
def fetch(tmp_path, monkeypatch):
    """A function that runs the command on files of this machine, and returns the new folder."""

    def run(*present: str):
        for path in present:
            (tmp_path / "web" / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "web" / path).write_text("public code", encoding="utf-8")
        address = (tmp_path / "web").as_uri() + "/{source}/{commit}/{path}"
        monkeypatch.setitem(MAIN.__globals__, "ADDRESS", address)
        monkeypatch.setattr(sys, "argv", ["public_sources.py", str(tmp_path / "new")])
        MAIN()
        return tmp_path / "new"

    return run


def first_file() -> dict[str, str]:
    """Return the first source that is a file at a commit."""
    return next(source for source in MAIN.__globals__["sources"]() if source["commit"])


def test_a_file_is_written_below_its_source_and_missing_ones_are_reported(fetch, capsys):
    source = first_file()
    new = fetch("{source}/{commit}/{path}".format_map(source))
    target = new / source["source"] / source["path"]
    assert target.read_text(encoding="utf-8") == "public code"
    said = capsys.readouterr().out
    assert f"{target}: {source['shows']}" in said and ": not fetched (" in said


def test_the_command_fails_if_nothing_can_be_fetched(fetch):
    with pytest.raises(SystemExit, match=r"None of \d+ files could be fetched"):
        fetch()
