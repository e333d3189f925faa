"""The learner's kit: exercises are put back, work is submitted, outcomes are recorded."""

import json
import shutil
import zipfile

import pytest

from ..author.small_course import build, edit
from ..kits import FIRST, solved, unpacked, write
from ..support import ROOT, cli, run_pytest

CHAPTER = FIRST[0]
TO_DO = "raise NotImplementedError"
pytestmark = pytest.mark.slow


def said_by(own, *words: str, inside: str = ".", **environment: str) -> str:
    """Return what a command prints, in one line."""
    done = cli(*words, cwd=own / inside, **environment)
    said = " ".join((done.stdout + done.stderr).split())
    assert "Traceback" not in said, said
    return said


def test_reset_puts_back_an_exercise_or_a_chapter_and_keeps_a_copy(own):
    path = own / "exercises" / f"{CHAPTER}.py"
    before = path.read_text(encoding="utf-8")
    write(own, CHAPTER, TO_DO, "return (inputs @ query")  # not valid Python, either
    write(own, CHAPTER, TO_DO, "return x.exp()")
    mine = path.read_text(encoding="utf-8")
    copies = [said_by(own, "reset", "attention_scores").split("kept: ")[1] for _ in range(2)]
    assert copies[0] != copies[1] and (own / copies[0]).read_text(encoding="utf-8") == mine
    now = path.read_text(encoding="utf-8")
    assert "return x.exp()" in now and "return (inputs @ query" not in now
    write(own, CHAPTER, "def softmax(", "def my_softmax(")
    assert f"tensorgrade reset {CHAPTER}" in said_by(own, "reset", "softmax")
    said_by(own, "reset", "ch1", inside="exercises")
    assert path.read_text(encoding="utf-8") == before
    path.unlink()
    assert "softmax is restored." in said_by(own, "reset", "softmax")
    assert path.read_text(encoding="utf-8") == before


def test_the_self_check_records_outcomes_and_mistakes_once(own, tmp_path):
    write(own, CHAPTER, TO_DO, "return inputs @ inputs.T")
    history = own / ".tensorgrade" / "history.jsonl"
    for _ in range(2):
        run_pytest("exercises", "-k", "attention_scores", cwd=own)
    (line,) = history.read_text(encoding="utf-8").splitlines()
    entry = json.loads(line)
    assert (entry["exercise"], entry["state"]) == ("attention_scores", "wrong")
    assert entry["mistakes"] == ["all_pairs"]
    history.write_text(f'{line}\n{{"at": 3}}\nnonsense\n', encoding="utf-8")
    assert "nothing to review" in said_by(own, "review"), "the exercise was never passed"
    write(own, CHAPTER, "return inputs @ inputs.T", "return inputs @ query")
    tests = ("exercises", "-k", "attention_scores")
    run_pytest(*tests, "--attempt", shutil.copytree(own / "exercises", tmp_path / "a"), cwd=own)
    assert len(history.read_text(encoding="utf-8").splitlines()) == 3, "they are somebody else's"
    run_pytest(*tests, cwd=own)
    assert '"done"' in history.read_text(encoding="utf-8").splitlines()[-1]
    assert "The next review is on" in said_by(own, "review"), "damaged lines are passed over"
    shutil.rmtree(own / ".tensorgrade")
    (own / ".tensorgrade").write_text("a file in the way", encoding="utf-8")
    done = run_pytest(*tests, cwd=own)
    assert done.returncode == 0 and "Traceback" not in done.stdout


def test_submit_writes_what_the_course_system_takes_and_says_what_is_missing(own):
    assert "nothing to submit" in said_by(own, "submit")
    write(own, CHAPTER, TO_DO, "return inputs @ query")
    course = own / "exercises" / "course.json"
    told = json.loads(course.read_text(encoding="utf-8"))
    assert "solutions_in_kit" not in told
    archive = own / f"{told['name']}-submission.zip"
    for form in ("chapters", "files"):
        course.write_text(json.dumps(told | {"submit_as": form}), encoding="utf-8")
        said = said_by(own, "submit", "ch1", inside="exercises")
        assert "5 exercises to do: softmax_naive" in said
        written = archive.with_suffix("") if form == "files" else archive
        assert f"Toupload:{written}" in said.replace(" ", "")
        folder = f"{CHAPTER}/" if form == "chapters" else ""
        sent = zipfile.Path(archive) if form == "chapters" else written
        (path,) = (sent / folder).iterdir()
        assert path.name == f"{CHAPTER}.py" and b"inputs @ query" in path.read_bytes()
        assert "5 of 39 points" in said


def test_commands_find_names_of_chapters_and_say_what_there_is(own):
    said = said_by(own, "hint", "ch1", inside="exercises")
    assert "tensorgrade hint attention_scores" in said and "causal_mask" not in said
    hint = said_by(own, "hint", "attention_scores")
    assert "hint 1" in hint and "hint 2" not in hint
    everything = said_by(own, "hint")
    assert "tensorgrade hint attention_scores" in everything
    told = json.loads((own / "exercises" / "course.json").read_text(encoding="utf-8"))
    assert all(chapter["title"] in everything for chapter in told["chapters"])
    assert "named zzz; `tensorgrade hint` lists them" in said_by(own, "hint", "zzz")
    assert "go to the course's folder first" in said_by(own.parent, "reset", "softmax")
    assert "go to the course's folder first" in said_by(own.parent, "watch")
    listed = said_by(own, "--help")
    for command in ("watch", "reset", "submit", "review", "solution", "hint", "read"):
        assert f" {command} " in listed
    assert "questions for each learner" not in listed


def test_a_course_can_put_its_solutions_into_the_kit(course, kit, tmp_path):
    edit(course, "course_config.py", "points={}", "points={}, solutions_in_kit=True")
    build(course)
    own = unpacked(tmp_path, course) / "solutions"
    assert {path.name for path in own.iterdir()} >= {p.name for p in course.glob("solutions/*.py")}
    assert not (kit / "solutions").exists()


def test_the_solution_is_shown_after_a_pass(kit, tmp_path):
    own = solved(kit, tmp_path / "kit", CHAPTER)
    assert "solutions.zip" in said_by(own, "solution", "softmax"), "where solutions come from"
    done = cli("bundle", "--solutions", "--out", own / "solutions.zip", cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    said = said_by(own, "solution", "softmax")
    assert said.index("The solution") < said.index("PyTorch's own")
    assert "torch.softmax(x, dim=dim)" in said and "BEGIN SOLUTION" not in said
    said = said_by(own, "solution", "causal_mask")
    assert "does not pass yet" in said and "def " not in said
    (own / "exercises" / f"{CHAPTER}.py").unlink()
    missing = f"there is no file exercises/{CHAPTER}.py; `tensorgrade reset {CHAPTER}`"
    assert missing in said_by(own, "solution", "softmax")
    (own / "solutions.zip").write_bytes(b"PK nonsense")
    assert "download it again" in said_by(own, "solution", "softmax")


def test_the_bare_command_says_what_to_do_here(own, tmp_path):
    assert "where to begin" in said_by(own)
    assert "grades a class" in " ".join(cli(cwd=ROOT / "docs").stdout.split())
    assert "no course here" in cli(cwd=tmp_path).stdout
