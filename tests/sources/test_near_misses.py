"""Near-miss file names and locations are accepted; other files are not."""

import os
import zipfile
from pathlib import Path

import pytest

from tensorgrade.course import Limits
from tensorgrade.runner.source import Unreadable, decode
from tensorgrade.sources import near_misses
from tensorgrade.sources.finding import find_submissions

CH1 = "ch1_simplified_attention"
TEXT = b"def softmax(x):\n    return x\n"


@pytest.fixture
def found(project, tmp_path):
    """The hand-in of ada for the first chapter, and the notes."""

    def find(**options):
        (tmp_path / "zoe" / CH1).mkdir(parents=True, exist_ok=True)
        (tmp_path / "zoe" / CH1 / f"{CH1}.py").write_bytes(b"x = 1")
        submissions, notes = find_submissions(tmp_path, project.course, **options)
        return next(h for h in submissions if (h.student, h.chapter) == ("ada", CH1)), notes

    return find


def put(folder: Path, where: str, content: bytes = TEXT, age: int = 0) -> Path:
    path = folder / "ada" / where
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.utime(path, (1_800_000_000 - age,) * 2)
    return path


@pytest.mark.parametrize(
    "where",
    [
        f"{CH1}/{CH1} (1).py",
        f"{CH1}/{CH1}(12).py",
        f"{CH1}/{CH1}-1.py",
        f"{CH1}/{CH1} - Copy.py",
        f"{CH1}/{CH1} copy 2.py",
        f"{CH1}/{CH1}.txt",
        f"{CH1}/{CH1}.py.txt",
        f"{CH1}/{CH1}.PY",
        f"{CH1}/{CH1.upper()}.py",
        f"{CH1}/work/{CH1}.py",
        f"{CH1}.py",
        f"week 1/{CH1}/{CH1}.py",
    ],
)
def test_it_counts_with_a_note_and_not_where_that_is_switched_off(found, tmp_path, where):
    put(tmp_path, where)
    submitted_files, notes = found()
    assert (submitted_files.filename, submitted_files.content, submitted_files.reason) == (
        f"{CH1}.py",
        TEXT,
        "",
    )
    same = where == f"{CH1}.py"  # the file has its own name: there is nothing to report
    assert (f"ada: {where} counts as {CH1}.py" in notes) != same
    assert not any("left out" in note and "ada" in note for note in notes)
    submitted_files, notes = found(rescue=False)
    assert not submitted_files.content and not any("counts as" in note for note in notes)


@pytest.mark.parametrize(
    "where",
    [
        f"{CH1}/my_{CH1}.py",
        f"{CH1}/{CH1}_solution.py",
        f"{CH1}/{CH1}.pyc",
        f"{CH1}/.ipynb_checkpoints/{CH1}.py",
        f"__MACOSX/{CH1}.py",
        f"a/b/c/d/{CH1}.py",
        "ch1_simplified.py",
    ],
)
def test_what_is_something_else_is_left(found, tmp_path, where):
    put(tmp_path, where)
    submitted_files, _ = found()
    assert not submitted_files.content


def test_of_two_versions_the_newest_counts_and_the_other_is_reported(found, tmp_path):
    put(tmp_path, f"{CH1}/{CH1}.py", b"old = 1", age=100)
    put(tmp_path, f"{CH1}/{CH1} (1).py", b"new = 1")
    submitted_files, notes = found()
    assert submitted_files.content == b"new = 1"
    told = next(note for note in notes if note.startswith("ada: "))
    assert f"{CH1} (1).py counts as" in told and f"{CH1}/{CH1}.py is older" in told


def test_of_one_moment_the_right_name_counts(found, tmp_path):
    put(tmp_path, f"{CH1}/{CH1}.py", b"right = 1", age=1)
    put(tmp_path, f"{CH1}/{CH1} (1).py", b"other = 1")
    assert found()[0].content == b"right = 1"


