"""A quiz for each learner on the learner's own code: as a page, for Moodle and for nbgrader.

Learner code runs only in the sandbox that grading uses. A question comes from an exercise that
passes its public checks, so nothing hidden is needed.
"""

import html
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from random import Random
from xml.etree import ElementTree as Xml

from jinja2 import Environment

from ..attempts.attempt import Attempt
from ..attempts.lab import Lab
from ..attempts.maker import AttemptMaker
from ..attempts.results import State, state_of
from ..attempts.scoring import results_on
from ..attempts.setup import Setup
from ..course import CourseError
from ..exchange.text import printable
from ..sources.finding import EXPECTED, find_submissions
from ..sources.submitted_files import SubmittedFiles
from ..views.csv_cells import in_csv
from .questions import Question, questions_on

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Questions on your own code: {{ student }}</title>
<style>
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
li.question { break-inside: avoid; margin-bottom: 1.5rem; }
p { white-space: pre-line; overflow-wrap: anywhere; }
pre { background: #eee; padding: .5rem; overflow-x: auto; }
</style>
<h1>Questions on your own code</h1>
<p>{{ student }}</p>
<p>Each question is about code that you submitted. Exactly one answer is right.</p>
<ol>
{% for one in questions %}
<li class="question"><strong>{{ one.exercise }}</strong>{% if one.place %}, {{ one.place }}\
{% endif %}

{% if one.code %}<pre>{{ one.code }}</pre>{% endif %}
<p>{{ one.text }}</p>
<ol type="a">{% for option in one.options %}<li>{{ option }}</li>{% endfor %}</ol>
</li>
{% endfor %}
</ol>
</html>
"""


@dataclass(frozen=True)
class Quiz:
    """The questions for one learner."""

    student: str
    questions: list[Question]


class Sandboxed(AttemptMaker):
    """A maker that runs public cases in the sandbox, because the code is not the caller's own."""

    def lab(self, chapter: str) -> Lab:
        """Return a lab with the sandbox, even for public cases."""
        return Lab(self.warm_up(), self.course.limits, self.device)


def quizzes(
    exercises: Path,
    submitted: Path,
    isolation: str,
    most: int,
    tell: Callable[[str], None] = lambda said: None,
) -> Iterator[Quiz]:
    """Yield a quiz for each learner in SUBMITTED. most: the number of questions for an exercise.

    Raises CourseError if nothing can be read.
    """
    maker = Sandboxed(Setup(exercises, isolation))
    by_student: dict[str, list[SubmittedFiles]] = {}
    for submitted_files in find_submissions(submitted, maker.course)[0]:
        by_student.setdefault(submitted_files.student, []).append(submitted_files)
    if not by_student:
        raise CourseError(f"{submitted} holds no submission for this course. {EXPECTED}")
    try:
        for student, submissions in by_student.items():
            tell(printable(student, 100))
            found = [
                one
                for submitted_files in submissions
                for one in on_submission(maker, submitted_files, most)
            ]
            yield Quiz(student, found)
    finally:
        maker.close()


def on_submission(
    maker: AttemptMaker, submitted_files: SubmittedFiles, most: int
) -> list[Question]:
    """Return the questions on one learner's chapter."""
    if submitted_files.reason or submitted_files.missing:
        return []
    attempt = maker.attempt_from_source(submitted_files.chapter, submitted_files)
    chance = Random(sha256(submitted_files.content).digest())
    try:
        passed = [name for name in attempt.exercises if is_passed(attempt, name)]
    finally:
        attempt.lab.close()
    found = []
    for name in passed:
        fresh = maker.attempt_from_source(
            submitted_files.chapter, submitted_files
        )  # with its own time limit
        found += questions_on(fresh, name, chance, most)
    return found


def is_passed(attempt: Attempt, name: str) -> bool:
    """Return True if an exercise is written by the learner and passes its public checks."""
    if name in attempt.references.bugs:
        return False
    results = results_on(attempt, name)[name]
    return bool(results) and state_of(results) == State.DONE


def write_quizzes(found: Iterable[Quiz], out: Path) -> tuple[list[Quiz], list[str]]:
    """Write all quizzes and their answers; return those written, and learners without a question.

    A learner has no question if no exercise passes its public checks.
    """
    written, without = [], []
    for quiz in found:
        if quiz.questions:
            write_quiz(quiz, out)
            written.append(quiz)
        else:
            without.append(quiz.student)
    if written:
        write_answers(written, out / "answers.csv")
    return written, without


def write_quiz(quiz: Quiz, out: Path) -> None:
    """Write a learner's quiz: a page to print, questions for Moodle, and cells for nbgrader."""
    out.mkdir(parents=True, exist_ok=True)
    name = quiz.student
    (out / f"{name}.html").write_text(page(quiz), encoding="utf-8")
    (out / f"{name}.moodle.xml").write_bytes(moodle_xml(quiz))
    (out / f"{name}.ipynb").write_text(json.dumps(notebook(quiz), indent=1), encoding="utf-8")


def write_answers(all_of_them: list[Quiz], path: Path) -> None:
    """Write the right answers of all quizzes as a table, for the instructor only."""
    rows = [
        (quiz.student, number, q.exercise, q.kind, q.letter, printable(q.options[q.right], 300))
        for quiz in all_of_them
        for number, q in enumerate(quiz.questions, 1)
    ]
    table = in_csv(["student", "number", "exercise", "kind", "answer", "in words"], rows)
    path.write_text(table, encoding="utf-8", newline="")


def page(quiz: Quiz) -> str:
    """Return a page to print, without the answers."""
    pages = Environment(autoescape=True, trim_blocks=True)
    return pages.from_string(PAGE).render(student=quiz.student, questions=quiz.questions)


def moodle_xml(quiz: Quiz) -> bytes:
    """Return the questions in Moodle's XML format, as multiple choice with one right answer."""
    root = Xml.Element("quiz")
    category = Xml.SubElement(root, "question", type="category")
    text_in(category, "category", f"$course$/Questions on own code/{quiz.student}")
    for number, one in enumerate(quiz.questions, 1):
        asked = Xml.SubElement(root, "question", type="multichoice")
        text_in(asked, "name", f"{quiz.student} {number}: {one.exercise}")
        text_in(asked, "questiontext", in_html(one), format="html")
        for tag, value in (("single", "true"), ("shuffleanswers", "1"), ("defaultgrade", "1")):
            Xml.SubElement(asked, tag).text = value
        for at, option in enumerate(one.options):
            fraction = "100" if at == one.right else "0"
            text_in(asked, "answer", html.escape(clean(option)), fraction=fraction, format="html")
    Xml.indent(root)
    return bytes(Xml.tostring(root, encoding="utf-8", xml_declaration=True))


def text_in(parent: Xml.Element, tag: str, text: str, **attributes: str) -> None:
    """Add an element with a `text` element inside, as Moodle writes all its texts."""
    Xml.SubElement(Xml.SubElement(parent, tag, attributes), "text").text = clean(text)


def clean(text: str) -> str:
    """Return learner-controlled text without characters that XML forbids."""
    return "".join(one if one.isprintable() or one == "\n" else "?" for one in text)


def in_html(question: Question) -> str:
    """Return a question as safe HTML."""
    place = html.escape(question.place or question.exercise)
    code = f"<pre>{html.escape(question.code)}</pre>" if question.code else ""
    asked = html.escape(question.text).replace("\n", "<br>")
    return f"<p>{html.escape(question.exercise)}, {place}</p>{code}<p>{asked}</p>"


def notebook(quiz: Quiz) -> dict:
    """Return cells for nbgrader: each question with a cell for the letter and a graded test."""
    cells = [markdown("title", f"# Questions on your own code\n\nFor {clean(quiz.student)}")]
    for number, one in enumerate(quiz.questions, 1):
        lettered = zip("abcdefgh", one.options, strict=False)
        options = "\n".join(f"- **{letter}** {clean(text)}" for letter, text in lettered)
        code = f"\n\n    {clean(one.code)}" if one.code else ""
        asked = f"**{number}.** {one.exercise} {one.place}{code}\n\n{clean(one.text)}\n\n{options}"
        cells.append(markdown(f"question_{number}", asked))
        cells.append(graded(f"answer_{number}", f'answer_{number} = ""  # a letter', solution=True))
        test = (
            "### BEGIN HIDDEN TESTS\n"
            f'assert answer_{number}.strip().lower() == "{one.letter}"\n### END HIDDEN TESTS'
        )
        cells.append(graded(f"test_{number}", test, solution=False))
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": kernel}, "cells": cells}


def markdown(name: str, source: str) -> dict:
    """Return a cell with text."""
    return {"cell_type": "markdown", "id": name, "metadata": {}, "source": source}


def graded(name: str, source: str, solution: bool) -> dict:
    """Return a cell of nbgrader: for an answer, or with a test that is worth a point."""
    settings = {"grade": not solution, "grade_id": name, "locked": not solution}
    settings |= {"schema_version": 3, "solution": solution, "task": False}
    settings |= {} if solution else {"points": 1}
    made = {"cell_type": "code", "id": name, "metadata": {"nbgrader": settings}}
    return made | {"source": source, "outputs": [], "execution_count": None}
