"""The loader keeps what works in a learner's file and says what does not."""

import pytest

from tensorgrade.runner.loading import load_module


def load(source, **settings):
    return load_module("a_learner_file", source, "a_learner_file.py", **settings)


def test_one_broken_definition_costs_only_itself():
    module, problems = load("def good(): return 1\ndef bad(:\n    pass\ndef fine(): return 2\n")
    assert (module.good(), module.fine()) == (1, 2)
    assert [p["names"] for p in problems] == [["bad"]]
    assert problems[0]["error"]["line"] == 2


def test_what_parses_but_does_not_compile_costs_only_itself():
    module, problems = load("def bad():\n    x = 1\n    global x\ndef good(): return 1\n")
    assert module.good() == 1 and not hasattr(module, "bad") and problems


@pytest.mark.parametrize(
    "line", ["exit()", "import nothing_like_it", "1 / 0", "raise KeyboardInterrupt"]
)
def test_a_failing_statement_is_noted_and_the_rest_goes_on(line):
    module, problems = load(f"{line}\ndef good(): return 1\n")
    assert module.good() == 1 and len(problems) == 1


def test_the_last_definition_counts():
    module, _ = load("def f(): return 1\ndef f(): return 2\n")
    assert module.f() == 2


def test_a_broken_last_definition_hides_the_one_before():
    module, problems = load("def f(): return 1\ndef f(:\n    return 2\n")
    assert not hasattr(module, "f") and problems[0]["names"] == ["f"]


def test_definitions_only_leaves_loose_code_alone():
    module, problems = load(
        "x = 3\nn = len('ab')\nwhile True: pass\ndef f(): return x\n", definitions_only=True
    )
    assert module.f() == 3 and not hasattr(module, "n") and not problems


def test_future_imports_hold_for_the_whole_file():
    module, problems = load("from __future__ import annotations\ndef f(x: not_defined): return 1\n")
    assert module.f(0) == 1 and not problems


def test_main_guards_do_not_run():
    module, _ = load("ran = False\nif __name__ == '__main__':\n    ran = True\n")
    assert module.ran is False


@pytest.mark.parametrize("source", ["", "\n\n", "# only a comment", "def f(:", "\x0c", "'''"])
def test_odd_files_load_without_an_exception(source):
    module, _ = load(source)
    assert module.__name__ == "a_learner_file"
