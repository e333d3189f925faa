"""A save checks again only what the change can affect, and the messages are the same."""

import random

import pytest

from tensorgrade.attempts.results import State, state_of
from tensorgrade.learner.watch import checker as checker_module
from tensorgrade.learner.watch.checker import Checker, Pieces
from tensorgrade.learner.watch.loop import outcome
from tensorgrade.recognition.mistakes import make

CH2, CH3, CH6 = "ch2_self_attention", "ch3_causal_attention", "ch6_small_gpt"
FILE = """import torch

def doubled(x):
    return 2 * x

class First:
    def run(self, x):
        return doubled(x)

class Second(First):
    pass

@torch.no_grad()
def third(x):
    return x
"""
REACHED = {
    "nothing but a comment": (("import torch\n", "import torch\n\n# a comment\n"), set()),
    "a helper": (("2 * x", "3 * x"), {"doubled", "First", "Second"}),
    "a base class": (("def run", "def walk"), {"First", "Second"}),
    "a function alone": (("return x\n", "return -x\n"), {"third"}),
    "its decorator": (("@torch.no_grad()\n", ""), {"third"}),
    "a new one": (("class Second", "def fourth(): pass\n\nclass Second"), {"fourth"}),
    "another name": (("def third", "def fifth"), {"third", "fifth"}),
    "a loose line": (("import torch\n", "import torch\ntorch.manual_seed(1)\n"), None),
    "no syntax": (("return x\n", "return (x\n"), {"third"}),
}


@pytest.mark.parametrize("edit, reached", REACHED.values(), ids=REACHED)
def test_what_a_change_reaches(edit, reached):
    assert edit[0] in FILE
    now = Pieces.of(FILE.replace(*edit))
    assert now.reached_from(Pieces.of(FILE)) == reached


def test_a_loose_line_that_speaks_of_what_changed_reaches_all():
    patched = FILE + "First.run = third\n"
    now = Pieces.of(patched.replace("return x\n", "return -x\n"))
    assert now.reached_from(Pieces.of(patched)) is None


@pytest.fixture(scope="module")
def checkers(project, tmp_path_factory):
    """One that goes from save to save, and one that is to know nothing of the save before.

    Both wait long, so that a busy machine cuts nothing short.
    """
    patience = pytest.MonkeyPatch()
    patience.setattr(checker_module, "PATIENCE", 60.0)
    made = [Checker(project.exercises, tmp_path_factory.mktemp(name)) for name in ("a", "b")]
    yield made
    for checker in made:
        checker.close()
    patience.undo()


@pytest.mark.slow
@pytest.mark.parametrize("chapter", [CH2, CH3])
def test_it_tells_the_same_as_a_check_of_everything(project, checkers, chapter):
    """Known mistakes drawn by chance, each saved after the one before; one of them always stays."""
    chance, (going_on, anew) = random.Random(chapter), checkers
    solution = project.solution(chapter).read_text(encoding="utf-8")
    names = [exercise.name for exercise in project.course.chapter(chapter).exercises]
    wrong = [(n, m) for m in project.mistakes for n in names if n in m.edits]
    standing, first = chance.choice(wrong)
    base = make(solution, standing, [first])
    others = [(n, m) for n, m in wrong if n != standing]
    texts = [base, *(make(base, n, [m]) for n, m in chance.sample(others, 6)), base]
    for text in [*texts, f"# a line above\n{base}", solution]:
        told = []
        for checker in (going_on, anew):
            checker.path(chapter).write_text(text, encoding="utf-8")
            results, left_out = checker.check(chapter)
            told.append(({n: outcome(results[n]) for n in names}, left_out))
        anew.before.clear()
        assert told[0] == told[1]


def asked_in_checks(checker, monkeypatch):
    """The exercises that each check from now on runs; the first one all."""
    checker.before.clear()
    asked, results = [], checker.collected.results
    monkeypatch.setattr(
        checker.collected,
        "results",
        lambda attempt, *names: asked.append(names) or results(attempt, *names),
    )
    return asked


