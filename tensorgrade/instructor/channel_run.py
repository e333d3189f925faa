"""Grade one submission inside a course system's container, and report in that system's format.

Run `python -m tensorgrade.instructor.channel_run SYSTEM CHAPTER FOLDER` in the folder that holds
the graders. If grading fails, no result is written, so that the system shows the failure.
"""

import json
import os
import sys
import time
from contextlib import closing
from html import escape
from pathlib import Path

from ..attempts.setup import Setup
from ..attempts.verdict import Status
from ..course import Course, CourseError
from ..folders import write_file
from ..lateness import BEST, Lateness, in_zone, is_released, read_time, written
from ..sources.candidates import candidates_in, files_below, only_code
from ..sources.submitted_files import SubmittedFiles, submission_of
from .channels import DATES
from .grader import Grader
from .rules import total

LEARNER = "learner"
HIDDEN_RUN = "hidden_tests"  # marks, in a record, that the hidden tests graded the submission
OVER_LIMIT = (
    "The hidden tests grade {} submissions a day, and today's are used up. This file went through "
    "the public checks only. Your score is still that of your last graded file, {} points. To have "
    "this file graded, submit it again tomorrow."
)


def submission_in(folder: Path, chapter: str, course: Course) -> SubmittedFiles:
    """Return the submission in a folder: the chapter's file, or else the only code file."""
    files = list(files_below(folder))
    found = candidates_in(files, [chapter], course.limits)
    found.candidates = found.candidates or only_code(files, chapter)
    read, _ = submission_of(LEARNER, chapter, found, course.limits)
    why = f"There is no file {chapter}.py."
    return read or SubmittedFiles(LEARNER, chapter, reason=why, missing=True)


def rows_on(folder: Path, chapter: str, tests: Path) -> list[dict]:
    """Return the rows of the submission in a folder. Raises CourseError if it cannot be graded.

    tests: the folder of the hidden graders, or of the public checks.
    """
    with closing(Grader(Setup(tests, private=(folder,)))) as grader:
        grader.start()
        submitted_files = submission_in(folder, chapter, grader.maker.course)
        return [verdict.row() for verdict in grader.grade(submitted_files)]


def close_to_others(*folders: Path) -> None:
    """As root, deny other users access, because learner code may run as `nobody` here."""
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    for folder in filter(Path.is_dir, folders if root else ()):
        folder.chmod(0o700)


def gradescope(chapter: str, base: Path) -> None:
    """Grade `submission/` with `submission_metadata.json`, and write `results/results.json`."""
    started, graders = time.monotonic(), Path("graders").resolve()
    close_to_others(graders, base / "submission", base / "results")
    told = read_json(base / "submission_metadata.json")
    lateness = Lateness(**read_json(graders.parent / DATES))
    is_over = is_over_limit(told, lateness)
    tests = graders.parent / "exercises" if is_over else graders
    rows = rows_on(base / "submission", chapter, tests)
    results = (public_results if is_over else results_of)(rows, told, lateness)
    results["execution_time"] = round(time.monotonic() - started, 3)
    write_json(base / "results" / "results.json", results)


def results_of(rows: list[dict], told: dict, lateness: Lateness) -> dict:
    """Return Gradescope's record, with a test for each exercise.

    told: the content of `submission_metadata.json`. Its due date counts if the course has none. Its
    extension for this learner always counts.
    """
    due = extended(lateness.deadlines.get(rows[0]["chapter"]), told)
    at = written(read_time(told["created_at"])) if told.get("created_at") else None
    dated = [lateness.applied(row, at, due) for row in rows]
    score, lost = total(dated), total(dated, "penalty")
    output = []
    if lost:
        output = [f"{lost:g} points less: {dated[0]['late_seconds'] / 3600:.1f} hours late."]
    before = told.get("previous_submissions") or []
    best = max((float(one.get("score") or 0) for one in before), default=0)
    if lateness.attempts == BEST and best > score:
        output.append(f"Your best attempt so far counts: {best:g} points.")
        score = best
    return record(score, " ".join(output), dated, lateness) | {"extra_data": {HIDDEN_RUN: True}}


def public_results(rows: list[dict], told: dict, lateness: Lateness) -> dict:
    """Return Gradescope's record for a submission beyond the limit: the public checks' messages.

    The score is that of the latest file that the hidden tests graded.
    """
    score = float(hidden_runs(told)[-1].get("score") or 0)
    output = OVER_LIMIT.format(lateness.hidden_runs_a_day, f"{score:g}")
    return record(score, output, rows, lateness)


