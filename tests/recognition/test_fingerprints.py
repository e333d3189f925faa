"""Fingerprints on disk: what is written is read again, and what is too old says so."""

import json

import pytest

from tensorgrade.course import CourseError
from tensorgrade.recognition.fingerprints import (
    Fingerprint,
    Fingerprints,
    load_fingerprints,
    save_fingerprints,
)
from tensorgrade.recognition.imprints import Imprint

PRINTS = Fingerprints(
    {"f": [Fingerprint(("wrong",), {"a/1": Imprint("x", (1.0, 2.0)), "a/2": Imprint("y")})]},
    {"wrong": "It is wrong."},
)


def test_what_is_written_is_read_again(tmp_path):
    save_fingerprints(tmp_path / "a.json", PRINTS)
    assert load_fingerprints(tmp_path / "a.json") == PRINTS


def test_an_older_file_is_a_sentence_and_not_a_traceback(tmp_path):
    save_fingerprints(tmp_path / "a.json", PRINTS)
    older = (tmp_path / "a.json").read_text().replace('"imprints"', '"digests"')
    assert json.loads(older)
    (tmp_path / "a.json").write_text(older)
    with pytest.raises(CourseError, match="older form"):
        load_fingerprints(tmp_path / "a.json")
    with pytest.raises(CourseError, match="is missing"):
        load_fingerprints(tmp_path / "b.json")
