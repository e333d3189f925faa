"""A verdict stays small, whatever it quotes; and of several checks that fail, which one speaks."""

from dataclasses import replace

import pytest

from tensorgrade.attempts import points, redaction
from tensorgrade.attempts.explainers import evidence
from tensorgrade.attempts.results import CheckResult, Topic, first_failure
from tensorgrade.attempts.verdict import MOST_MISTAKES, Verdict
from tensorgrade.exchange.text import LONGEST_MESSAGE
from tensorgrade.judging.diagnosis import Diagnosis, Finding, Kind, Observations
from tensorgrade.judging.learner_names import ASKS
from tensorgrade.messages.checks import ChangesInput, NotTheValues
from tensorgrade.messages.message import Plain, sentence
from tensorgrade.messages.places import DifferEverywhere
from tensorgrade.messages.results import GradientOf, Result, WeightName
from tensorgrade.messages.verdicts import NotExplained
from tensorgrade.sources.submitted_files import SubmittedFiles
from tensorgrade.testing import collected


def verdict(message: str, mistakes: list[str]) -> Verdict:
    return Verdict("ada", "ch1", "softmax", 1.0, 2.0, "partial", mistakes, message)


def test_seven_megabytes_of_claims_become_one_sentence():
    row = verdict("x" * (7 << 20), [f"mistake_{n}" for n in range(5000)]).row()
    assert len(row["message"]) == LONGEST_MESSAGE and row["message"].endswith("x…")
    assert len(row["mistakes"]) == MOST_MISTAKES


def test_what_is_short_enough_stays_as_it_is():
    message = "y" * LONGEST_MESSAGE
    row = verdict(message, ["no_scale"]).row()
    assert row["message"] == message and row["mistakes"] == ["no_scale"]


IS_X = Plain("it is `x`")
ALONE = Diagnosis(
    Kind.VALUES, NotTheValues(Result()), observe=lambda: Observations((), DifferEverywhere())
)
KNOWN = replace(ALONE, observe=lambda: Observations((IS_X,)))
GRADIENT = replace(KNOWN, problem=NotTheValues(GradientOf(WeightName("x"))))
RAISED = Diagnosis(Kind.ERROR, Plain("RuntimeError: sizes"))
CHANGED = Diagnosis(Kind.FACT, ChangesInput("x"))
UNREACHED = Diagnosis(Kind.UNREACHED, Plain("not tried"))
NAMED = {"turned": "It is turned around."}


def check(asks: str, diagnosis: Diagnosis, mistakes: dict[str, str] | None = None) -> CheckResult:
    """A check that failed."""
    about = Topic.NAMES if asks == ASKS else Topic.ANSWER
    finding = Finding(asks, diagnosis, mistakes or {})
    return CheckResult("f", 1.0, False, asks, finding, about=about)


@pytest.mark.parametrize(
    "failed, told",
    [
        ([("plain", KNOWN), ("later", RAISED)], "plain"),  # in the author's order
        ([("plain", RAISED), ("later", KNOWN)], "plain"),
        ([("plain", CHANGED), ("later", RAISED)], "plain"),
        ([("plain", ALONE), ("later", RAISED)], "later"),  # what says nothing waits
        ([("plain", ALONE), ("later", CHANGED), ("last", RAISED)], "later"),
        ([("plain", ALONE), ("later", UNREACHED)], "plain"),
        ([("plain", ALONE), ("later", GRADIENT)], "plain"),  # the code does not show it
        ([("plain", GRADIENT), ("later", CHANGED)], "later"),
        ([("plain", UNREACHED), ("later", ALONE)], "later"),
        ([(ASKS, CHANGED), ("later", ALONE)], "later"),  # names come last
    ],
)
def test_the_first_check_that_tells_what_is_wrong_speaks(failed, told):
    assert first_failure([check(*one) for one in failed]).asks == told


@pytest.mark.parametrize("first, told", [(ALONE, "plain"), (UNREACHED, "later")])
def test_where_a_mistake_is_known_the_first_check_speaks_that_came_to_an_answer(first, told):
    failed = [check("plain", first, NAMED), check("later", RAISED, NAMED)]
    assert first_failure(failed).asks == told


def never(*_):
    raise AssertionError("nobody reads this")


