"""After a save only what the change can reach is checked again, and what is told is the same."""

import random

import pytest

from tensorgrade.author.recording.mistakes import make
from tensorgrade.learner.watch.checker import Checker, Pieces
from tensorgrade.learner.watch.loop import outcome
from tensorgrade.views.summary import State, state_of

CH2, CH3 = "ch2_self_attention", "ch3_causal_attention"
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
    """One that goes from save to save, and one that is to know nothing of the save before."""
    made = [Checker(project.exercises, tmp_path_factory.mktemp(name)) for name in ("a", "b")]
    yield made
    for checker in made:
        checker.close()


@pytest.mark.slow
@pytest.mark.parametrize("chapter", [CH2, CH3])
def test_it_tells_the_same_as_a_check_of_everything(project, checkers, chapter):
    """Known mistakes drawn by chance, each saved after the one before."""
    chance, (going_on, anew) = random.Random(chapter), checkers
    solution = project.solution(chapter).read_text(encoding="utf-8")
    names = [exercise.name for exercise in project.course.chapter(chapter).exercises]
    wrong = [(n, m) for m in project.mistakes for n in names if n in m.edits]
    texts = [solution, *(make(solution, n, [m]) for n, m in chance.sample(wrong, 6)), solution]
    for text in texts:
        told = []
        for checker in (going_on, anew):
            checker.path(chapter).write_text(text, encoding="utf-8")
            results, left_out = checker.check(chapter)
            told.append(({n: outcome(results[n]) for n in names}, left_out))
        anew.before.clear()
        assert told[0] == told[1]


@pytest.mark.slow
def test_what_is_right_is_not_run_again(project, checkers, monkeypatch):
    checker, asked = checkers[0], []
    checker.before.clear()
    solution = project.solution(CH3).read_text(encoding="utf-8")
    results = checker.session.results
    monkeypatch.setattr(
        checker.session,
        "results",
        lambda attempt, *names: asked.append(names) or results(attempt, *names),
    )
    (known,) = (m for m in project.mistakes if m.name == "mask_inverted")
    for text in (solution, make(solution, "causal_mask", [known]), solution, f"{solution}# end\n"):
        checker.path(CH3).write_text(text, encoding="utf-8")
        found, _ = checker.check(CH3)
    assert {state_of(checks) for checks in found.values()} == {State.DONE}
    whole, changed, mended, same = asked
    assert set(whole) == set(found) and "causal_mask" in changed and changed == mended
    assert len(changed) < len(whole) and len(same) == 1


@pytest.mark.slow
def test_a_file_of_weights_that_is_written_anew_is_looked_at(project, checkers):
    checker, chapter = checkers[0], "ch6_small_gpt"
    checker.path(chapter).write_text(project.solution(chapter).read_text(encoding="utf-8"))
    states = []
    for content in (None, b"no weights", b"no weights at all"):
        if content:
            (checker.folder / "my_model.safetensors").write_bytes(content)
        states.append(checker.states(["my_model.safetensors"]))
    assert states[0] == [] and states[1] != states[2]
