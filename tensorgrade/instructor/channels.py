"""`tensorgrade channel`: pack the files with which a course system grades a chapter on its own.

Gradescope and PrairieLearn hide these files from learners, so they get the hidden graders (without
the course's seed). A package's script runs `python -m tensorgrade.instructor.channels SYSTEM
CHAPTER FOLDER` in the folder that holds the graders: it grades one submission, and reports in the
system's format. If grading fails, no result is written, so that the system shows the failure.
"""

import json
import os
import sys
import time
import uuid
import zipfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from html import escape
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ..attempts.setup import Setup
from ..attempts.verdict import Status
from ..built import refuse_unbuilt
from ..course import Chapter, Course, CourseError
from ..exchange.stored import refuse_missing, stored_path, without_part
from ..exchange.stored_key import SUFFIX
from ..folders import ENGINE, engine_files, files_below, write_file
from ..lateness import BEST, Lateness, in_zone, is_released, read_time, written
from ..project import Project
from ..sources.candidates import candidates_in
from ..sources.candidates import files_below as learners_files
from ..sources.submitted_files import SubmittedFiles, submission_of
from .grader import Grader, graders_files, parcel_of
from .rules import total

STAMP = (2020, 1, 1, 0, 0, 0)  # so that equal packages have equal bytes
RUN = 0o755 << 16
NEEDED = "torch msgspec numpy pytest pytest-timeout safetensors rich typer".split()
DATES = "graders/lateness.json"  # deadlines and penalties, which `course.json` does not hold
LEARNER = "learner"
HIDDEN_RUN = "hidden_tests"  # marks, in a record, that the hidden tests graded the submission
OVER_LIMIT = (
    "The hidden tests grade {} submissions a day, and today's are used up. This file went through "
    "the public checks only. Your score is still that of your last graded file, {} points. To have "
    "this file graded, submit it again tomorrow."
)
Files = dict[str, bytes]


def write_channel(system: str, project: Project, chapter: str, out: Path) -> int:
    """Write a system's package as a zip, and return its number of files. Raises CourseError."""
    if system not in PARCELS:
        raise CourseError(f"the course system must be one of {', '.join(PARCELS)}, not {system}")
    packed = project.course.chapter(chapter)
    refuse_unbuilt(project.graders, project.course, [packed.name])
    for folder in (project.graders, project.exercises):
        for exercise in packed.exercises:
            refuse_missing(stored_path(folder, packed.name, exercise.name))
    files = PARCELS[system](project, packed)
    out.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(files.items()):
            info = zipfile.ZipInfo(name, STAMP)
            info.external_attr = RUN if content.startswith(b"#!") else 0o644 << 16
            archive.writestr(info, content, zipfile.ZIP_DEFLATED)
    return len(files)


def files_for_gradescope(project: Project, chapter: Chapter) -> Files:
    """Return `autograder.zip`: `setup.sh`, `run_autograder` and the hidden graders.

    If the course limits the graded submissions a day, the public checks are included: later
    submissions only run these.
    """
    own = {
        "setup.sh": file_for("setup.sh", chapter),
        "run_autograder": file_for("gradescope.sh", chapter),
        "requirements.txt": requirements(project.course),
    }
    if project.course.lateness.hidden_runs_a_day:
        own |= {
            str(path.relative_to(project.root)): path.read_bytes()
            for path in files_below(project.exercises)
        }
    return own | hidden(project, chapter) | engine()


def files_for_prairielearn(project: Project, chapter: Chapter) -> Files:
    """Return a question's folder (`info.json`, `question.html`, `tests/`) and an image to build."""
    folder = f"questions/{chapter.name}"
    name = f"{project.course.name}-grader"
    info = {
        "uuid": str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{project.course.name}/{chapter.name}")),
        "title": chapter.title,
        "topic": project.course.title,
        "type": "v3",
        "gradingMethod": "External",
        "externalGradingOptions": {
            "enabled": True,
            "image": name,
            "entrypoint": "/grade/tests/run.sh",
            "timeout": 120,
        },
    }
    tests = hidden(project, chapter) | engine()
    tests["run.sh"] = file_for("prairielearn.sh", chapter)
    return {
        f"{folder}/info.json": json.dumps(info, indent=1).encode() + b"\n",
        f"{folder}/question.html": file_for("question.html", chapter),
        "image/Dockerfile": file_for("Dockerfile", chapter),
        "image/requirements.txt": requirements(project.course),
        **{f"{folder}/tests/{path}": content for path, content in tests.items()},
    }


PARCELS: dict[str, Callable[[Project, Chapter], Files]] = {
    "gradescope": files_for_gradescope,
    "prairielearn": files_for_prairielearn,
}


def file_for(name: str, chapter: Chapter) -> bytes:
    """Return a file of `packages/` with the chapter's name and title filled in."""
    text = Path(__file__).with_name("packages").joinpath(name).read_text("utf-8")
    return text.replace("{chapter}", chapter.name).replace("{title}", chapter.title).encode()


def hidden(project: Project, chapter: Chapter) -> Files:
    """Return the graders of one chapter, without its solution, and the course without its seed."""
    course = replace(project.course, chapters=(chapter,))
    stored = {
        name: without_part(path, "sources")
        for name, path in graders_files(project.graders, chapter.name).items()
        if path.suffix == SUFFIX
    }
    dates = json.dumps(vars(project.course.lateness), indent=1).encode()
    return parcel_of(project.graders, course, chapter.name) | stored | {DATES: dates}


