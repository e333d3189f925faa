"""What is not run of two mistakes at once, because they cannot meet, gives what it would give."""

import ast

import pytest

from tensorgrade.author.building import made_parts
from tensorgrade.author.recording.meeting import (
    differing,
    marked,
    numbered,
    same,
    without_checks,
)
from tensorgrade.author.recording.references import (
    SOLUTION,
    Known,
    Recording,
    Version,
    pairs_of,
    tell_apart,
)
from tensorgrade.recognition.imprints import Imprint
from tensorgrade.recognition.mistakes import Mistake

from .small_course import build, make_course

TEXT = '''def f(x, training):
    """Doubled, but in evaluation."""
    if not training:
        return x
    y = x + 1
    names = [y for y in x]  # nothing
    return y * 2
'''


def parted(old, new, text=TEXT):
    """The first lines of the statements by which an edit parts from a text."""
    assert text.count(old) == 1
    before, after = (ast.parse(one).body[0] for one in (text, text.replace(old, new)))
    return [one and ast.unparse(one).partition("\n")[0] for one in differing(before, after)]


@pytest.mark.parametrize(
    "old, new, expected",
    [
        ("x + 1", "x + 2", ["y = x + 1"]),
        ("        return x\n", "        return -x\n", ["return x"]),
        ("return x\n", "y = 3\n        return x\n", ["return x"]),
        ("    y = x + 1\n", "    y = x + 1\n    y = y / 2\n", ["y = x + 1"]),
        ("    y = x + 1\n", "    y = x\n    y += 1\n", ["y = x + 1"]),
        ("if not training", "if True", ["if not training:"]),
        ("  # nothing", "", []),
    ],
)
def test_an_edit_parts_where_its_statements_begin(old, new, expected):
    assert parted(old, new) == expected


@pytest.mark.parametrize(
    "old, new",
    [
        ("        return x\n", "        x = z = 1\n"),  # z is a local name by now
        ("y * 2", "(yield)"),  # nothing is run before it is asked for
        ("    y = x + 1\n", ""),  # y is another's: the loop variable is its own
        ("training):", "training=1):"),
        ("def f", "async def f"),
        ("    return y * 2\n", "    global y\n"),
    ],
)
def test_an_edit_that_changes_more_than_its_statements_is_never_apart(old, new):
    assert None in parted(old, new)


def test_class_bodies_run_before_any_case():
    text = "class A:\n    size = 1\n    def f(self):\n        return 1\n"
    assert None in parted("size = 1", "size = 2", text)
    assert None in parted("    size = 1\n", "", text)
    assert parted("return 1", "return 2", text) == ["return 1"]


def test_a_marked_text_says_what_was_begun():
    names: dict = {}
    exec(marked(f"from __future__ import annotations\n{TEXT}", "f"), names)
    numbers = {
        number: ast.unparse(statement).partition("\n")[0]
        for statement, number in numbered(ast.parse(TEXT).body[0]).items()
    }
    assert names["f"]([1], training=False) == [1]
    begun = {numbers[number] for number in names["__began__"]}
    assert "return x" in begun and "y = x + 1" not in begun


@pytest.mark.slow
def test_pairs_that_are_not_run_give_what_they_would_give(project):
    """All pairs of one exercise; and where they do meet, one of the two alone says it wrongly."""
    one = Recording(project, "ch1_simplified_attention", "softmax", hidden=False)
    rows = one.rows(one.singles + one.in_forms)
    pairs = [pair for pair in pairs_of(one, tell_apart(one, rows)) if one.fits(pair)]
    bases, cases = {base for pair in pairs for base in one.bases(pair)}, list(one.case_digests)
    known = {base: Known(rows[base], one.ran(base)) for base in bases}
    left_out = sum(len(one.foreseen(pair, cases, known)) for pair in pairs)
    assert len(pairs) > 100 and left_out > 100
    all_run = one.rows(pairs)
    assert one.rows_beside(pairs, cases, known) == all_run
    unseen = {
        base: Known(row, dict.fromkeys(ran, frozenset())) for base, (row, ran) in known.items()
    }
    assert one.rows_beside(pairs, cases, unseen) != all_run


@pytest.mark.slow
def test_mistakes_that_are_not_reached_give_what_the_solution_gives(project):
    """In the solution, and in other forms of it; and one that is reached does not."""
    one = Recording(project, "ch3_causal_attention", "CausalAttention", hidden=False)
    forms = [version for version in one.in_forms if not version.mistakes]
    versions = [v for v in one.singles[::4] + one.in_forms[::9] if v not in forms]
    rows = one.rows(forms) | {SOLUTION: one.right}
    known = {base: Known(row, one.ran(base)) for base, row in rows.items()}
    cases = list(one.case_digests)
    foreseen = {v: one.foreseen(v, cases, known) for v in versions}
    assert {bool(v.form) for v, row in foreseen.items() if row} == {True, False}
    assert one.rows_beside(versions, cases, known) == one.rows(versions)
    unseen = {
        base: Known(row, dict.fromkeys(ran, frozenset())) for base, (row, ran) in known.items()
    }
    some = [v for v in versions if foreseen[v]][:1]
    assert one.rows_beside(some, cases, unseen) != one.rows(some)


