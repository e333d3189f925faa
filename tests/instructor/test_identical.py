"""Identical files are graded once, get the same verdicts, and are reported."""

from tensorgrade.attempts.verdict import Status, Verdict
from tensorgrade.instructor.ledger import Ledger
from tensorgrade.instructor.run import by_content, verdicts_for
from tensorgrade.instructor.similarity import identical_files
from tensorgrade.sources.submitted_files import SubmittedFiles


def submitted_files(
    student: str,
    content: bytes = b"x",
    chapter: str = "ch1",
    name: str = "ch1.py",
    reason: str = "",
):
    return SubmittedFiles(student, chapter, name, content, reason)


def verdict(one: SubmittedFiles, exercise: str, status: Status) -> Verdict:
    return Verdict(one.student, one.chapter, exercise, 0.0, 1.0, status)


def test_each_content_once_with_all_who_handed_it_in():
    ada, bao, chi = submitted_files("ada"), submitted_files("bao"), submitted_files("chi", b"y")
    assert by_content([ada, bao, chi]) == {ada: [ada, bao], chi: [chi]}


def test_another_chapter_kind_or_reason_is_another_thing():
    different = [
        submitted_files("a"),
        submitted_files("b", chapter="ch2"),
        submitted_files("c", name="ch1.ipynb"),
        submitted_files("d", b""),
        submitted_files("e", b"", reason="a link"),
        submitted_files("f", b"x "),
    ]
    assert len(by_content(different)) == len(different)


def test_verdicts_are_the_same_but_for_the_name():
    one = Verdict("ada", "ch1", "first", 1.0, 2.0, "partial", ["no_scale"], "Scale.", "full")
    (other,) = verdicts_for(submitted_files("bao"), [one])
    assert other.row() == one.row() | {"student": "bao"}
    assert one.student == "ada"


def test_shared_files_are_reported_but_not_untouched_stubs_or_missing_ones(tmp_path):
    class_ = [
        submitted_files("ada"),
        submitted_files("bao"),
        submitted_files("chi", b"y"),
        submitted_files("dara", b"stub"),
        submitted_files("emil", b"stub"),
        submitted_files("f", b"", reason="nothing"),
        submitted_files("g", b"", reason="nothing"),
    ]
    ledger = Ledger(tmp_path, {"ch1": "graders"})
    ledger.prepare(class_)
    for one in class_:
        begun = Status.NOT_ATTEMPTED if one.content == b"stub" else Status.PASSED
        ledger.write([(one, [verdict(one, "first", begun)])])
    assert identical_files(ledger.store) == [{"chapter": "ch1", "students": ["ada", "bao"]}]


def test_one_exercise_begun_is_enough_to_count(tmp_path):
    ledger, both = (
        Ledger(tmp_path, {"ch1": "graders"}),
        [submitted_files("ada"), submitted_files("bao")],
    )
    ledger.prepare(both)
    begun = {"first": Status.NOT_ATTEMPTED, "second": Status.FAILED}
    ledger.write([(one, [verdict(one, *pair) for pair in begun.items()]) for one in both])
    assert [group["students"] for group in identical_files(ledger.store)] == [["ada", "bao"]]


def test_a_script_beside_the_same_notebook_is_content_too():
    same = [SubmittedFiles(name, "ch1", "ch1.ipynb", b"{}", script=b"x = 1") for name in "ab"]
    other = SubmittedFiles("c", "ch1", "ch1.ipynb", b"{}", script=b"x = 2")
    assert by_content([*same, other]) == {same[0]: same, other: [other]}
    assert len({submitted_files.digest for submitted_files in [*same, other]}) == 2
