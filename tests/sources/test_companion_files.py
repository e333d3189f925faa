"""Weight files next to a chapter's code: what cannot be read is a sentence, and they count.

tests/submissions/test_which_file.py finds them in learners' folders.
"""

from dataclasses import replace

import pytest

from tensorgrade.course_sources import complaints_on_files
from tensorgrade.sources.companion_files import CompanionFile, companion_files
from tensorgrade.sources.submitted_files import SubmittedFiles

FILE = "my_model.safetensors"


def test_the_first_folder_that_has_a_file_counts_and_what_cannot_be_read_says_why(tmp_path):
    first, second = tmp_path / "a", tmp_path / "b"
    first.mkdir()
    second.mkdir()

    def found() -> CompanionFile:
        (one,) = companion_files({FILE: 9}, first, second)
        assert bool(one.content) != bool(one.reason)
        return one

    assert found().missing and found().reason.startswith(f"There is no {FILE}")
    (second / FILE).write_bytes(b"2")
    assert found().content == b"2"
    for content, word in ((b"1", ""), (bytes(10), "more than 9 bytes"), (b"", "is empty")):
        (first / FILE).write_bytes(content)
        assert word in found().reason and not found().missing
    (first / FILE).unlink()
    (first / FILE).symlink_to(second / FILE)
    assert "is a link" in found().reason
    (first / FILE).unlink()
    (first / FILE).mkdir()
    assert found().missing


def test_other_weights_are_another_submission_and_the_same_code():
    plain = SubmittedFiles("ada", "ch6", "ch6.py", b"def f(): pass")
    some, others = (replace(plain, beside=(CompanionFile(FILE, c),)) for c in (b"1", b"2"))
    none = replace(plain, beside=(CompanionFile(FILE, reason="There is none."),))
    assert len({one.digest for one in (plain, some, others, none)}) == 4
    assert {one.digest.split("+")[0] for one in (some, others)} == {plain.digest}
    assert replace(some, student="bao").digest == some.digest


@pytest.mark.parametrize(
    "beside, said",
    [
        ({"ch9": {FILE: 9}}, "ch9 is not a chapter"),
        ({"a": {"../x.safetensors": 9}}, "is not a name like"),
        ({"a": {"model.pt": 9}}, "is not a name like"),
        ({"a": {FILE: 9}, "b": {FILE: 9}}, "belongs to two chapters"),
        ({"a": {FILE: 0}}, "0 is not a number of bytes"),
        ({"a": {FILE: True}}, "True is not a number of bytes"),
    ],
)
def test_what_the_settings_may_not_say(beside, said):
    (problem,) = complaints_on_files(beside, ["a", "b"])
    assert said in problem
    assert complaints_on_files({"a": {FILE: 9}}, ["a", "b"]) == []