def test_a_rescued_script_beside_a_notebook_is_still_the_script_beside_it(found, tmp_path):
    put(tmp_path, f"{CH1}/{CH1}.ipynb", b'{"cells": []}')
    put(tmp_path, f"{CH1}.py")
    submitted_files, _ = found()
    assert submitted_files.filename == f"{CH1}.ipynb" and submitted_files.script == TEXT


def zipped(members: dict[str, bytes], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


@pytest.mark.parametrize("where", ["homework.zip", f"{CH1}/{CH1}.zip"])
def test_a_zip_is_looked_into(found, tmp_path, where):
    members = {f"__MACOSX/._{CH1}.py": b"\0", f"homework/{CH1}.py": TEXT, "a.txt": b"a"}
    zipped(members, tmp_path / "ada" / where)
    submitted_files, notes = found()
    assert submitted_files.content == TEXT
    assert f"ada: {where}/homework/{CH1}.py counts as {CH1}.py" in notes


def test_a_zip_of_a_gigabyte_takes_no_memory_and_says_why(found, tmp_path):
    zipped({f"{CH1}.py": b"#" * (8 << 20)}, tmp_path / "ada" / "homework.zip")
    submitted_files, _ = found()
    assert "has more than 1048576 bytes" in submitted_files.reason and not submitted_files.content


@pytest.mark.parametrize("kind", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_a_damaged_zip_is_said_to_be_one(found, tmp_path, kind):
    """After a change of any byte, the archive is read, or the reason is reported."""
    path = tmp_path / "ada" / "homework.zip"
    path.parent.mkdir(parents=True)
    with zipfile.ZipFile(path, "w", kind) as archive:
        archive.writestr(f"{CH1}.py", TEXT * 3)
    whole = path.read_bytes()
    for place in range(30, whole.index(b"PK\x01\x02"), 3):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        _, notes = found()
        assert not any("misplaced files failed" in note for note in notes), (place, notes)


def test_a_zip_with_a_link_or_with_a_thousand_files_gives_nothing(found, tmp_path):
    link = zipfile.ZipInfo(f"{CH1}.py")
    link.external_attr = 0o120777 << 16
    (tmp_path / "ada").mkdir()
    with zipfile.ZipFile(tmp_path / "ada" / "link.zip", "w") as archive:
        archive.writestr(link, "/etc/passwd")
    many = {f"{n}/x.py": b"" for n in range(near_misses.MOST_MEMBERS)} | {f"{CH1}.py": TEXT}
    zipped(many, tmp_path / "ada" / "many.zip")
    (tmp_path / "ada" / "none.zip").write_bytes(b"PK")
    submitted_files, _ = found()
    assert submitted_files.missing


def test_nothing_is_followed_through_a_link(found, tmp_path):
    put(tmp_path, "elsewhere/secret.py").rename(tmp_path / "secret.py")
    (tmp_path / "ada" / f"{CH1}.py").symlink_to(tmp_path / "secret.py")
    (tmp_path / "ada" / "linked").symlink_to(tmp_path)
    submitted_files, _ = found()
    assert not submitted_files.content


def test_a_notebook_saved_as_a_script_is_read_as_a_notebook(found, tmp_path):
    put(tmp_path, f"{CH1}/{CH1}.py", b' {"cells": []}')
    submitted_files, notes = found()
    assert submitted_files.filename == f"{CH1}.ipynb"
    assert f"ada: {CH1}.py is a notebook, and read as one" in notes
    put(tmp_path, f"{CH1}/{CH1}.py", b"x = {'cells': 1}")
    assert found()[0].filename == f"{CH1}.py"


def test_text_that_is_no_utf_8_is_said(found, tmp_path):
    put(tmp_path, f"{CH1}/{CH1}.py", "# café".encode("utf-16"))
    assert f"ada: {CH1}.py is not UTF-8 but UTF-16; it is read" in found()[1]
    put(tmp_path, f"{CH1}/{CH1}.py", "# café".encode("latin-1"))
    assert f"ada: {CH1}.py is not UTF-8 but 8-bit text; it is read" in found()[1]
    put(tmp_path, f"{CH1}/{CH1}.py", "# café".encode("utf-16-le"))
    assert f"ada: {CH1}.py is not text in a known encoding, and cannot be read" in found()[1]


@pytest.mark.parametrize(
    "content",
    [
        "é = 'ß'\n".encode(),
        b"\xef\xbb\xbf" + "é = 'ß'\n".encode(),
        "é = 'ß'\r\n".encode("utf-16"),
        "é = 'ß'\n".encode("latin-1"),
        "é = 'ß'\n".encode("cp1252"),
    ],
)
def test_a_text_is_read_in_whatever_way_it_is_written(content):
    assert decode(content, "a.py") == "é = 'ß'\n"


def test_a_coding_line_counts_if_it_names_a_way_to_write_programs():
    euro = "# -*- coding: {} -*-\nx = '€é'\n"
    assert decode(euro.format("iso-8859-15").encode("iso-8859-15"), "a.py").endswith("'€é'\n")
    latin = "#!/usr/bin/python\r\n# coding=latin-1\r\nx = 'é'\r\n"
    assert decode(latin.encode("latin-1"), "a.py") == latin.replace("\r\n", "\n")
    assert decode("# coding: punycode\nx = 'é'".encode("latin-1"), "a.py").endswith("'é'")


@pytest.mark.parametrize("content", [b"\x89PNG\r\n\x1a\n\x00", b"\xff\xfe\x00", bytes(range(256))])
def test_what_is_no_text_is_said_to_be_none(content):
    with pytest.raises(Unreadable, match="is not UTF-8 text"):
        decode(content, "a.py")


def test_a_substitute_that_learners_were_given_is_nobodys_answer(found, tmp_path):
    """The checks of a later chapter hold one under an earlier chapter's name, and are newer."""
    answer = put(tmp_path, f"{CH1}/{CH1}.py", age=1000)
    given = f"exercises/given/ch4_multi_head_attention/{CH1}.py"
    put(tmp_path, f"kit/{given}", b"x = 2")
    checks = put(tmp_path, "ch4_multi_head_attention/checks.zip")
    with zipfile.ZipFile(checks, "w") as archive:
        archive.writestr(given, "x = 3")
    submitted_files, notes = found()
    assert submitted_files.content == TEXT and not [note for note in notes if "count" in note]
    answer.unlink()
    submitted_files, _ = found()
    assert not submitted_files.content, "and stands in for none"
    put(tmp_path, f"given/{CH1}.py")
    assert found()[0].content == TEXT, "a folder may be called so"


def test_a_substitute_of_the_released_checks_is_found_to_be_one(project):
    chapters, seen = {chapter.name for chapter in project.course.chapters}, []
    for checks in sorted((project.root / "release").glob("*/checks.zip")):
        with zipfile.ZipFile(checks) as archive:
            parts = [name.split("/") for name in archive.namelist()]
        named = [p for p in parts if near_misses.chapter_of(p[-1], chapters) and len(p) > 2]
        seen += [p[-1] for p in named if near_misses.is_given(p)]
        assert all(near_misses.is_given(p) for p in named)
    assert seen == ["ch3_causal_attention.py", "ch4_multi_head_attention.py"]


def test_a_zip_that_cannot_be_read_is_reported(tmp_path, monkeypatch):
    path = tmp_path / "mine.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ch1.py", "x = 1")
    assert near_misses.archives_in(tmp_path, Limits())[0] == []

    def denied(path):
        raise PermissionError(path)

    monkeypatch.setattr(Path, "read_bytes", denied)
    assert near_misses.archives_in(tmp_path, Limits())[0] == ["mine.zip"]
