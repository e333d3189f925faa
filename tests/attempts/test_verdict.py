"""A verdict stays small, whatever it quotes; and of several checks that fail, which one speaks."""

from dataclasses import replace

import pytest

from tensorgrade.attempts import checking, pipeline, scoring
from tensorgrade.attempts.results import CheckResult, first_failure
from tensorgrade.attempts.verdict import MOST_MISTAKES, Verdict
from tensorgrade.exchange.text import LONGEST_MESSAGE, sentence
from tensorgrade.judging.diagnosis import OF_GRADIENT, Diagnosis, Finding, Kind, Observations
from tensorgrade.sources.submitted_files import SubmittedFiles

from ..answers.reader import solution

CH3, CH4 = "ch3_causal_attention", "ch4_multi_head_attention"


def verdict(message: str, mistakes: list[str]) -> Verdict:
    return Verdict("ada", "ch1", "softmax", 1.0, 2.0, "partial", mistakes, message)


def test_seven_megabytes_of_claims_become_one_sentence():
    row = verdict("x" * (7 << 20), [f"mistake_{n}" for n in range(5000)]).row()
    assert len(row["message"]) <= 2 * LONGEST_MESSAGE + 1 and row["message"].endswith("x…")
    assert len(row["mistakes"]) == MOST_MISTAKES
    message = "y" * LONGEST_MESSAGE
    row = verdict(message, ["no_scale"]).row()
    assert row["message"] == message and row["mistakes"] == ["no_scale"]
    said = verdict("It is wrong. " + "Is `a.b` small? " * 50, []).message
    assert said.startswith("It is wrong.") and said.endswith("`a.b` small?")
    assert len(said) <= LONGEST_MESSAGE


IS_X = "it is `x`"
ALONE = Diagnosis(
    Kind.VALUES,
    "the result does not have the right values",
    id="not_the_values",
    observe=lambda: Observations((), how_many="all entries differ"),
)
KNOWN = replace(ALONE, observe=lambda: Observations((IS_X,)))
GRADIENT = replace(KNOWN, id=OF_GRADIENT)
RAISED = Diagnosis(Kind.ERROR, "RuntimeError: sizes")
CHANGED = Diagnosis(Kind.FACT, "it changes the input `x` in place")
UNREACHED = Diagnosis(Kind.UNREACHED, "not tried")
NAMED = {"turned": "It is turned around."}


def check(asks: str, diagnosis: Diagnosis, mistakes: dict[str, str] | None = None) -> CheckResult:
    """A check that failed."""
    return CheckResult(1.0, False, asks, Finding(asks, diagnosis, mistakes or {}))


FAILED = [
    ([("plain", KNOWN), ("later", RAISED)], "plain"),  # in the author's order
    ([("plain", ALONE), ("later", RAISED)], "later"),  # what says nothing waits
    ([("plain", ALONE), ("later", UNREACHED)], "plain"),
    ([("plain", ALONE), ("later", GRADIENT)], "plain"),  # the code does not show it
    ([("plain", GRADIENT), ("later", CHANGED)], "later"),
]


def test_the_first_check_that_tells_what_is_wrong_speaks():
    for failed, told in FAILED:
        assert first_failure([check(*one) for one in failed]).asks == told, failed
    # Where a mistake is known, the first check speaks that came to an answer.
    for first, told in ((ALONE, "plain"), (UNREACHED, "later")):
        failed = [check("plain", first, NAMED), check("later", RAISED, NAMED)]
        assert first_failure(failed).asks == told


@pytest.mark.slow
@pytest.mark.parametrize(
    "module, lost",
    [(checking, "where"), (scoring, "only_ones_differ"), (pipeline, "told")],
)
def test_an_answer_that_cannot_be_explained_costs_nothing(judge, monkeypatch, caplog, module, lost):
    """A fault of ours there takes no points, of that exercise or of another one."""
    wrong = f"{solution(CH4)}\n\ndef trace_shapes(*sizes, **named):\n    return {{1: 2}}.items()\n"
    wrong += "\n\ndef merge_heads(x):\n    return x.flatten(2) + 0 * x.sum()\n"
    judge(CH4, "merge_heads", wrong, explain=False)  # makes the grader
    files = SubmittedFiles("ada", CH4, f"{CH4}.py", wrong.encode())
    whole = {one.exercise: one for one in judge.grader(False).grade(files)}

    def fails(*_):
        raise TypeError("a fault of ours")

    monkeypatch.setattr(module, lost, fails)
    told = {one.exercise: one for one in judge.grader(False).grade(files)}
    for name, found in told.items():
        assert (found.points, found.status) == (whole[name].points, whole[name].status)
    assert whole["trace_shapes"].points == 0 and "dict" in whole["trace_shapes"].message
    assert whole["split_heads"].points == 5
    assert caplog.records, "the grader's log reports it"


def test_a_sentence_does_not_change_the_name_of_a_file():
    assert sentence("my_file.ipynb is empty") == "my_file.ipynb is empty."
    assert sentence("the file a.py is empty") == "The file a.py is empty."
