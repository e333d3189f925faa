"""What grading a chapter takes in a course system's container: memory, processor time, the rung.

    python benchmarks/containers.py [CHAPTER …]

The parcel of `tensorgrade channel gradescope` is unpacked as Gradescope does, and its own
`run_autograder` grades a right and a wrong file in a container (tests/container.py: root without
namespaces and mounts, with and without Landlock). Memory is the proportional share (PSS) of all
processes of the container together at its largest; it is looked at many times a second. Fails
above 700 MB or 60 seconds of processor time. Needs root and bubblewrap.
"""

import json
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tensorgrade.instructor.channels import write_channel  # noqa: E402
from tensorgrade.project import Project, find_project  # noqa: E402
from tests.container import measured  # noqa: E402

MOST_MEGABYTES, MOST_SECONDS = 700, 60


def main(chapters: list[str]) -> None:
    """A line for each chapter and file; exit 1 where one takes too much."""
    project, worst = find_project(ROOT), (0.0, 0.0)
    print(f"{'chapter':28}{'file':8}{'rung':10}{'points':>10}{'MB':>7}{'s CPU':>7}{'s':>7}")
    for chapter in chapters or [c.name for c in project.course.chapters]:
        right = project.solution(chapter).read_text(encoding="utf-8")
        files = {"right": right, "wrong": right.replace("dim=-1", "dim=0").replace("** 0.5", "")}
        with tempfile.TemporaryDirectory() as folder:
            base = unpacked(project, chapter, Path(folder))
            for kind, text in files.items():
                (base / "submission" / f"{chapter}.py").write_text(text, encoding="utf-8")
                for landlock in (True, False):
                    megabytes, processor, seconds = graded(base, landlock)
                    worst = max(worst[0], megabytes), max(worst[1], processor)
                    told = json.loads((base / "results" / "results.json").read_text())
                    points = sum(test["score"] for test in told["tests"])
                    most = sum(test["max_score"] for test in told["tests"])
                    print(
                        f"{chapter:28}{kind:8}{'landlock' if landlock else 'uid':10}"
                        f"{f'{points:g}/{most:g}':>10}{megabytes:7.0f}{processor:7.1f}{seconds:7.1f}",
                        flush=True,
                    )
    print(f"at most {worst[0]:.0f} MB and {worst[1]:.1f} s of one core")
    sys.exit(worst[0] > MOST_MEGABYTES or worst[1] > MOST_SECONDS)


def unpacked(project: Project, chapter: str, folder: Path) -> Path:
    """`/autograder` as Gradescope makes it, open to everybody as it is there."""
    base = folder / "autograder"
    (base / "submission").mkdir(parents=True)
    write_channel("gradescope", project, chapter, folder / "autograder.zip", "uid")
    with zipfile.ZipFile(folder / "autograder.zip") as archive:
        archive.extractall(base / "source")
    for path in (folder, base):
        path.chmod(0o755)
    return base


def graded(base: Path, landlock: bool) -> tuple[float, float, float]:
    """Megabytes at most, processor seconds and seconds of one run of the parcel's own script."""
    script, begun = base / "source" / "run_autograder", time.monotonic()
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    status, *used = measured(
        ["/bin/bash", str(script)], base.parent, landlock, PATH=path, AUTOGRADER=str(base)
    )
    assert status == 0, "run_autograder failed"
    return *used, time.monotonic() - begun


if __name__ == "__main__":
    main(sys.argv[1:])
