"""The loader keeps what works in a learner's file and says what does not."""

import pytest

from tensorgrade.author import call

from ..support import loaded, ran

STUB = "def a():\n    raise NotImplementedError"
BEGUN = "def a():\n    return 2\n    raise NotImplementedError"
LOADED = {  # a text, names with what their functions return, and the names that have a problem
    "broken": ("def a(): return 1\ndef bad(:\n  1\ndef b(): return 2", {"a": 1, "b": 2}, ["bad"]),
    "not compiled": ("def bad():\n    x = 1\n    global x\ndef a(): return 1", {"a": 1}, ["bad"]),
    "the last counts": ("def a(): return 1\ndef a(): return 2\n", {"a": 2}, []),
    "a broken last one": ("def a(): return 1\ndef a(:\n    return 2\n", {}, ["a"]),
    "a broken first one": ("def a(:\n    return 2\ndef a(): return 1\n", {"a": 1}, ["a"]),
    "a stub below": (f"def a(): return 1\n{STUB}", {"a": 1}, []),
    "unfinished below": (f"def a(): return 1\n{BEGUN}", {"a": 2}, []),
    "a stub above": (f"{STUB}\ndef a(): return 1", {"a": 1}, []),
    "future": ("from __future__ import annotations\ndef a(x: no = 1): return 1\n", {"a": 1}, []),
    "main": ("if __name__ == '__main__':\n    def b(): pass\ndef a(): return 1", {"a": 1}, []),
    "import no": ("import no\ndef a(): return 1\n", {"a": 1}, ["no"]),
    **{
        line: (f"{line}\ndef a(): return 1\n", {"a": 1}, [])
        for line in ("exit()", "1 / 0", "raise KeyboardInterrupt")
    },
}


@pytest.mark.parametrize("name", LOADED)
def test_what_works_is_kept_and_the_rest_is_a_problem(name):
    text, kept, broken = LOADED[name]
    found = loaded(text)
    made = {name: ran(text, name, call()).value("result") for name in found.names}
    assert made == kept and [one for p in found.problems for one in p.names] == broken
    assert len(found.problems) == (bool(broken) or text.startswith(name))


def test_definitions_only_leaves_loose_code_alone():
    text = "x = 3\nn = len('ab')\nwhile True: pass\ndef f(): return x\n"
    assert loaded(text, definitions_only=True).names == ("f",)


@pytest.mark.parametrize("source", ["", "\n\n", "# only a comment", "def f(:", "\x0c", "'''"])
def test_odd_files_load_without_an_exception(source):
    assert loaded(source).status == "loaded"