def test_nobody_looks_closer_at_the_result_of_a_known_mistake():
    finding = Finding("plain", replace(ALONE, observe=never), NAMED)
    assert finding.telling == 0 and sentence(finding.message) == NAMED["turned"]


def test_public_cases_do_not_run_if_a_known_mistake_with_a_line_says_all(
    project, grader, monkeypatch
):
    chapter = "ch3_causal_attention"
    text = project.solution(chapter).read_text(encoding="utf-8")
    wrong = text.replace("attn_scores / d_k**0.5", "attn_scores")
    monkeypatch.setattr(redaction, "public_checks", never)
    rows = grader.grade(SubmittedFiles("ada", chapter, f"{chapter}.py", wrong.encode()))
    (row,) = (one for one in rows if one.mistakes)
    assert (row.mistakes, row.message_id) == (["no_scale"], "known_mistake") and row.line


@pytest.mark.slow
@pytest.mark.parametrize(
    "module, lost",
    [(collected, "divergence"), (points, "is_only_squeezed"), (evidence, "repair")],
)
def test_an_answer_that_cannot_be_explained_costs_nothing(
    project, grader, monkeypatch, caplog, module, lost
):
    """A fault of ours there takes no points, of that exercise or of another one."""
    chapter = "ch4_multi_head_attention"
    text = project.solution(chapter).read_text(encoding="utf-8")
    wrong = f"{text}\n\ndef trace_shapes(*sizes, **named):\n    return {{'x': (1, 2)}}.items()\n"
    wrong += "\n\ndef merge_heads(x):\n    return x.flatten(2) + 0 * x.sum()\n"
    submitted_files = SubmittedFiles(
        "ada", chapter, f"{chapter}.py", wrong.encode(), beside=project.beside(chapter)
    )
    whole = {v.exercise: v for v in grader.grade(submitted_files)}

    def fails(*_):
        raise TypeError("a fault of ours")

    monkeypatch.setattr(module, lost, fails)
    told = {v.exercise: v for v in grader.grade(submitted_files)}
    assert {e: v.points for e, v in told.items()} == {e: v.points for e, v in whole.items()}
    assert {e: v.status for e, v in told.items()} == {e: v.status for e, v in whole.items()}
    assert (
        whole["trace_shapes"].points == 0 and "a dict is expected" in whole["trace_shapes"].message
    )
    assert whole["split_heads"].points == 5
    assert caplog.records, "the grader's log reports it"
    assert (told["trace_shapes"].message_id == NotExplained.id) == (lost != "is_only_squeezed")


@pytest.mark.slow
def test_given_code_earns_nothing_where_points_cannot_be_settled(project, grader, monkeypatch):
    chapter, name = "ch3_causal_attention", "bug_inverted_dropout"
    text = (project.exercises / f"{chapter}.py").read_text(encoding="utf-8")
    submitted_files = SubmittedFiles(
        "ada", chapter, f"{chapter}.py", text.encode(), beside=project.beside(chapter)
    )

    def fails(*_):
        raise TypeError("a fault of ours")

    monkeypatch.setattr("tensorgrade.attempts.points.repaired", fails)
    (told,) = (verdict for verdict in grader.grade(submitted_files) if verdict.exercise == name)
    assert told.points == 0


@pytest.mark.slow
def test_right_code_after_a_failed_import_or_inside_of_if_is_right(grader, project):
    chapter = "ch1_simplified_attention"
    text = (project.root / "solutions" / f"{chapter}.py").read_text(encoding="utf-8")
    inside = "\n".join(f"    {line}" for line in text.splitlines())
    code = f"import torch\nfrom helper import softmax\nif True:\n{inside}\n"
    submitted_files = SubmittedFiles("ada", chapter, f"{chapter}.py", code.encode())
    told = {one.exercise: (one.status, one.message) for one in grader.grade(submitted_files)}
    assert told["softmax"] == ("passed", "Right.")
    assert told["bug_simplified_self_attention"][0] == "passed"


def test_a_sentence_does_not_change_the_name_of_a_file():
    assert sentence(Plain("my_file.ipynb is empty")) == "my_file.ipynb is empty."
    assert sentence(Plain("the file a.py is empty")) == "The file a.py is empty."
