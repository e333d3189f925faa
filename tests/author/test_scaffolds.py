"""A new course and every kind of exercise in it work at once; one that is off is nowhere."""

import pytest

from ..hidden import opened
from ..support import ROOT, cli
from .small_course import CHAPTER, LESSON, build, derived, edit, refused


def test_what_commands_write_about_learners_is_not_committed(small_course):
    for root in (ROOT, small_course):
        ignored = (root / ".gitignore").read_text(encoding="utf-8").splitlines()
        own = {"submitted/", "out/", "questions/", "/*-submission.zip", "/submission.html"}
        assert own <= set(ignored)


def test_its_settings_for_nbgrader_are_those_of_every_course(small_course):
    """All but the name in an example, and where more is said on files of both kinds."""
    found = {}
    for root in (small_course, ROOT, ROOT / "courses" / "tokens"):
        text = (root / "course_config.py").read_text(encoding="utf-8")
        own = [line.strip() for line in text.partition('if "get_config"')[2].splitlines()]
        found[root] = [line for line in own if not line.startswith("# ")]
        assert "lateness=Lateness(" in text
    first, *others = found.values()
    assert len(first) > 20 and all(other == first for other in others)


@pytest.mark.slow
def test_a_new_course_has_no_gap(small_course):
    done = cli("prove", cwd=small_course)
    assert done.returncode == 0 and "Every mistake is noticed" in done.stdout, done.stdout


@pytest.mark.slow
def test_new_parts_keep_what_is_there(course):
    ending = "\n# %% [markdown] ending=true\n# ## What you can do now\n#\n# Scale.\n"
    with (course / LESSON).open("a", encoding="utf-8") as lesson:
        lesson.write(ending)
    assert cli("new", "exercise", CHAPTER, "weighted", "--class", cwd=course).returncode == 0
    text = (course / LESSON).read_text(encoding="utf-8")
    assert text.endswith(ending) and text.count("ending=true") == 1
    assert text.index('exercise="weighted"') < text.index('hints="weighted"') < len(text)
    made = cli("new", "chapter", "ch3_last", cwd=course)
    assert "scaled_3 is a sample: replace it" in made.stdout
    before = (course / "course_config.py").read_bytes()
    for words, why in (
        (("course", course), "not empty"),
        (("chapter", "ch2_more"), "is there already"),
        (("chapter", "no name"), "cannot be a name"),
        (("exercise", CHAPTER, "scaled_2", "--class"), "a name of its own"),
        (("exercise", "ch4", "x"), "no chapter named ch4"),
        (("exercise", CHAPTER, "print"), "something else in"),
    ):
        done = cli("new", *words, cwd=course)
        assert done.returncode == 2 and why in " ".join(done.stderr.split()), done
    assert (course / "course_config.py").read_bytes() == before


@pytest.mark.slow
def test_an_exercise_that_is_off_is_in_no_derived_file(course):
    edit(course, "course_config.py", "points={},", 'points={"word_counts": 9}, off=("Shift",),')
    build(course)
    # The private copy of the solution, from which pairs of mistakes are made, is whole.
    files = {n: text for n, text in derived(course).items() if not n.startswith("graders/")}
    texts = list(opened(files).values())
    assert len(texts) > 10 and not any(b"Shift" in text for text in texts)
    assert any(b"word_counts" in text for text in texts)
    edit(course, "course_config.py", 'off=("Shift",),', 'off=("scaled",),')
    edit(course, LESSON, "counts: dict[str, int] = {}", "counts = scaled({}, 1)")
    assert "scaled is off" in refused(course), "another one calls it"
