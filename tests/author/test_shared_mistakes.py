"""Shared mistakes: where they fit, what they cost there, and where they are left out."""

from tensorgrade.author.mistakes import known
from tensorgrade.author.proving import trials_of, where_shared
from tensorgrade.project import Project
from tensorgrade.recognition.edits import make

from .small_course import CHAPTER, build, build_exercise, make_course

DOUBLED = '''MISTAKES = """
doubled 20%: The result is doubled.
    - return x * factor
    + doubled = 2 * x
    + return doubled * factor
    or 100%
    counts.get(word, 0) -> 2 * counts.get(word, 0)
'''
ADDED = """# The exercises have it.
added_again: It is added.
    x * factor -> factor + x
far: Far off.
    scalde -> x
"""


def test_shared_mistakes_apply_where_their_text_occurs_and_show_something_new(tmp_path):
    root = make_course(tmp_path)
    shared = root / "graders/mistakes.py"
    shared.write_text(f'{DOUBLED}{ADDED}"""\n', encoding="utf-8")
    project = Project(root)
    found = {name: known(project, name) for name in project.course.exercise_names}
    prices = {name: {m.name: m.price for m in some if m.shared} for name, some in found.items()}
    both = {"doubled": 0.2, "added_again": None}
    assert prices == {"scaled": both, "Shift": {}, "word_counts": {"doubled": 1}, "scaled_2": both}
    doubled = make(project.solution(CHAPTER).read_text("utf-8"), "scaled", found["scaled"][2].edits)
    assert "    doubled = 2 * x\n    return doubled * factor\n" in doubled
    _, prints = build_exercise(str(root), CHAPTER, "scaled", True)
    names = [name for one in prints for name in one.mistakes]
    assert names == ["scaled_factor_added", "scaled_factor_ignored", "doubled"]
    build(root)
    _, nowhere = where_shared(project, list(trials_of(project, project.course.chapters[0])))
    assert [one.partition("nowhere")[0] for one in nowhere] == [
        f"{shared}:9: added_again applies ",
        f"{shared}:11: far applies ",
    ]
