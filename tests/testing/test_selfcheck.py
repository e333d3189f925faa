"""`pytest exercises/` as a learner runs it: its output, and its exit code."""

import re
import shutil
from pathlib import Path

import pytest

from ..commands import ROOT, run_pytest


@pytest.fixture
def answers(tmp_path):
    """A folder with the solutions, to be spoilt."""
    for kind in ("ch*.py", "*.safetensors"):
        for path in (ROOT / "solutions").glob(kind):
            shutil.copy(path, tmp_path)
    return tmp_path


def spoil(folder: Path, chapter: str, old: str, new: str) -> None:
    path = next(folder.glob(f"{chapter}_*.py"))
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.slow
def test_solutions_pass_and_stubs_do_not():
    done = run_pytest("exercises", "--attempt", "solutions")
    assert done.returncode == 0, done.stdout
    stubs = run_pytest("exercises")
    assert stubs.returncode == 1
    assert "to do" in stubs.stdout and "Traceback" not in stubs.stdout
    assert "Start here: attention_scores" in stubs.stdout  # what comes first


NO_LOGGING = ("-p", "no:logging")  # as in a kit


def told(done) -> list[str]:
    """Return a run's output, without its time and the moment when it caught a print."""
    said = re.sub(r"\bin \d+\.\d+s\b", "in … s", done.stdout)
    return re.sub(r"-+ Captured stdout (setup|call) -+", "what was printed", said).splitlines()


@pytest.mark.slow
def test_without_what_pytest_sets_up_it_says_the_same(answers):
    """Wrong answers, a printed line, an endless loop; at once, one test, the first failure."""
    old = "    return exponentials / exponentials.sum()"
    spoil(answers, "ch1", old, f'    print("looked at")\n{old}')
    spoil(answers, "ch1", "    return attn_weights @ inputs", "    while True: pass")
    here, chapter = ("--attempt", answers), "exercises/ch1_simplified_attention.py"
    for asked in (("-rA",), ("-x",), ("-k", "softmax_naive", "-s"), ("-v", "--durations=0")):
        plain = run_pytest(chapter, *asked, *here, "--timeout", "3")
        kit = run_pytest(chapter, *asked, *here, "--timeout", "3", *NO_LOGGING)
        assert kit.returncode == plain.returncode
        if "--durations=0" not in asked:
            assert told(kit) == told(plain)
        assert "looked at" in kit.stdout or "-x" in asked or "-v" in asked


@pytest.mark.slow
def test_it_runs_inside_the_folder_too():
    run = run_pytest(
        "test_ch1_simplified_attention.py", "--attempt", "../solutions", cwd=ROOT / "exercises"
    )
    assert run.returncode == 0, run.stdout


MASK = "torch.triu(torch.ones_like(attn_scores), diagonal=1).bool()"
INVERTED = ("torch.triu(ones, diagonal=1).bool()", "torch.tril(ones).bool()")


def test_a_right_exercise_is_right_although_the_wrong_one_that_it_calls_is_not_selected(answers):
    spoil(answers, "ch3", *INVERTED)
    spoil(answers, "ch3", MASK, "causal_mask(attn_scores.shape[-1])")
    asked = ("exercises/ch3_causal_attention.py", "-k", "causal_attention_weights")
    said = " ".join(run_pytest(*asked, "--attempt", answers).stdout.split())
    assert "your own `causal_mask`, which is wrong: fix that first" in said, said
    assert "Causal attention: 10 of 10 points" in said and "[mask_inverted]" not in said


def test_some_checks_of_an_exercise_earn_no_points_and_are_counted(answers):
    old = "attn_weights = torch.softmax(attn_scores, dim=-1)\n    context_vecs"
    spoil(answers, "ch1", old, old.replace("-1", "0"))
    chapter, here = "exercises/ch1_simplified_attention.py", ("--attempt", answers)
    tests = chapter.replace("ch1", "test_ch1")
    first = run_pytest(tests, "--collect-only", "-q", "-k", "simplified_self").stdout.split()[0]
    for asked, ran in (((chapter, "-k", "attention_weights"), 2), ((first,), 1)):
        said = " ".join(run_pytest(*asked, *here).stdout.split())
        assert f"simplified_self_attention: wrong, {ran} of 8 checks ran, 0 passed" in said, said
        assert "points:" not in said and " of 10 points" not in said


@pytest.mark.slow
@pytest.mark.parametrize(
    "old, new, name",
    [
        (
            "    return torch.softmax(attn_scores / d_k**0.5, dim=-1)",
            "    return torch.softmax(attn_scores, dim=-1)",
            "no_scale",
        ),
        (
            "    return torch.softmax(attn_scores / d_k**0.5, dim=-1)",
            "    return torch.softmax(attn_scores / d_k**0.5, dim=-2)",
            "softmax_over_columns",
        ),
    ],
)
def test_a_wrong_answer_is_named(answers, old, new, name):
    spoil(answers, "ch2", old, new)
    run = run_pytest("exercises/test_ch2_self_attention.py", "--attempt", str(answers))
    assert run.returncode == 1
    assert name in run.stdout and "attention_weights" in run.stdout
    assert "(6, 2)" in run.stdout and "expected 0.155" in run.stdout  # shapes, and a value
    assert "Traceback" not in run.stdout and "judging/" not in run.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "chapter, old, new, name",
    [
        ("ch3", "torch.triu(ones, diagonal=1).bool()", "torch.tril(ones).bool()", "mask_inverted"),
        (
            "ch3",
            "torch.triu(ones, diagonal=1).bool()",
            "torch.triu(ones).bool()",
            "mask_on_the_diagonal",
        ),
        (
            "ch3",
            "masked / masked.sum(dim=-1, keepdim=True)",
            "masked",
            "masked_without_renormalizing",
        ),
        (
            "ch4",
            "x.transpose(1, 2).reshape(b, num_tokens, num_heads * head_dim)",
            "x.reshape(b, num_tokens, num_heads * head_dim)",
            "merged_without_transpose",
        ),
    ],
)
def test_more_mistakes_are_named(answers, chapter, old, new, name):
    spoil(answers, chapter, old, new)
    file = next((ROOT / "exercises").glob(f"test_{chapter}_*.py"))
    assert name in run_pytest(str(file), "--attempt", str(answers)).stdout


