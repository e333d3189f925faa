"""Check cells: the card that a learner sees, on right, wrong, unwritten and broken answers."""

import importlib
import sys
from dataclasses import replace

import pytest
import torch

from tensorgrade.course import CourseError
from tensorgrade.learner import pictures
from tensorgrade.learner.notebook import Points, check, check_here
from tensorgrade.runner.reading import Cell, extract

from ..support import ROOT

EXERCISES = ROOT / "exercises"
IMPORTS = Cell("import torch\nfrom torch import nn", "1")


def checked(name: str, *sources: str):
    """The public checks of an exercise on a notebook with these cells."""
    return check(
        EXERCISES, name, extract([IMPORTS, *(Cell(s, str(n)) for n, s in enumerate(sources, 2))])
    )


RIGHT = (
    "def causal_mask(context_length):\n"
    "    return torch.ones(context_length, context_length).triu(1).bool()"
)
FLIPPED = RIGHT.replace("triu(1)", "tril(-1)")
OPEN = "def causal_mask(n):\n    return torch.ones((n, n)\n    # on"
# The cells of a notebook; the state and the points of the check; words on the card.
CARDS = [
    ((RIGHT,), "done", 5, "✓", "5 of 5 points"),
    (("def causal_mask(n):\n    raise NotImplementedError",), "to do", 0, "0 of 5 points"),
    (("def mask(n):\n    return 1",), None, 0, "no <code>causal_mask</code>"),
    ((RIGHT.replace("causal", "casual"),), "wrong", 0, "it defines <code>casual_mask</code>"),
    (("x = 1", "def causal_mask(n):\n    return undefined"), "wrong", 0, "cell 3, line 2"),
    (("def one(): pass", OPEN, "def two(): pass"), "wrong", 0, "SyntaxError", "cell 3, line "),
    (
        ("n = len([1])", "def causal_mask(k):\n    return n"),
        "wrong",
        0,
        "compute it inside the function",
    ),
    (
        ("def causal_mask(n):\n    raise ValueError('<script>alert(1)</script>')",),
        "wrong",
        0,
        "&lt;script&gt;",
    ),
    (
        ("ones = torch.ones(1)", RIGHT.replace("torch.ones(", "ones * torch.ones(")),
        "wrong",
        None,
        "ones",
    ),
    (
        ("import os\n\ndef causal_mask(n):\n    breakpoint()\n    os._exit(3)",),
        "wrong",
        0,
        "The process that ran it ended",
        ">cell 2, line 3</code>",
    ),
    (
        ("def causal_mask(n):\n    ones = torch.ones(n)\n    return ones.view(2, -1) @ ones",),
        "wrong",
        0,
        "0 of 5 points: 0 of 3 checks passed",
        ">cell 2, line 3</code>",
        "shapes in your code, in causal_mask",
        "cell 2, line 2  ones  (6,)",
    ),
]


def test_a_card_says_the_state_the_points_and_the_place():
    for cells, state, points, *said in CARDS:
        found = checked("causal_mask", *cells)
        page = found._repr_html_()
        assert state in (None, found.state) and points in (None, found.points), cells
        assert all(one in page for one in said), (cells, page)
        assert "<script" not in page and "compile(" not in page and "nothing before" not in page
        assert ("✗" in page) == (found.state == "wrong")
    assert repr(checked("causal_mask", RIGHT)) == "causal_mask: done, 5 of 5 points"
    assert float(repr(Points(3.5, 5))) == 3.5 and "3.5 of 5" in Points(3.5, 5)._repr_html_()


def test_an_exercise_is_asked_for_by_its_name_or_by_the_function_itself(shell, monkeypatch):
    monkeypatch.chdir(ROOT)
    for cell in ("import torch", RIGHT):
        shell.run_cell(cell, store_history=True)
    function = shell.user_ns["causal_mask"]
    assert check_here(function).state == check_here("causal_mask").state == "done"
    with pytest.raises(CourseError, match="softmax"):
        check_here(torch.softmax)


