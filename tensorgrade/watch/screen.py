"""What `tensorgrade watch` shows: one chapter's progress, one exercise's note, and the keys."""

from rich.console import Console
from rich.text import Text

from ..course import Course
from ..views.place import place_in_file
from ..views.summary import (
    first_failure,
    print_chapter,
    print_hints,
    print_progress,
    print_start,
    state_of,
)

KEYS = "h hint   n next   l list   q quit"


def show_exercise(console: Console, course: Course, name: str | None, by_exercise: dict, folder, hints: int):
    """The chapter of an exercise, and the note on it; None says that everything is done."""
    if name is None:
        print_progress(console, course, by_exercise)
        console.print("\n[bold green]Everything is done.[/]")
        return
    chapter, exercise = course.exercise(name)
    print_chapter(console, chapter, by_exercise)
    where = place_in_file(folder / f"{chapter.name}.py", name)
    console.print()
    state = state_of(by_exercise[name])
    if state == "done":
        console.print(Text.assemble((f"✓ {name} is done", "bold green"), ("  (n: the next one)", "dim")))
        return
    if state == "to do":
        print_start(console, name, where, again="This page follows each save.")
    else:
        show_note(console, name, where, by_exercise[name])
    print_hints(console, exercise.hints, hints, more="press h")


def show_note(console: Console, name: str, where: str, checks: list) -> None:
    """What is wrong with an exercise."""
    console.print(Text.assemble((name, "bold"), (f"  ({where})", "dim")))
    console.print()
    first = first_failure(checks)
    if first.note is None:
        console.print("  The check itself failed; please tell your instructor.")
    else:
        first.note.print(console)


def show_keys(console: Console, said: str) -> None:
    """The last lines: what has just been checked, and the keys."""
    console.print()
    if said:
        console.print(Text(said, "dim"))
    console.print(Text(KEYS, "bold"))
