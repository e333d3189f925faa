"""Files of the same content are graded once, get the same verdicts, and are told."""

from tensorgrade.attempts.verdict import Verdict
from tensorgrade.instructor.ledger import Ledger
from tensorgrade.instructor.run import identical, twins, untouched, verdicts_for
from tensorgrade.sources.handins import Handin


def handin(
    student: str,
    content: bytes = b"x",
    chapter: str = "ch1",
    name: str = "ch1.py",
    reason: str = "",
):
    return Handin(student, chapter, name, content, reason)


def test_each_content_once_with_all_who_handed_it_in():
    ada, bao, chi = handin("ada"), handin("bao"), handin("chi", b"y")
    assert twins([ada, bao, chi]) == {ada: [ada, bao], chi: [chi]}


def test_another_chapter_kind_or_reason_is_another_thing():
    different = [
        handin("a"),
        handin("b", chapter="ch2"),
        handin("c", name="ch1.ipynb"),
        handin("d", b""),
        handin("e", b"", reason="a link"),
        handin("f", b"x "),
    ]
    assert len(twins(different)) == len(different)


def test_verdicts_are_the_same_but_for_the_name():
    one = Verdict("ada", "ch1", "first", 1.0, 2.0, "partial", ["no_scale"], "Scale.", "full")
    (other,) = verdicts_for(handin("bao"), [one])
    assert other.row() == one.row() | {"student": "bao"}
    assert one.student == "ada"


def test_shared_files_are_told_but_not_untouched_stubs_or_missing_ones(tmp_path):
    class_ = [
        handin("ada"),
        handin("bao"),
        handin("chi", b"y"),
        handin("dara", b"stub"),
        handin("emil", b"stub"),
        handin("f", b"", reason="nothing"),
        handin("g", b"", reason="nothing"),
    ]
    rows = [
        {
            "student": h.student,
            "chapter": "ch1",
            "status": "not_attempted" if h.content == b"stub" else "passed",
        }
        for h in class_
    ]
    ledger = Ledger(tmp_path, {"ch1": "graders"})
    ledger.prepare(class_)
    ledger.write([(h, []) for h in class_])
    assert identical(ledger.contents(), untouched(rows)) == [
        {"chapter": "ch1", "students": ["ada", "bao"]}
    ]


def test_one_exercise_begun_is_enough_to_count():
    rows = [
        {"student": "ada", "chapter": "ch1", "status": "not_attempted"},
        {"student": "ada", "chapter": "ch1", "status": "failed"},
        {"student": "ada", "chapter": "ch2", "status": "not_attempted"},
    ]
    assert untouched(rows) == {("ada", "ch2")}


def test_a_script_beside_the_same_notebook_is_content_too():
    same = [Handin(name, "ch1", "ch1.ipynb", b"{}", script=b"x = 1") for name in "ab"]
    other = Handin("c", "ch1", "ch1.ipynb", b"{}", script=b"x = 2")
    assert twins([*same, other]) == {same[0]: same, other: [other]}
    assert len({handin.digest for handin in [*same, other]}) == 2
