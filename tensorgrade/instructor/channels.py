"""`tensorgrade channel`: pack the files with which a course system grades a chapter on its own.

Gradescope and PrairieLearn hide these files from learners, so they get the hidden graders (without
the course's seed).
"""

import json
import uuid
import zipfile
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ..built import refuse_unbuilt
from ..course import Chapter, Course, CourseError
from ..exchange.stored import refuse_missing, stored_path, without_part
from ..exchange.stored_key import SUFFIX
from ..folders import ENGINE, engine_files
from ..project import Project
from .dependencies import graders_files, parcel_of

STAMP = (2020, 1, 1, 0, 0, 0)  # so that equal packages have equal bytes
RUN = 0o755 << 16
NEEDED = "torch msgspec numpy pytest pytest-timeout safetensors rich typer".split()
DATES = "graders/lateness.json"  # deadlines and penalties, which `course.json` does not hold
Files = dict[str, bytes]

SETUP = """#!/usr/bin/env bash
# Ubuntu 22.04's own Python is too old for this engine.
set -e
apt-get update
apt-get install -y software-properties-common
add-apt-repository -y ppa:deadsnakes/ppa
apt-get install -y python3.11 python3.11-venv
python3.11 -m venv /autograder/venv
/autograder/venv/bin/pip install -r /autograder/source/requirements.txt
"""
GRADESCOPE = """#!/usr/bin/env bash
# One submission: /autograder/submission in, /autograder/results/results.json out.
BASE="${AUTOGRADER:-/autograder}"
PYTHON="$BASE/venv/bin/python"
[ -x "$PYTHON" ] || PYTHON=python3
cd "$BASE/source" || exit 1
export PYTHONPATH="$BASE/source"
exec "$PYTHON" -m tensorgrade.instructor.channel_run gradescope {chapter} "$BASE"
"""
PRAIRIELEARN = """#!/usr/bin/env bash
# One submission: /grade/student in, /grade/results/results.json out.
BASE="${GRADE:-/grade}"
cd "$BASE/tests" || exit 1
export PYTHONPATH="$BASE/tests"
exec python3 -m tensorgrade.instructor.channel_run prairielearn {chapter} "$BASE"
"""
DOCKERFILE = """# The image that info.json names: docker build -t NAME .
FROM python:3.11-slim
COPY requirements.txt /requirements.txt
RUN pip install --no-cache-dir -r /requirements.txt
"""
QUESTION = """<pl-question-panel>
<p>{title}: submit your file.</p>
<pl-file-upload file-names="{chapter}.py"></pl-file-upload>
</pl-question-panel>
<pl-submission-panel>
<pl-external-grader-results></pl-external-grader-results>
<pl-file-preview></pl-file-preview>
</pl-submission-panel>
"""


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


def gradescope(project: Project, chapter: Chapter) -> Files:
    """Return `autograder.zip`: `setup.sh`, `run_autograder` and the hidden graders.

    If the course limits the graded submissions a day, the public checks are included: later
    submissions only run these.
    """
    own = {
        "setup.sh": SETUP.encode(),
        "run_autograder": for_chapter(GRADESCOPE, chapter),
        "requirements.txt": requirements(project.course),
    }
    checks = public(project, chapter) if project.course.lateness.hidden_runs_a_day else {}
    return own | checks | hidden(project, chapter) | engine()


def prairielearn(project: Project, chapter: Chapter) -> Files:
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
    tests["run.sh"] = for_chapter(PRAIRIELEARN, chapter)
    return {
        f"{folder}/info.json": json.dumps(info, indent=1).encode() + b"\n",
        f"{folder}/question.html": for_chapter(QUESTION, chapter),
        "image/Dockerfile": DOCKERFILE.encode(),
        "image/requirements.txt": requirements(project.course),
        **{f"{folder}/tests/{path}": content for path, content in tests.items()},
    }


def public(project: Project, chapter: Chapter) -> Files:
    """Return the files of the public checks."""
    return {
        str(path.relative_to(project.root)): path.read_bytes()
        for path in sorted(project.exercises.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts and path.name[0] != "."
    }


PARCELS: dict[str, Callable[[Project, Chapter], Files]] = {
    "gradescope": gradescope,
    "prairielearn": prairielearn,
}


def for_chapter(text: str, chapter: Chapter) -> bytes:
    """Return a file's text with the chapter's name and title filled in."""
    for name, value in (("chapter", chapter.name), ("title", chapter.title)):
        text = text.replace(f"{{{name}}}", value)
    return text.encode()


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
