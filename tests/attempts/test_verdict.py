"""A verdict stays small, whatever it quotes, and a fault in explaining it takes no points."""

import pytest

from tensorgrade.sources.submitted_files import SubmittedFiles

from ..answers.reader import solution
from ..support import Judge

pytestmark = pytest.mark.slow
CH1, CH4 = "ch1_simplified_attention", "ch4_multi_head_attention"
SCORES = "attention_scores"
RAISES = "def attention_scores(query, inputs):\n    raise ValueError({})\n"


def test_a_long_message_ends_with_a_sentence(judge: Judge):
    for text in ("'x' * (7 << 20)", "'It is wrong. ' + 'Is `a.b` small? ' * 50"):
        found = judge(CH1, SCORES, f"{solution(CH1)}\n\n{RAISES.format(text)}")
        assert found.message[-1] in "…?." and len(found.message) <= 600, found


def test_the_name_of_a_file_stays_as_it_is_at_the_beginning_of_a_message(judge: Judge):
    files = SubmittedFiles("ada", CH1, "my_file.ipynb", b"no notebook")
    assert {one.message[:14] for one in judge.grader(False).grade(files)} == {"my_file.ipynb "}


@pytest.mark.parametrize("lost", ["checking.where", "scoring.only_ones_differ", "pipeline.told"])
def test_an_answer_that_cannot_be_explained_costs_nothing(judge, monkeypatch, caplog, lost):
    """A fault of ours there takes no points, of that exercise or of another one."""
    wrong = f"{solution(CH4)}\n\ndef trace_shapes(*sizes, **named):\n    return {{1: 2}}.items()\n"
    wrong += "\n\ndef merge_heads(x):\n    return x.flatten(2) + 0 * x.sum()\n"
    judge(CH4, "merge_heads", wrong, explain=False)  # makes the grader
    files = SubmittedFiles("ada", CH4, f"{CH4}.py", wrong.encode())
    whole = {one.exercise: one for one in judge.grader(False).grade(files)}

    def fails(*_):
        raise TypeError("a fault of ours")

    monkeypatch.setattr(f"tensorgrade.attempts.{lost}", fails)
    told = {one.exercise: one for one in judge.grader(False).grade(files)}
    for name, found in told.items():
        assert (found.points, found.status) == (whole[name].points, whole[name].status)
    assert whole["trace_shapes"].points == 0 and "dict" in whole["trace_shapes"].message
    assert whole["split_heads"].points == 5
    assert caplog.records, "the grader's log reports it"