@pytest.mark.slow
def test_a_wrong_answer_gets_its_values_its_mistake_and_a_hint_on_request(monkeypatch):
    loud = FLIPPED.replace("    return", '    print("size <b>", context_length)\n    return')
    found = checked("causal_mask", loud)
    page = found._repr_html_()
    assert found.state == "wrong" and found.points < 5
    assert "yours (6, 6), bool" in page and "T≠" in page and "≠ differs" in page
    name, message = next(iter(found.note.finding.mistakes.items()))
    assert name not in page and message.split(".")[0] in page
    assert page.index("<summary") < page.index("A hint") < page.index("Another hint")
    assert "expected" in page and "(6, 6)" in page and "size &lt;b&gt; 6" in page
    assert "<script" not in page and "http" not in page and "<style" not in page
    shown = []  # Jupyter asks for the text of a result as well; asking must not show it
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setattr("rich.jupyter.display", lambda *parts: shown.append(parts))
    said = repr(found)
    assert (
        not shown
        and "problem   the result" in said
        and "1 of 3 checks passed; known mistake: −2" in said
    )
    named = {"first": "One thing.", "second": "Another."}
    finding = replace(found.note.finding, mistakes=named)
    results = [replace(one, finding=one.finding and finding) for one in found.results]
    page = replace(found, results=results)._repr_html_()
    assert "One thing." in page and "Another." not in page and "second mistake" in page


def test_a_forbidden_call_is_named_with_its_line():
    own = "def softmax_naive(x):\n    total = x.exp().sum()\n    return torch.softmax(x, dim=0)"
    said = " ".join(repr(checked("softmax_naive", f"import torch\n{own}")).split())
    assert "a forbidden call (torch.softmax, cell 2, line 4): −2.5" in said, said
    assert " cell 2, line 4 " in said, said


@pytest.mark.slow
def test_a_check_leaves_no_trace(capsys, recwarn):
    torch.manual_seed(5)
    before = torch.get_rng_state()
    noise = "print('noise'); __import__('warnings').warn('noise')\n    return"
    assert checked("causal_mask", RIGHT.replace("return", noise)).state == "done"
    assert torch.equal(before, torch.get_rng_state())
    assert "noise" not in "".join(capsys.readouterr()) and not list(recwarn)


# Pictures: what they say, they say without colour.


def texts(figure) -> list[str]:
    return [text.get_text() for axis in figure.axes for text in axis.texts]


@pytest.mark.slow
def test_pictures_have_numbers_marks_and_a_description():
    weights = torch.tensor([[0.25, 0.75], [1.0, 0.0]])
    heatmaps, bars, lines = (
        one.__wrapped__ for one in (pictures.heatmaps, pictures.bars, pictures.lines)
    )
    figure = heatmaps({"weights": weights}, ["one", "two"], ["a", "b"])
    assert texts(figure) == ["0.25", "0.75", "1.00", "0.00"]
    axis = figure.axes[0]
    labels = [one.get_text() for one in axis.get_yticklabels() + axis.get_xticklabels()]
    assert labels == ["one", "two", "a", "b"] and axis.get_title() == "weights"
    figure = bars({"a": torch.ones(3), "b": torch.ones(3)}, ["x", "y", "z"])
    assert len({patch.get_hatch() for patch in figure.axes[0].patches}) == 2
    figure = lines({"a": ([0, 1], [0, 1]), "b": ([0, 1], [1, 0])}, "x", "y")
    assert len({line.get_marker() for line in figure.axes[0].lines}) == 2
    for matrix in (
        torch.tensor([[float("nan"), -torch.inf]]),
        torch.zeros(40, 50),
        torch.zeros(0, 3),
        torch.tensor(3),
        [1, 2],
        torch.ones(2, 3, 4, 5),
        torch.eye(3).bool(),
        torch.ones(2, 2, requires_grad=True),
    ):
        page = pictures.as_image(heatmaps({'a "picture"': matrix}))
        assert page.startswith('<img src="data:image/png')
        assert 'alt="a &quot;picture&quot;"' in page


# The folders of the checks and of the other chapters.


CHAPTER = "ch3_causal_attention"