@pytest.mark.slow
def test_a_mistake_gives_what_it_gives_beside_a_check_that_holds(project):
    """The mistake runs alone if the check fails or counts calls."""
    one = Recording(project, "ch3_causal_attention", "CausalAttention", hidden=False)
    assert one.checks == ["length_checked"]
    checked = {single: one.with_checks(single)[0] for single in one.singles[::12]}
    known = {form: Known(row, {}) for form, row in one.rows(checked.values()).items()}
    cases, singles = list(one.case_digests), list(checked)
    foreseen = {single: one.foreseen(single, cases, known) for single in singles}
    found = {single: one.rows([single])[single] for single in singles}
    assert all(found[single].items() >= row.items() for single, row in foreseen.items())
    assert one.rows_beside(singles, cases, known) == found
    assert any(len(row) > len(cases) / 2 for row in foreseen.values())
    ended = {case: Imprint("ended in call: AssertionError: ") for case in cases[::2]}
    failing = {form: Known(row | ended, {}) for form, (row, _) in known.items()}
    for single, row in foreseen.items():
        assert one.foreseen(single, cases, failing).keys() == row.keys() - ended.keys()
    one.watched = set(cases)
    assert not any(one.foreseen(single, cases, known) for single in singles)


@pytest.mark.parametrize("check", ["assert x > 0", "assert x.shape[-1] <= 3 and not training"])
def test_an_assert_that_calls_nothing_is_a_check(check):
    added = TEXT.replace("    y = x", f"    {check}\n    y = x")
    assert added != TEXT
    assert same(ast.parse(TEXT).body[0], without_checks(ast.parse(added).body[0]))


@pytest.mark.parametrize("other", ["assert x.pop() > 0", "assert (x := 1)", "x = 2", "raise x"])
def test_what_may_change_something_is_none(other):
    added = TEXT.replace("    y = x", f"    {other}\n    y = x")
    assert not same(ast.parse(TEXT).body[0], without_checks(ast.parse(added).body[0]))


def test_a_version_is_loaded_without_what_it_never_reaches(project):
    """In its own lines; and what an edit alone speaks of stays."""
    one = Recording(project, "ch1_simplified_attention", "attention_scores", hidden=False)
    lean, whole = one.bare.source.text.splitlines(), one.source.splitlines()
    assert len(lean) == len(whole)
    assert all(mine in ("", line) for mine, line in zip(lean, whole, strict=True))
    all_of_it = {exercise.name for exercise in project.course.chapter(one.chapter).exercises}
    left_out = all_of_it - set(one.bare.exercises)
    assert left_out and not any(f"def {name}(" in one.bare.source.text for name in left_out)
    name = min(left_out)
    edit = Mistake("calls", "…", {"attention_scores": (("inputs @ query", f"{name}(inputs)"),)})
    other = Recording(project, "ch1_simplified_attention", "attention_scores", hidden=False)
    other.mistakes = {"calls": edit}
    assert f"def {name}(" in other.bare.source.text and name in other.bare.exercises


def test_of_what_is_no_python_nothing_is_foreseen(project, monkeypatch):
    one = Recording(project, "ch1_simplified_attention", "softmax", hidden=False)
    first, second = one.singles[:2]
    pair, cases = Version(first.mistakes + second.mistakes), list(one.case_digests)
    alone = {v: Known(dict.fromkeys(cases), one.ran(v)) for v in (first, second)}
    assert all(known.ran[cases[0]] for known in alone.values())
    source_of, text = one.source_of, one.source.replace("def softmax(", "def softmax((")
    for broken in (pair, first):
        monkeypatch.setattr(one, "source_of", lambda v, b=broken: text if v == b else source_of(v))
        one.numbered.clear()
        assert not any(one.ran(broken).values())
        found = one.foreseen(pair, cases, alone)
        assert broken == first or found == {}


@pytest.mark.slow
def test_a_build_that_watches_mistakes_makes_the_same_files(tmp_path, monkeypatch):
    course, watched = make_course(tmp_path / "small"), []
    hand_in = made_parts.Watched.hand_in

    def noted(job, work, found):
        watched.extend(found)
        hand_in(job, work, found)

    monkeypatch.setattr(made_parts.Watched, "hand_in", noted)
    monkeypatch.setattr(made_parts, "WORTH_WATCHING", 0)
    assert build(course, pairs=True)[0].wrong == () and watched
    watched.clear()
    monkeypatch.setattr(made_parts, "WORTH_WATCHING", 10**9)
    built, wrote = build(course, pairs=True, anew=True)
    assert (built.wrong, wrote, watched) == ((), [], [])
