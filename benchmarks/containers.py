"""Measure grading in a course system's container: memory, processor time and isolation level.

    python benchmarks/containers.py [CHAPTER …]

The script unpacks the archive of `tensorgrade channel gradescope` as Gradescope does. The archive's
own `run_autograder` grades in a container (tests/container.py): root without namespaces and mounts,
with and without Landlock. The container has half a core, and is killed above 700 MB. Memory is the
peak of the proportional share (PSS) of all processes of the container together, sampled many times
a second. A chapter's weights are stored next to its code. Three files are submitted:

- right: a right answer
- wrong: an unnamed mistake in every exercise, so that the grader also searches for a repair
- endless: the first function never finishes

The script fails above 700 MB or 60 seconds of processor time. It needs root and bubblewrap.
"""

import json
import runpy
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tensorgrade.author.proofs.sample_class import TROUBLE  # noqa: E402
from tensorgrade.instructor.channels import write_channel  # noqa: E402
from tensorgrade.project import Project, find_project  # noqa: E402
from tests.container import measured  # noqa: E402

MOST_MEGABYTES, MOST_SECONDS, CORE = 700, 60, 0.5


def main(chapters: list[str]) -> None:
    """Print a line for each chapter and file; exit with 1 if one takes too much processor time."""
    project, worst = find_project(ROOT), (0.0, 0.0)
    print(f"{'chapter':26}{'file':9}{'level':10}{'points':>10}{'MB':>7}{'s CPU':>7}{'s':>7}")
    for chapter in chapters or [c.name for c in project.course.chapters]:
        with tempfile.TemporaryDirectory() as folder:
            base = unpacked(project, chapter, Path(folder))
            for kind, text in files_of(project, chapter).items():
                (base / "submission" / f"{chapter}.py").write_text(text, encoding="utf-8")
                for landlock in (True, False):
                    megabytes, processor, seconds = graded(base, landlock)
                    worst = max(worst[0], megabytes), max(worst[1], processor)
                    told = json.loads((base / "results" / "results.json").read_text())
                    points = sum(test["score"] for test in told["tests"])
                    most = sum(test["max_score"] for test in told["tests"])
                    print(
                        f"{chapter:26}{kind:9}{'landlock' if landlock else 'uid':10}"
                        f"{f'{points:g}/{most:g}':>10}{megabytes:7.0f}{processor:7.1f}{seconds:7.1f}",
                        flush=True,
                    )
    print(f"at most {worst[0]:.0f} MB and {worst[1]:.1f} s of one core")
    sys.exit(worst[1] > MOST_SECONDS)


def files_of(project: Project, chapter: str) -> dict[str, str]:
    """Return the submitted files of a chapter, by kind."""
    right = wrong = project.solution(chapter).read_text(encoding="utf-8")
    edits = ROOT / "tests" / "answers" / "wrong_edits" / f"{chapter}.py"
    answers = runpy.run_path(str(edits))["WRONG"]
    for ways in answers.values():
        for old, new in next(iter(ways.values())):
            wrong = wrong.replace(old, new, 1)
    return {"right": right, "wrong": wrong, "endless": TROUBLE["endless loop"](right)}


def unpacked(project: Project, chapter: str, folder: Path) -> Path:
    """Return `/autograder` as Gradescope sets it up, readable by all users."""
    base = folder / "autograder"
    (base / "submission").mkdir(parents=True)
    write_channel("gradescope", project, chapter, folder / "autograder.zip", "uid")
    with zipfile.ZipFile(folder / "autograder.zip") as archive:
        archive.extractall(base / "source")
    for path in (folder, base):
        path.chmod(0o755)
    return base


def graded(base: Path, landlock: bool) -> tuple[float, float, float]:
    """Run the archive's own script. Return its peak megabytes, processor seconds and seconds."""
    script, begun = base / "source" / "run_autograder", time.monotonic()
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    told = {"PATH": path, "AUTOGRADER": str(base)}
    status, *used = measured(
        ["/bin/bash", str(script)], base.parent, landlock, MOST_MEGABYTES, CORE, **told
    )
    assert status == 0, "run_autograder failed"
    return *used, time.monotonic() - begun


if __name__ == "__main__":
    main(sys.argv[1:])