def engine() -> Files:
    """Return the files of the engine, which the scripts run from their folder."""
    places = [path.name for path in ENGINE.iterdir() if path.name not in ("author", "learner")]
    return {f"tensorgrade/{n}": path.read_bytes() for n, path in engine_files(*places).items()}


def requirements(course: Course) -> bytes:
    """Return the packages for grading a course, pinned to the versions that are installed here."""
    lines = []
    for name in (*NEEDED, *course.packages):
        try:
            lines.append(f"{name}=={version(name).partition('+')[0]}")
        except PackageNotFoundError:
            raise CourseError(f"{name} is not installed here; grading needs it") from None
    return ("\n".join(lines) + "\n").encode()


# --- in a course system's container ---------------------------------------------------------------


def submission_in(folder: Path, chapter: str, course: Course) -> SubmittedFiles:
    """Return the submission in a folder: the chapter's file, or else the only code file."""
    found = candidates_in(learners_files(folder), [chapter], course.limits, chapter)
    read, _ = submission_of(LEARNER, chapter, found, course.limits)
    why = f"There is no file {chapter}.py."
    return read or SubmittedFiles(LEARNER, chapter, reason=why, missing=True)


def rows_on(folder: Path, chapter: str, tests: Path) -> list[dict]:
    """Return the rows of the submission in a folder. Raises CourseError if it cannot be graded.

    tests: the folder of the hidden graders, or of the public checks.
    """
    with closing(Grader(Setup(tests, private=(folder,)))) as grader:
        submitted_files = submission_in(folder, chapter, grader.maker.course)
        return [verdict.row() for verdict in grader.grade(submitted_files)]


def gradescope(chapter: str, base: Path, graders: Path, lateness: Lateness) -> dict:
    """Grade `submission/` with `submission_metadata.json`, and return Gradescope's record."""
    started, told = time.monotonic(), read_json(base / "submission_metadata.json")
    is_over = is_over_limit(told, lateness)
    tests = graders.parent / "exercises" if is_over else graders
    rows = rows_on(base / "submission", chapter, tests)
    seconds = round(time.monotonic() - started, 3)
    return results_of(rows, told, lateness, is_over) | {"execution_time": seconds}


def results_of(rows: list[dict], told: dict, lateness: Lateness, is_over: bool = False) -> dict:
    """Return Gradescope's record, with a test for each exercise. Text of a learner is escaped.

    told: the content of `submission_metadata.json`. Its due date counts if the course has none. Its
    extension for this learner always counts. is_over: only the public checks ran, so the score is
    that of the latest file that the hidden tests graded. Before feedback is released, learners see
    no test. A hidden one would hide the total too.
    """
    if is_over:
        score = float(hidden_runs(told)[-1].get("score") or 0)
        output = OVER_LIMIT.format(lateness.hidden_runs_a_day, f"{score:g}")
    else:
        rows, score, output = dated(rows, told, lateness)
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
    return {
        "score": score,
        "output": output if released else received(rows, lateness),
        "tests": tests,
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "extra_data": {HIDDEN_RUN: not is_over},
    }


def dated(rows: list[dict], told: dict, lateness: Lateness) -> tuple[list[dict], float, str]:
    """Return rows with late penalties, the score that counts, and what to say about it."""
    due = extended(lateness.deadlines.get(rows[0]["chapter"]), told)
    at = written(read_time(told["created_at"])) if told.get("created_at") else None
    rows = [lateness.applied(row, at, due) for row in rows]
    score, lost, output = total(rows), total(rows, "penalty"), ""
    if lost:
        output = f"{lost:g} points less: {rows[0]['late_seconds'] / 3600:.1f} hours late. "
    before = told.get("previous_submissions") or []
    best = max((float(one.get("score") or 0) for one in before), default=0)
    if lateness.attempts == BEST and best > score:
        return rows, best, f"{output}Your best attempt so far counts: {best:g} points."
    return rows, score, output.strip()


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


def prairielearn(chapter: str, base: Path, graders: Path, lateness: Lateness) -> dict:
    """Grade `student/`, and return PrairieLearn's record: a score from 0 to 1, and tests."""
    rows = rows_on(base / "student", chapter, graders)
    points, most = total(rows), total(rows, "max_points")
    results: dict = {"gradable": True, "score": round(points / most, 6) if most else 0.0}
    if not is_released(lateness):
        return results | {"tests": [], "message": received(rows, lateness)}
    tests = [
        {name: row[name] for name in ("points", "max_points", "message")}
        | {"name": row["exercise"], "output": ", ".join(row["mistakes"])}
        for row in rows
    ]
    return results | {"tests": tests}


def read_json(path: Path) -> dict:
    """Return the object in a JSON file; {} if the file is missing."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def main(system: str, chapter: str, folder: str) -> None:
    """Grade a submission. If that is impossible, print one sentence and exit with code 2."""
    base, graders = Path(folder), Path("graders").resolve()
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # learner code may run as `nobody` here
        own = (base / name for name in ("submission", "student", "data", "results"))
        for private in filter(Path.is_dir, (graders, *own)):
            private.chmod(0o700)
    grade = {"gradescope": gradescope, "prairielearn": prairielearn}[system]
    try:
        results = grade(chapter, base, graders, Lateness(**read_json(graders.parent / DATES)))
    except CourseError as error:
        print(f"tensorgrade: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    (base / "results").mkdir(parents=True, exist_ok=True)
    write_file(base / "results" / "results.json", (json.dumps(results, indent=1) + "\n").encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
