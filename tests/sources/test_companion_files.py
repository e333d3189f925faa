"""Weight files next to a chapter's code are found, bounded, and part of the submission."""

import zipfile
from dataclasses import replace

import pytest
import torch
from safetensors.torch import save

from tensorgrade.course_sources import complaints_on_files
from tensorgrade.instructor.run import by_content
from tensorgrade.sources.companion_files import CompanionFile, companion_files
from tensorgrade.sources.finding import find_submissions
from tensorgrade.sources.submission import read_weights
from tensorgrade.sources.submitted_files import SubmittedFiles

CH6, FILE = "ch6_small_gpt", "my_model.safetensors"
CODE, CONTENT = b"def f():\n    pass\n", save({"a": torch.ones(2)})


@pytest.fixture
def found(project, tmp_path):
    """The hand-in of ada for the chapter that carries a file, and the notes."""

    def find():
        submissions, notes = find_submissions(tmp_path / "in", project.course)
        (submitted_files,) = [
            one for one in submissions if (one.student, one.chapter) == ("ada", CH6)
        ]
        return submitted_files, notes

    (tmp_path / "in" / "ada" / CH6).mkdir(parents=True)
    return find


def put(tmp_path, where: str, content: bytes):
    path = tmp_path / "in" / "ada" / where
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_it_is_read_beside_the_code(found, tmp_path):
    put(tmp_path, f"{CH6}/{CH6}.py", CODE)
    put(tmp_path, f"{CH6}/{FILE}", CONTENT)
    submitted_files, notes = found()
    assert submitted_files.content == CODE
    assert submitted_files.beside == (CompanionFile(FILE, CONTENT),)
    assert notes == []
    assert read_weights(submitted_files.beside[0]).tensors["a"].tolist() == [1, 1]


@pytest.mark.parametrize("kind", ["nothing", "a link", "too large", "a folder", "empty"])
def test_what_cannot_be_read_is_a_sentence_and_the_code_counts(found, tmp_path, kind):
    put(tmp_path, f"{CH6}/{CH6}.py", CODE)
    path = tmp_path / "in" / "ada" / CH6 / FILE
    if kind == "a link":
        path.symlink_to(put(tmp_path, "elsewhere", CONTENT))
    if kind == "too large":
        path.write_bytes(bytes((1 << 20) + 1))
    if kind == "a folder":
        path.mkdir()
    if kind == "empty":
        path.write_bytes(b"")
    submitted_files, _ = found()
    (file,) = submitted_files.beside
    assert (submitted_files.content, submitted_files.reason, file.content) == (CODE, "", b"")
    assert file.reason.startswith(SAID[kind]) and file.reason.endswith(".")
    assert file.missing == (kind in ("nothing", "a folder"))
    assert read_weights(file).trouble == file.reason


SAID = {
    "nothing": f"There is no {FILE} next to",
    "a folder": f"There is no {FILE} next to",
    "a link": f"{FILE} is a link",
    "too large": f"{FILE} has more than 1048576 bytes",
    "empty": f"{FILE} is empty",
}


@pytest.mark.parametrize("where", [f"{CH6}/my_model (1).safetensors", FILE, f"{CH6}/x/{FILE}"])
def test_nearly_named_or_placed_it_counts_and_that_is_reported(found, tmp_path, where):
    put(tmp_path, f"{CH6}/{CH6}.py", CODE)
    put(tmp_path, where, CONTENT)
    submitted_files, notes = found()
    assert submitted_files.content == CODE
    assert submitted_files.beside == (CompanionFile(FILE, CONTENT),)
    assert where == FILE or any(f"counts as {FILE}" in note for note in notes)
    assert not any("left out" in note for note in notes)


def test_in_a_zip_with_the_code_it_counts(found, tmp_path):
    with zipfile.ZipFile(put(tmp_path, f"{CH6}/all.zip", b""), "w") as archive:
        archive.writestr(f"work/{CH6}.py", CODE)
        archive.writestr(f"work/{FILE}", CONTENT)
    submitted_files, _ = found()
    assert submitted_files.content == CODE
    assert submitted_files.beside == (CompanionFile(FILE, CONTENT),)


def test_in_a_zip_it_is_bounded(found, tmp_path):
    with zipfile.ZipFile(put(tmp_path, "all.zip", b""), "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{CH6}.py", CODE)
        archive.writestr(FILE, bytes(10 << 20))
    submitted_files, _ = found()
    assert (
        submitted_files.beside[0].reason.startswith(SAID["too large"])
        and submitted_files.content == CODE
    )


def test_weights_without_code_are_no_answer(found, tmp_path):
    put(tmp_path, f"{CH6}/{FILE}", CONTENT)
    submitted_files, _ = found()
    assert (
        submitted_files.reason.startswith(f"There is no file {CH6}.py")
        and FILE in submitted_files.reason
    )


def test_other_weights_are_another_hand_in_and_the_same_code():
    plain = SubmittedFiles("ada", CH6, f"{CH6}.py", CODE)
    some, others = (replace(plain, beside=(CompanionFile(FILE, c),)) for c in (CONTENT, b"other"))
    none = replace(plain, beside=(CompanionFile(FILE, reason="There is none."),))
    assert len({one.digest for one in (plain, some, others, none)}) == 4
    assert len(by_content([some, others, replace(some, student="bao")])) == 2
    assert {one.digest.split("+")[0] for one in (some, others)} == {plain.digest}


def test_where_several_folders_may_have_it_the_first_counts(tmp_path):
    first, second = tmp_path / "a", tmp_path / "b"
    for folder, content in ((first, b"1"), (second, b"2")):
        folder.mkdir()
        (folder / FILE).write_bytes(content)
    assert companion_files({FILE: 9}, first, second) == (CompanionFile(FILE, b"1"),)
    (first / FILE).unlink()
    assert companion_files({FILE: 9}, first, second) == (CompanionFile(FILE, b"2"),)


@pytest.mark.parametrize(
    "beside, said",
    [
        ({"ch9": {FILE: 9}}, "ch9 is not a chapter"),
        ({"a": {"../x.safetensors": 9}}, "is not a name like my_model.safetensors"),
        ({"a": {"model.pt": 9}}, "is not a name like my_model.safetensors"),
        ({"a": {FILE: 9}, "b": {FILE: 9}}, f"{FILE} belongs to two chapters"),
        ({"a": {FILE: 0}}, "0 is not a number of bytes"),
        ({"a": {FILE: True}}, "True is not a number of bytes"),
    ],
)
def test_what_the_settings_may_not_say(beside, said):
    (problem,) = complaints_on_files(beside, ["a", "b"])
    assert said in problem
    assert complaints_on_files({"a": {FILE: 9}}, ["a", "b"]) == []