def record(score: float, output: str, rows: list[dict], lateness: Lateness) -> dict:
    """Return Gradescope's record, in which text of a learner is escaped.

    Before feedback is released, learners see no test. A hidden one would hide the total too.
    """
    released = is_released(lateness)
    tests = []
    for row in rows:
        names = escape(", ".join(row["mistakes"]))
        recognized = f"<p>Recognized: {names}</p>" if names else ""
        test = {
            "name": row["exercise"],
            "score": row["points"],
            "max_score": row["max_points"],
            "status": "passed" if row["status"] == Status.PASSED else "failed",
            "output": f"<p>{escape(row['message'])}</p>{recognized}",
            "output_format": "html",
            "visibility": "visible" if released else "after_published",
        }
        tests.append(test)
    output = output if released else received(rows, lateness)
    seen = {"visibility": "visible", "stdout_visibility": "hidden"}
    return {"score": score, "output": output, "tests": tests} | seen


def hidden_runs(told: dict) -> list[dict]:
    """Return the earlier submissions that were graded with the hidden tests, the latest last."""
    ran = [
        one
        for one in told.get("previous_submissions") or []
        if ((one.get("results") or {}).get("extra_data") or {}).get(HIDDEN_RUN)
    ]
    return sorted(ran, key=lambda one: read_time(one["submission_time"]))


def is_over_limit(told: dict, lateness: Lateness) -> bool:
    """Return True if the hidden tests have run as often today as the course allows.

    A day begins at midnight in the course's time zone.
    """
    if not lateness.hidden_runs_a_day or not told.get("created_at"):
        return False
    times = [told["created_at"], *(one["submission_time"] for one in hidden_runs(told))]
    today, *days = [in_zone(time, lateness.zone or "UTC")[:10] for time in times]
    return days.count(today) >= lateness.hidden_runs_a_day


def extended(due: str | None, told: dict) -> str | None:
    """Return the due date of a submission: the course's or Gradescope's, later if extended."""
    of_class = (told.get("assignment") or {}).get("due_date")
    own = [(user.get("assignment") or {}).get("due_date") for user in told.get("users") or []]
    later = [d for d in own if d and of_class and read_time(d) > read_time(of_class)]
    return max([*later, *filter(None, [due or of_class])], key=read_time, default=None)


def received(rows: list[dict], lateness: Lateness) -> str:
    """Return the text for a learner before feedback is released."""
    state = "Your file can be loaded."
    if all(row["status"] == Status.ERROR for row in rows):
        state = f"Your file could not be loaded: {rows[0]['message']}"
    follow = f"Points and feedback will be available from {lateness.feedback_from}."
    return f"Your submission was received. {state} {follow}"


def prairielearn(chapter: str, base: Path) -> None:
    """Grade `student/`, and write `results/results.json`: a score from 0 to 1, and tests."""
    graders = Path("graders").resolve()
    close_to_others(graders, *(base / name for name in ("student", "data", "results")))
    rows = rows_on(base / "student", chapter, graders)
    points, most = total(rows), total(rows, "max_points")
    results: dict = {"gradable": True, "score": round(points / most, 6) if most else 0.0}
    lateness = Lateness(**read_json(graders.parent / DATES))
    if is_released(lateness):
        kept = ("points", "max_points", "message")
        results["tests"] = [
            {name: row[name] for name in kept}
            | {"name": row["exercise"], "output": ", ".join(row["mistakes"])}
            for row in rows
        ]
    else:
        results |= {"tests": [], "message": received(rows, lateness)}
    write_json(base / "results" / "results.json", results)


def read_json(path: Path) -> dict:
    """Return the object in a JSON file; {} if the file is missing."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def write_json(path: Path, record: dict) -> None:
    """Write a record completely or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, (json.dumps(record, indent=1) + "\n").encode())


def main(system: str, chapter: str, base: str) -> None:
    """Grade a submission. If that is impossible, print one sentence and exit with code 2."""
    try:
        {"gradescope": gradescope, "prairielearn": prairielearn}[system](chapter, Path(base))
    except CourseError as error:
        print(f"tensorgrade: {error}", file=sys.stderr)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main(*sys.argv[1:])