@pytest.mark.parametrize("own", [False, True])
def test_chapter_4_can_import_chapter_3(own, tmp_path, monkeypatch, capsys):
    """A chapter 3 that is not written yet is no answer."""
    for name in ("ch4_multi_head_attention", CHAPTER):
        (tmp_path / name).mkdir()
        folder = ROOT / ("source" if own else "release") / name
        for path in folder.iterdir():
            (tmp_path / name / path.name).write_bytes(path.read_bytes())
    monkeypatch.chdir(tmp_path / "ch4_multi_head_attention")
    monkeypatch.delitem(sys.modules, CHAPTER, raising=False)
    importlib.import_module("tensorgrade.notebook")  # it adds the finder of chapters
    try:
        head = __import__(CHAPTER).CausalAttention(3, 2, 6, 0.0)
        assert head(torch.zeros(1, 4, 3)).shape == (1, 4, 2)
        assert hasattr(head, "mask") == own
        said = capsys.readouterr().out
        assert ("yours, from" in said) == own and ("stand-in" in said) != own
    finally:
        sys.modules.pop(CHAPTER, None)


@pytest.fixture
def shell():
    """A notebook's IPython, which has imported what a chapter's first cell imports."""
    from IPython.core.interactiveshell import InteractiveShell

    from tensorgrade import notebook

    made = InteractiveShell.instance()
    notebook.say_what_stops_a_cell()
    made.run_cell("from tensorgrade.notebook import bars, heatmap")
    yield made
    InteractiveShell.clear_instance()


def test_a_cell_that_needs_a_stub_says_which(shell, capsys):
    shell.run_cell("def mix(x):\n    raise NotImplementedError")
    shell.run_cell("class Layer:\n    def forward(self):\n        raise NotImplementedError")
    capsys.readouterr()
    for cell, name in (("heatmap(mix(1))", "mix"), ("Layer().forward()", "Layer")):
        assert not shell.run_cell(cell).success  # so that `run all` stops here, as usual
        said = capsys.readouterr()
        assert said.out.startswith(f"{name} ") and "Traceback" not in str(said)


@pytest.mark.slow
def test_other_errors_of_a_cell_are_pythons_own(shell, capsys):
    shell.run_cell("def f():\n    raise NotImplementedError('of mine')")
    for cell, error in (("1 / 0", "ZeroDivisionError"), ("f()", "of mine"), ("g()", "NameError")):
        shell.run_cell(cell)
        said = capsys.readouterr().out
        assert "Traceback" in said and error in said


def test_a_check_before_its_exercise_says_to_run_that_first(shell, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    told = []
    for cell in ("from tensorgrade.notebook import check", "check('softmax')", "softmax = 1"):
        shell.run_cell(cell, store_history=True)
        told.append(capsys.readouterr().out)
    assert told[1].startswith("No cell that has run defines softmax") and "Trace" not in told[1]
    assert shell.run_cell("check('softmax')").success and shell.run_cell("softmx = 1").success


def test_a_picture_of_what_is_none_is_a_sentence(shell, monkeypatch, capsys):
    shell.run_cell("import torch")
    for wrong in ("None", "'x'", "object()", "[[1], [2, 3]]"):
        assert shell.run_cell(f"heatmap({wrong})").success
        said = capsys.readouterr().out
        assert said.startswith("No picture here") and said.count("\n") == 1
        assert "pictures.py" not in said
    shown = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    assert shell.run_cell("heatmap([[1.0, 2.0]]); bars({'a': [1.0, 2.0]})").success
    assert len(shown) == 2 and "No picture" not in capsys.readouterr().out


def test_a_check_cell_sees_the_notebook_alone_as_grading_does(monkeypatch, tmp_path):
    (tmp_path / "my_helpers_of_today.py").write_text(RIGHT.replace("torch", "__import__('torch')"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.import_module("my_helpers_of_today")
    source = "from my_helpers_of_today import causal_mask as mask\n"
    source += "def causal_mask(n):\n    return mask(n)"
    found = checked("causal_mask", source)
    page = found._repr_html_()
    assert found.points == 0 and "copy what you need from your other files into this one" in page
    assert "my_helpers_of_today" in sys.modules and str(tmp_path) in sys.path
