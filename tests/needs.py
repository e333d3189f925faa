"""Marks for tests that need more than Python, and a table of tests that did not run without it.

`@needs("Chromium")` marks a test, `require("Chromium")` does the same from inside a fixture. A test
is skipped if its need is missing. With REQUIRE_TOOLS=1 it fails instead.
"""

import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tensorgrade.isolation.levels import FULL, NAMESPACES, NONE, Level, best_level, enough
from tensorgrade.isolation.probing import probe


def browser() -> str | None:
    """Return the path of Chromium or Chrome."""
    return shutil.which("chromium") or shutil.which("google-chrome")


def postgresql() -> Path | None:
    """Return the folder of PostgreSQL's programs; Debian's is not on the PATH."""
    servers = Path("/usr/lib/postgresql").glob("*/bin/pg_ctl")
    newest = max(servers, key=lambda path: float(path.parts[-3]), default=shutil.which("pg_ctl"))
    return Path(newest).parent if newest else None


def best() -> Level:
    """Return the highest isolation level of this machine."""
    return best_level(probe()) if sys.platform == "linux" else NONE


def container() -> bool:
    """Return True if `container.py` works here: root makes containers with bubblewrap."""
    return enough(best(), NAMESPACES) and os.geteuid() == 0


@dataclass(frozen=True)
class Need:
    """A tool or a property of the machine, and what to do for it."""

    found: Callable[[], object]
    command: str


NEEDS = {
    "Chromium": Need(browser, "sudo apt-get install chromium"),
    "PostgreSQL": Need(postgresql, "sudo apt-get install postgresql"),
    "isolation 'full'": Need(lambda: enough(best(), FULL), "tensorgrade doctor (says what to do)"),
    "isolation 'namespaces'": Need(
        lambda: enough(best(), NAMESPACES), "tensorgrade doctor (says what to do)"
    ),
    "containers, made by root": Need(container, "sudo make test"),
}


def needs(name: str) -> pytest.MarkDecorator:
    """Return a mark for tests that need this."""
    assert name in NEEDS
    return pytest.mark.needs(name)


def require(name: str) -> None:
    """Skip the test if this is missing; fail it with REQUIRE_TOOLS=1."""
    if not NEEDS[name].found():
        stop = pytest.fail if os.environ.get("REQUIRE_TOOLS") == "1" else pytest.skip
        stop(reason(name))


def reason(name: str) -> str:
    """Return what a skipped test says."""
    return f"needs {name}: {NEEDS[name].command}"


def table(reasons: Iterable[str]) -> list[str]:
    """Return the lines that say what was not run, how many tests, and what to do."""
    count = Counter(reasons)
    rows = [(name, str(count[reason(name)]), NEEDS[name].command) for name in NEEDS]
    rows = [("needs", "tests", "what to do"), *(row for row in rows if row[1] != "0")]
    return [f"{name:<26}{tests:>5}  {command}" for name, tests, command in rows]


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known."""
    config.addinivalue_line("markers", "needs(name): skipped if the machine lacks it")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Look for a test's requirements before any fixture starts."""
    for mark in item.iter_markers("needs"):
        require(*mark.args)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Write the table if anything is missing."""
    skipped = [report.longrepr[2] for report in terminalreporter.stats.get("skipped", [])]
    lines = table(text.removeprefix("Skipped: ") for text in skipped)
    if len(lines) > 1:
        terminalreporter.section("not run on this machine")
        for line in lines:
            terminalreporter.write_line(line)
