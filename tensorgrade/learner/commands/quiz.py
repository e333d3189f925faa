"""Ask a learner three questions about a definition that passes its checks."""

import random

from rich.console import Console
from rich.text import Text

from ...course import CourseError
from ...practice.questions import Question, questions_on
from ...practice.quizzes import lettered
from ..kit import Kit
from .review_items import Workshop


def quiz(kit: Kit, exercise: str, console: Console) -> None:
    """Ask questions about the learner's own code, one by one.

    Raises CourseError if the exercise does not pass its checks.
    """
    chapter, _ = kit.course.exercise(exercise)
    chance = random.Random()
    workshop, text = Workshop(kit, chance), kit.text(chapter.name)
    try:
        if not workshop.passes(chapter.name, exercise, text):
            raise CourseError(f"{exercise} does not pass yet; the questions come after that")
        console.print("running your code …", style="dim")
        questions = questions_on(workshop.attempt(chapter.name, text), exercise, chance)
    finally:
        workshop.close()
    if not questions:
        console.print(f"There is nothing to ask about {exercise}.")
        return
    right = 0
    for number, one in enumerate(questions, 1):
        answer = ask(one, number, console)
        if not answer:
            return
        right += answer == one.letter
    console.print(f"\n{right} of {len(questions)} right.")


def ask(question: Question, number: int, console: Console) -> str:
    """Ask one question and say whether the answer is right. Return the letter; "" to stop."""
    where = f"  ({question.place})" if question.place else ""
    console.print(Text(f"\n{number}. {question.exercise}{where}", "bold"))
    if question.code:
        console.print(f"    {question.code}", markup=False, style="cyan")
    console.print(question.text, markup=False)
    letters = lettered(question)
    for letter, option in letters:
        console.print(f"  {letter}  {option}", markup=False)
    answer, valid = "", [letter for letter, _ in letters]
    while answer not in valid:
        if answer:
            console.print(f"Type one of the letters {', '.join(valid)}, or q to stop.")
        try:
            answer = console.input("a letter (q stops) > ").strip().lower()
        except (EOFError, KeyboardInterrupt):
            return ""
        if answer == "q":
            return ""
    told = ("Right.", "green") if answer == question.letter else ("No.", "yellow")
    console.print(Text.assemble(told, f" Running the code gives: {question.letter}"))
    return answer
