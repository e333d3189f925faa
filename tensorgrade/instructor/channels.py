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
from ..folders import ENGINE, engine_files, files_below
from ..project import Project
from .dependencies import graders_files, parcel_of

STAMP = (2020, 1, 1, 0, 0, 0)  # so that equal packages have equal bytes
RUN = 0o755 << 16
NEEDED = "torch msgspec numpy pytest pytest-timeout safetensors rich typer".split()
DATES = "graders/lateness.json"  # deadlines and penalties, which `course.json` does not hold
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


def gradescope(project: Project, chapter: Chapter) -> Files:
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
    tests["run.sh"] = file_for("prairielearn.sh", chapter)
    return {
        f"{folder}/info.json": json.dumps(info, indent=1).encode() + b"\n",
        f"{folder}/question.html": file_for("question.html", chapter),
        "image/Dockerfile": file_for("Dockerfile", chapter),
        "image/requirements.txt": requirements(project.course),
        **{f"{folder}/tests/{path}": content for path, content in tests.items()},
    }


PARCELS: dict[str, Callable[[Project, Chapter], Files]] = {
    "gradescope": gradescope,
    "prairielearn": prairielearn,
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
