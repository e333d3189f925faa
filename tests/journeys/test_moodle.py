"""An instructor, from Moodle's downloads to the worksheet that Moodle takes back."""

import csv
import zipfile
from pathlib import Path

import pytest

from ..instructor import downloads
from ..support import ROOT, cli, grade, rows_of

pytestmark = pytest.mark.slow
CHAPTER, SCORES = "ch1_simplified_attention", "attention_scores"
SOLUTION = (ROOT / "solutions" / f"{CHAPTER}.py").read_text(encoding="utf-8")
WRONG = SOLUTION.replace("return inputs @ query", "return inputs @ inputs.T", 1)
UNTOUCHED = (ROOT / "exercises" / f"{CHAPTER}.py").read_text(encoding="utf-8")
CLASS = {  # what each learner uploaded: the file's name and its text
    "ada": (f"{CHAPTER}.py", SOLUTION),
    "bao": (f"{CHAPTER} (1).py", WRONG),
    "carla": ("homework.py", UNTOUCHED),
    "dan": (None, ""),
}
SAFE = ("--isolation", "none", "--jobs", "1")  # these submissions are ours


def test_an_instructor_with_moodle(tmp_path):
    """Preview and collect the download; grade it with the class list.

    Read the report, explain one verdict, and have a reply to the learner written.
    Override points and excuse a learner, and grade again.
    Export the worksheet and the feedback pages, and grade once more: nothing changes.
    """
    files = {who: {name: text.encode()} if name else {} for who, (name, text) in CLASS.items()}
    when = {who: "Monday, 21 September 2026, 1:05 AM" for who, own in files.items() if own}
    download = tmp_path / "moodle.zip"
    worksheet = downloads.moodle(download, files, when)
    submitted, out = tmp_path / "submitted", tmp_path / "out"
    options = ("--from", "moodle", "--roster", worksheet, "--zone", "Europe/Berlin")
    options += ("--chapter", CHAPTER)
    preview = cli("collect", download, submitted, *options, "--preview")
    assert preview.returncode == 0 and "bao@uni.edu" in preview.stdout
    assert not submitted.exists()
    assert cli("collect", download, submitted, *options).returncode == 0
    collected = {path.parts[-3]: path.read_text("utf-8") for path in submitted.glob("*/*/ch1*.py")}
    assert collected == {f"{who}@uni.edu": text for who, (name, text) in CLASS.items() if name}

    first = grade(submitted, out, "--roster", worksheet, *SAFE)
    assert first.status == 0
    assert points(out) == {"ada": 39, "bao": 36.5, "carla": 0, "dan": 0}
    rows = {who: first.rows[f"{who}@uni.edu", CHAPTER, SCORES] for who in CLASS}
    assert rows["bao"]["mistakes"] == ["all_pairs"] and rows["bao"]["status"] == "partial"
    assert rows["ada"]["status"] == "passed" and rows["dan"]["status"] == "not_attempted"
    assert rows["bao"]["submitted"] == "2026-09-20 23:05:00 UTC"
    assert cli("report", out).returncode == 0
    assert "all_pairs" in (out / "report.html").read_text(encoding="utf-8")
    asked = ("explain", "bao@uni.edu", SCORES, "--submitted", submitted, "--isolation", "none")
    explained = cli(*asked)
    assert explained.returncode == 0
    assert "all_pairs" in explained.stdout and "inputs @ inputs.T" in explained.stdout
    reply = cli(*asked, "--reply")
    assert reply.returncode == 0 and "pairs" in reply.stdout

    (out / "overrides.csv").write_text(
        "student,exercise,points,reason\n"
        f"bao@uni.edu,{SCORES},4,The idea is right.\n"
        f"dan@uni.edu,{CHAPTER},excused,ill\n",
        encoding="utf-8",
    )
    again = grade(submitted, out, "--roster", worksheet, *SAFE)
    assert again.status == 0 and points(out)["bao"] == 38
    assert "The idea is right." in cli(*asked, "--out", out).stdout

    back = ("--format", "moodle", "--roster", worksheet)
    assert cli("export", out, *back).returncode == 0
    cells = table(out / "export" / f"moodle-{CHAPTER}.csv")
    before = table(worksheet)
    assert list(cells[0]) == downloads.MOODLE_WORKSHEET.split(",")
    written = ("Grade", "Feedback comments")
    for old, new in zip(before, cells, strict=True):
        assert {**old, **{name: new[name] for name in written}} == new
    grades = [float(cell["Grade"] or -1) for cell in cells]
    assert grades == pytest.approx([100, 100 * 38 / 39, 0, -1], abs=0.01)
    assert "The idea is right." in cells[1]["Feedback comments"]
    assert cli("export", out, "--format", "feedback", *back[2:]).returncode == 0
    with zipfile.ZipFile(out / "export" / f"moodle-feedback-{CHAPTER}.zip") as pages:
        (page,) = [name for name in pages.namelist() if "12346" in name]
        assert "all_pairs" in pages.read(page).decode()

    kept = (out / "results.jsonl").read_bytes()
    assert grade(submitted, out, "--roster", worksheet, *SAFE).status == 0
    assert (out / "results.jsonl").read_bytes() == kept


def points(out: Path) -> dict[str, float]:
    """Return each learner's points."""
    found = dict.fromkeys(CLASS, 0.0)
    for (student, _, _), row in rows_of(out).items():
        found[student.partition("@")[0]] += row["points"]
    return found


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))
