"""Questions for learners on shapes in their own code, for a talk with the instructor.

Learner code runs only in the sandbox that grading uses. A question is about an exercise that passes
its public checks, so nothing hidden is needed.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, permutations
from operator import attrgetter
from pathlib import Path
from random import Random

from ..attempts.attempt import Attempt
from ..attempts.checking import trace
from ..attempts.lab import Lab
from ..attempts.maker import AttemptMaker
from ..attempts.scoring import results_on
from ..attempts.setup import Setup
from ..course import CourseError
from ..exchange.cases import spoken
from ..exchange.text import listed, printable
from ..judging.diagnosis import Step
from ..sources.finding import EXPECTED, find_submissions
from ..sources.submitted_files import SubmittedFiles
from ..views.csv_cells import in_csv
from ..views.pages import pages_in
from .rules import read_teams

MOST_CASES, MOST_OPTIONS = 3, 4
COLUMNS = ("student", "number", "exercise", "answer", "in words", "reason")
PAGE = pages_in(Path(__file__).parent).get_template("questions.html")


@dataclass(frozen=True)
class Question:
    """A question about the shape of a value on a line. reason: why `answer` is right."""

    exercise: str
    place: str
    code: str
    text: str
    options: list[str]
    answer: str
    reason: str


class Sandboxed(AttemptMaker):
    """A maker that runs public cases in the sandbox, because the code is not the caller's own."""

    def lab(self, chapter: str) -> Lab:
        """Return a lab with the sandbox, even for public cases."""
        return Lab(self.warm_up(), self.course.limits, self.device)


def questions_for_class(
    exercises: Path, submitted: Path, isolation: str, most: int
) -> Iterator[tuple[str, list[Question]]]:
    """Yield each learner in SUBMITTED with the questions. most: how many for an exercise.

    Raises CourseError if nothing can be read.
    """
    maker = Sandboxed(Setup(exercises, isolation))
    found, _ = find_submissions(submitted, maker.course, read_teams(submitted, maker.course))
    if not found:
        raise CourseError(f"{submitted} holds no submission for this course. {EXPECTED}")
    try:
        for student, files in groupby(found, key=attrgetter("student")):
            yield student, [asked for one in files for asked in on_submission(maker, one, most)]
    finally:
        maker.close()


def on_submission(maker: AttemptMaker, files: SubmittedFiles, most: int) -> list[Question]:
    """Return the questions on the exercises of a chapter that are written and right."""
    if files.reason or files.missing:
        return []
    attempt, chance = maker.attempt_from_source(files.chapter, files), Random(files.digest)
    try:
        return [
            asked
            for name, checks in results_on(attempt).items()
            if name not in attempt.references.bugs and all(check.passed for check in checks)
            for asked in questions_on(attempt, name, chance, most)
        ]
    finally:
        attempt.lab.close()


def questions_on(attempt: Attempt, exercise: str, chance: Random, most: int) -> list[Question]:
    """Return up to `most` questions on an exercise whose cases have run.

    A shape that differs from run to run, or from time to time in a run, is never asked for.
    """
    part = attempt.answers[exercise]
    seen = [one for one in part.seen if len(one.case.calls) == 1 and not one.expected.error]
    found: dict[tuple[int, str], Question] = {}
    for one in chance.sample(seen, min(MOST_CASES, len(seen))):
        steps = trace(part, one.case.name)
        again = trace(part, one.case.name)
        for step in chance.sample(steps, len(steps)) if steps == again else ():
            code = attempt.source.text.split("\n")[step.line - 1].strip()
            # The line gives the name a tensor, always of one shape.
            target = rf"(?:[\w\s,]*,\s*)?{re.escape(step.name)}\b[^=()]*=[^=]"
            sizes = {one.size for one in steps if (one.line, one.name) == (step.line, step.name)}
            is_clear = len(sizes) == 1 and part.is_own_line(step.line) and re.match(target, code)
            options, reason = shapes_like(step.size), reason_for(code, steps, step)
            if len(found) < most and options and reason and is_clear:
                text = f"In the call `{spoken(one.case, hidden=False)}`: what is the shape of"
                text = f"{text} `{step.name}` after this line has run?"
                shown = chance.sample(options, len(options))
                asked = Question(exercise, step.place, code, text, shown, str(step.size), reason)
                found.setdefault((step.line, step.name), asked)
    return list(found.values())


def shapes_like(size: object) -> list[str]:
    """Return a shape and others that could be mistaken for it; none for under two dimensions.

    The others are permuted, or have a dimension more or less.

    >>> shapes_like((2, 3))
    ['(2, 3)', '(3, 2)', '(2, 2)', '(3, 3)']
    """
    if not isinstance(size, tuple) or len(size) < 2:
        return []
    turned = list(permutations(size))[1:4] if len(size) < 5 else [size[::-1]]
    square = [(*size[:-1], size[-2]), (*size[:-2], size[-1], size[-1])]
    shapes = [size, *turned, *square, size[:-1], size[1:], (1, *size)]
    return [str(one) for one in dict.fromkeys(shapes)][:MOST_OPTIONS]


def reason_for(code: str, steps: list[Step], step: Step) -> str:
    """Return why a value has its shape: the shapes that the line works on; "" without any."""
    words = re.findall(r"[A-Za-z_]\w*", code.partition("=")[2])
    shapes = {
        one.name: f"`{one.name}` is {one.size}"
        for one in steps[: steps.index(step)]
        if isinstance(one.size, tuple) and one.name in words and one.function == step.function
    }
    given = listed(shapes.values())
    return given and f"{given}, so `{step.name}` is {step.size}."


def write_questions(found: dict[str, list[Question]], out: Path) -> None:
    """Write a page for each learner, without answers, and all answers as a table."""
    out.mkdir(parents=True, exist_ok=True)
    rows = []
    for student, questions in found.items():
        shown = PAGE.render(student=student, questions=questions)
        (out / f"{student}.html").write_text(shown, encoding="utf-8")
        for number, one in enumerate(questions, 1):
            letter = "abcd"[one.options.index(one.answer)]
            rows.append((student, number, one.exercise, letter, one.answer, printable(one.reason)))
    (out / "answers.csv").write_text(in_csv(COLUMNS, rows), encoding="utf-8", newline="")
