"""The loader keeps what works in a learner's file and says what does not."""

import pytest

from tensorgrade.runner.loading import load_module, misspelt_in


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


MISSPELT = "class Widht:\n    def other(self): return Widht\n\nmade = Widht()\n"


def test_a_misspelt_definition_is_there_under_both_names():
    names = misspelt_in(MISSPELT, ["Width", "height"])
    module, problems = load(MISSPELT, misspelt=names)
    assert names == {"Width": "Widht"} and not problems
    assert module.made.other() is module.Widht is module.Width
    assert module.Width.__qualname__ == "Width", "errors use the name in the stub"


def test_a_misspelt_definition_that_fails_is_one_problem():
    module, problems = load("def widht(x=1 / 0): pass\n", misspelt={"width": "widht"})
    assert [p["names"] for p in problems] == [["width"]] and not hasattr(module, "widht")


@pytest.mark.parametrize(
    "source",
    [
        "def width_1(): pass\ndef width_2(): pass",  # either could be meant
        "def widht(): pass\nwidth = widht",
        "def widht(): pass\nfrom math import sqrt as width",
        "def widht(): pass\ndef width(): pass",
        "def depth(): pass",
    ],
)
def test_a_name_that_is_there_or_that_two_could_mean_is_left_alone(source):
    assert misspelt_in(source, ["width"]) == {}


def test_one_definition_stands_for_one_name():
    assert misspelt_in("def width(): pass", ["width_1", "width_2"]) == {}