@pytest.mark.slow
def test_a_syntax_error_names_the_line_and_costs_only_itself(answers):
    spoil(
        answers,
        "ch1",
        "def softmax(x: torch.Tensor, dim: int = -1)",
        "def softmax(x: torch.Tensor, dim: int = -1",
    )
    run = run_pytest("exercises/test_ch1_simplified_attention.py", "--attempt", str(answers))
    text = " ".join(run.stdout.split())
    assert "SyntaxError" in text and "line " in text
    assert "29 of 39" in text  # points of the other exercises are still counted
    assert run.stdout.count("done") >= 4


@pytest.mark.slow
def test_an_endless_loop_ends_in_a_sentence(answers):
    spoil(answers, "ch1", "    return inputs @ query", "    while True:\n        pass")
    run = run_pytest(
        "exercises/test_ch1_simplified_attention.py", "--attempt", str(answers), "-o", "timeout=3"
    )
    text = " ".join(run.stdout.split())
    assert "It did not finish within 3 seconds (line " in text and "infinite loop?" in text
    assert "Stack of" not in text + run.stderr
    assert run.stdout.count("done") >= 4


@pytest.mark.slow
def test_a_loop_that_catches_everything_is_ended_too(answers):
    endless = "    while True:\n        try:\n            x = 1\n        except:\n            pass"
    spoil(answers, "ch1", "    return inputs @ query", endless)
    run = run_pytest(
        "exercises/test_ch1_simplified_attention.py", "--attempt", str(answers), "-o", "timeout=2"
    )
    assert run.returncode in (1, 2)
    said = " ".join((run.stdout + run.stderr).split())
    late = "did not finish within" if run.returncode == 1 else "did not come back after"
    assert f"{late} 2 seconds" in said


@pytest.mark.slow
def test_a_missing_file_is_said_kindly(tmp_path):
    run = run_pytest("exercises/test_ch1_simplified_attention.py", "--attempt", str(tmp_path))
    assert run.returncode == 1 and "There is no file ch1_simplified_attention.py" in " ".join(
        run.stdout.split()
    )


@pytest.mark.slow
def test_cuda_is_skipped_with_a_sentence_where_there_is_none():
    import torch

    run = run_pytest(
        "exercises/test_ch1_simplified_attention.py",
        "--attempt",
        "solutions",
        "--device",
        "cuda",
        "-rs",
    )
    if torch.cuda.is_available():
        assert run.returncode == 0
    else:
        assert "no CUDA device" in run.stdout and "passed" not in run.stdout


@pytest.mark.slow
def test_what_fails_beside_the_exercises_is_reported(answers):
    path = answers / "ch1_simplified_attention.py"
    path.write_text("import no_such_package\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    run = run_pytest("exercises/test_ch1_simplified_attention.py", "--attempt", str(answers))
    said = " ".join(run.stdout.split())
    assert run.returncode == 0 and "No module named 'no_such_package'" in said
    assert "Everything is done" not in said and "All selected exercises are done" in said


@pytest.mark.slow
def test_a_chapter_can_be_named_by_its_own_file(answers):
    run = run_pytest("exercises/ch1_simplified_attention.py", "--attempt", str(answers))
    assert run.returncode == 0 and "39 of 39 points" in run.stdout


@pytest.mark.slow
def test_hidden_tests_ask_whose_answers_they_are_to_judge():
    run = run_pytest("graders/")
    assert run.returncode == 2 and "whose answers?" in run.stdout + run.stderr


@pytest.mark.slow
def test_hidden_tests_and_learners_own_have_a_summary_each(answers):
    spoil(answers, "ch1", "x - x.amax(dim=dim, keepdim=True)", "x")  # 1.5 of 10 points
    both = ("graders/ch1_simplified_attention/softmax.py", "exercises/ch1_simplified_attention.py")
    run = run_pytest(*both, "--attempt", str(answers), "--isolation", "none")
    hidden, own = run.stdout.split("By the tests in graders/")[1].split(
        "By the tests in exercises/"
    )
    assert run.returncode == 1 and "8.5 of 10 points" in hidden and "37.5 of 39 points" in own
    assert "Work on this first: softmax" in hidden and "Work on this first: softmax" in own
    alone = run_pytest(both[1], "--attempt", str(answers))
    assert "37.5 of 39 points" in alone.stdout and "By the tests in" not in alone.stdout


@pytest.mark.slow
def test_a_warning_about_the_learners_line_is_one_short_line(answers):
    spoil(answers, "ch2", "queries @ keys.transpose(-2, -1)", "queries @ keys.T")
    run = run_pytest("exercises/test_ch2_self_attention.py", "--attempt", str(answers))
    lines = [line for line in run.stdout.splitlines() if "A warning at " in line]
    assert len(lines) == 1 and "line " in lines[0] and "deprecated" in " ".join(run.stdout.split())
    assert "warnings summary" not in run.stdout and "UserWarning" not in run.stdout


@pytest.mark.slow
def test_where_nothing_is_warned_of_nothing_is_said(answers):
    run = run_pytest("exercises/test_ch2_self_attention.py", "--attempt", str(answers))
    assert run.returncode == 0 and "warning" not in run.stdout.lower()