@pytest.mark.slow
def test_what_is_right_is_not_run_again(project, checkers, monkeypatch):
    checker, asked = checkers[0], asked_in_checks(checkers[0], monkeypatch)
    solution = project.solution(CH3).read_text(encoding="utf-8")
    (known,) = (m for m in project.mistakes if m.name == "mask_inverted")
    for text in (solution, make(solution, "causal_mask", [known]), solution, f"{solution}# end\n"):
        checker.path(CH3).write_text(text, encoding="utf-8")
        found, _ = checker.check(CH3)
    assert {state_of(checks) for checks in found.values()} == {State.DONE}
    whole, changed, mended, same = asked
    assert set(whole) == set(found) and "causal_mask" in changed and changed == mended
    assert len(changed) < len(whole) and len(same) == 1


@pytest.mark.slow
def test_what_is_wrong_is_run_again_only_where_something_may_have_changed(
    project, checkers, monkeypatch
):
    """In addition, the change can affect callers, callees and the order in the file."""
    checker, asked = checkers[0], asked_in_checks(checkers[0], monkeypatch)
    solution = project.solution(CH2).read_text(encoding="utf-8")
    weights = "    attn_weights = torch.softmax(attn_scores / d_k**0.5, dim=-1)"
    calls = solution.replace(weights, "    attn_weights = attention_weights(queries, keys)", 1)
    wrong = calls.replace("d_k**0.5", "d_k", 1)
    beside = wrong.replace("v1.W_query.copy_(", "v1.W_key.copy_(")
    caller = wrong.replace("return attn_weights @ values", "return attn_weights @ values + 0", 1)
    texts = [wrong, beside, wrong, caller, wrong, f"# a line above\n{wrong}"]
    assert len({*texts, calls, solution}) == 6
    for text in texts:
        checker.path(CH2).write_text(text, encoding="utf-8")
        found, _ = checker.check(CH2)
        assert state_of(found["attention_weights"]) == State.WRONG
    again = ["attention_weights" in names for names in asked]
    assert again == [True, False, False, True, True, True]


@pytest.mark.slow
def test_an_exercise_is_run_again_where_its_cases_ask_for_what_has_changed(
    project, checkers, monkeypatch
):
    """The code of trained_loss does not speak of the model that is handed to it."""
    checker, asked = checkers[0], asked_in_checks(checkers[0], monkeypatch)
    solution = project.solution(CH6).read_text(encoding="utf-8")
    elsewhere = solution.replace('"""Let a model write:', '"""Have a model write:')
    model = elsewhere.replace("class SmallGPT(nn.Module):", "class SmallGPT(torch.nn.Module):")
    assert len({solution, elsewhere, model}) == 3
    for text in (solution, elsewhere, model):
        checker.path(CH6).write_text(text, encoding="utf-8")
        checker.check(CH6)
    assert ["trained_loss" in names for names in asked] == [True, False, True]


@pytest.mark.slow
def test_leaving_prints_nothing(project, tmp_path, capfd):
    """Neither by this process nor by those that have run the code."""
    for _ in range(3):
        checker = Checker(project.exercises, tmp_path)
        source = project.solution(CH3)
        (tmp_path / source.name).write_bytes(source.read_bytes())
        checker.check(CH3)
        checker.close()
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_a_file_of_weights_that_is_written_again_is_looked_at(project, checkers):
    checker = checkers[0]
    checker.path(CH6).write_text(project.solution(CH6).read_text(encoding="utf-8"))
    states = []
    for content in (None, b"no weights", b"no weights at all"):
        if content:
            (checker.folder / "my_model.safetensors").write_bytes(content)
        states.append(checker.states(["my_model.safetensors"]))
    assert states[0] == [] and states[1] != states[2]
