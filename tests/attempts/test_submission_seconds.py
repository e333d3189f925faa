"""A clock for a whole hand-in: many calls, each within its own time, come to an end together."""

import time
from dataclasses import replace

import pytest

from tensorgrade.sources.submitted_files import SubmittedFiles

CH1 = "ch1_simplified_attention"
SECONDS = 4


@pytest.fixture
def grade(grader, project, monkeypatch):
    """Grades chapter 1 with short times; returns the verdicts and the seconds that it took."""
    limits = replace(project.course.limits, case_seconds=2, handin_seconds=SECONDS)
    monkeypatch.setattr(grader.maker, "course", replace(grader.maker.course, limits=limits))
    grader.start()

    def grade(text: str):
        begun = time.monotonic()
        verdicts = grader.grade(SubmittedFiles("ann", CH1, f"{CH1}.py", text.encode()))
        return {v.exercise: v for v in verdicts}, time.monotonic() - begun

    return grade


@pytest.fixture
def solution(project):
    return project.solution(CH1).read_text(encoding="utf-8")


def slowed(text: str, first_line: str) -> str:
    assert first_line in text
    return "import time\n" + text.replace(first_line, f"    time.sleep(1)\n{first_line}")


@pytest.mark.slow
def test_sleeping_in_every_function_ends_with_the_chapters_time(grade, solution):
    code = "import time, torch\n" + "".join(
        f"def {name}(*a, **k):\n    time.sleep(1)\n    return torch.ones(1)\n"
        for name in ("attention_scores", "softmax_naive", "softmax", "context_vector")
    )
    verdicts, took = grade(code)
    assert took < 2 * SECONDS
    late = [v for v in verdicts.values() if v.status == "timeout"]
    assert len(late) == len(verdicts)
    assert {v.message for v in late} == {
        "The time limit of 4 seconds for the whole chapter was reached before this exercise was "
        "finished. Which call takes so long?"
    }


@pytest.mark.slow
def test_what_came_before_the_slow_exercise_keeps_its_points(grade, solution):
    verdicts, _ = grade(slowed(solution, "    attn_scores = inputs @ query\n"))
    assert verdicts["softmax"].status == "passed"
    assert verdicts["context_vector"].status == "timeout"


def test_a_right_file_has_time_enough(grade, solution):
    verdicts, _ = grade(solution)
    assert {v.status for v in verdicts.values()} == {"passed"}


@pytest.mark.slow
def test_a_single_call_that_hangs_costs_its_own_exercise_only(grade, solution):
    hanging = solution.replace("    return inputs @ query", "    while True:\n        pass")
    verdicts, _ = grade(hanging)
    line = hanging.splitlines().index("        pass") + 1
    late = verdicts["attention_scores"]
    assert late.line in (line - 1, line) and late.status == "timeout"
    code = hanging.splitlines()[late.line - 1].strip()
    assert late.message == (
        f"It did not finish within 2 seconds (line {late.line}: `{code}`). Is there an "
        "infinite loop?"
    )
    assert verdicts["softmax"].status == "passed"


@pytest.mark.slow
def test_a_call_that_cannot_be_interrupted_is_ended_and_has_no_line(grade, solution):
    deaf = "    signal.signal(signal.SIGALRM, signal.SIG_IGN)\n    while True:\n        pass"
    text = "import signal\n" + solution.replace("    return inputs @ query", deaf)
    verdicts, took = grade(text)
    late = verdicts["attention_scores"]
    assert late.message == "It did not finish within 2 seconds. Is there an infinite loop?"
    assert late.line is None and took < 2 * SECONDS
    assert verdicts["softmax"].status == "passed"


@pytest.mark.slow
def test_an_error_of_that_name_in_good_time_is_an_error(grade, solution):
    code = "    raise type('OutOfTime', (Exception,), {})('never')"
    verdicts, _ = grade(solution.replace("    return inputs @ query", code))
    assert verdicts["attention_scores"].status == "error"
