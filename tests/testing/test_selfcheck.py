"""`pytest exercises/` as a learner runs it: what it says, what a report says, and its exit code."""

import re
import shutil
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

import pytest
import torch

from ..answers.reader import replaced, solution
from ..support import ROOT, run_pytest

pytestmark = pytest.mark.slow
CH1, CH2, CH3 = "ch1_simplified_attention", "ch2_self_attention", "ch3_causal_attention"
SIMPLE = "simplified_self_attention"
BUG = f"bug_{SIMPLE}"
SCORES = "    return inputs @ query"


def answers(folder: Path, chapter: str, *edits: tuple[str, str]) -> Path:
    """Write a chapter's solution with these edits into a folder."""
    text = replaced(solution(chapter), dict(edits))
    (folder / f"{chapter}.py").write_text(text, encoding="utf-8")
    return folder


def said(done) -> str:
    """Return what a run prints, in one line."""
    return " ".join((done.stdout + done.stderr).split())


def outcomes(report: Path) -> Counter:
    """Return how many tests passed, failed and were skipped, by a JUnit report."""
    found: Counter = Counter()
    for case in ElementTree.parse(report).iter("testcase"):
        found[next((one.tag for one in case if one.tag in ("skipped", "failure")), "passed")] += 1
    return found


def test_solutions_pass_and_stubs_are_to_do(tmp_path):
    done = run_pytest("exercises", "--attempt", "solutions")
    assert done.returncode == 0, done.stdout
    report = tmp_path / "report.xml"
    stubs = run_pytest("-q", f"exercises/{CH1}.py", f"--junitxml={report}")
    assert stubs.returncode == 1 and outcomes(report) == Counter(skipped=39)
    text = report.read_text(encoding="utf-8")
    assert "attention_scores is to do: not written yet" in text
    assert "is to do: not fixed yet" in text
    assert "39 to do" in stubs.stdout and "passed" not in stubs.stdout
    assert "Start here: attention_scores" in stubs.stdout and "Traceback" not in stubs.stdout
    assert f"exercises/{CH1}.py:" in stubs.stdout
    assert "tensorgrade hint attention_scores -n 1" in stubs.stdout


SCALED = "    return torch.softmax(attn_scores / d_k**0.5, dim=-1)"


def test_a_wrong_answer_reads_like_a_note(tmp_path):
    """In sentences without a terminal; with drawings, colours and a hint if they are asked for."""
    unscaled = "    return torch.softmax(attn_scores, dim=-1)"
    folder = answers(tmp_path, CH2, (SCALED, unscaled))
    done = run_pytest("-q", f"exercises/{CH2}.py", "--attempt", folder)
    assert done.returncode == 1 and not set("░▒▓█✓✗≠\x1b") & set(done.stdout)
    plain = said(done)
    for sentence in (
        "Work on this first: attention_weights",
        "7 of 10 points: 3 of 10 checks passed; known mistake: −3.",
        "The scores go into the softmax unscaled.",
        "expected 0.155",
    ):
        assert sentence in plain, plain
    assert "Traceback" not in plain and "judging/" not in plain
    drawn = ("-q", "--no-plain", "--color=yes", "--hint", 1, f"exercises/{CH2}.py")
    terminal = {"COLUMNS": "80", "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    done = run_pytest(*drawn, "--attempt", folder, **terminal)
    words = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
    rows = [row for row in words.splitlines() if str(folder) not in row]  # a path stays whole
    assert words != done.stdout and max(map(len, rows)) <= 80
    lines = (folder / f"{CH2}.py").read_text(encoding="utf-8").splitlines()
    line = next(n for n, row in enumerate(lines, 1) if row.startswith("def attention_weights"))
    for sentence in (
        "called    attention_weights(queries: (6, 2), keys: (6, 2))",
        "expected (6, 6)",
        "≠ differs; blue is above 0",
        "7 / 10  The scores go into the softm…",
        "5 / 5  done",
        "hint 1  ",
    ):
        assert sentence in words, words
    assert f"/{CH2}.py:{line}" in words
    assert words.count("Work on this first") == 1 and "hint 2  " not in words


NAIVE = "    return exponentials / exponentials.sum()"
WIDE = "def softmax(x: torch.Tensor, dim: int = -1)"


def test_trouble_costs_only_itself(tmp_path):
    """A loop, a printed line, a syntax error and code that ends the process, in one file."""
    endless = "    while True:\n        try:\n            x = 1\n        except:\n            pass"
    folder = answers(
        tmp_path,
        CH1,
        (SCORES, endless),
        (NAIVE, f'    print("looked at")\n{NAIVE}'),
        (WIDE, WIDE[:-1]),
        ("    return attn_weights @ inputs", "    import os; os._exit(3)"),
    )
    done = run_pytest(f"exercises/{CH1}.py", "-rA", "--attempt", folder, "--timeout", "3")
    text = said(done)
    assert done.returncode == 1
    # On a busy machine the limit by the clock ends the loop, which is three times as long.
    assert re.search("It did not finish within [39] seconds", text) and "infinite loop?" in text
    assert "invalid syntax" in text and "The process that ran it ended" in text
    assert "Stack of" not in text and "Traceback" not in text
    assert "19 of 39 points" in text, text


REWRITE = """def bug_simplified_self_attention(inputs):
    scores = torch.matmul(inputs, inputs.transpose(0, 1))
    shifted = scores - scores.max(dim=1, keepdim=True).values
    exponentials = shifted.exp()
    weights = exponentials / exponentials.sum(dim=1, keepdim=True)
    return torch.matmul(weights, inputs), weights
"""


def test_rewritten_given_code_fails_the_run(tmp_path):
    folder = answers(tmp_path, CH1)
    path = folder / f"{CH1}.py"
    text = path.read_text(encoding="utf-8")
    start = text.index("def bug_simplified_self_attention")
    end = text.index("\n# %%", start)
    path.write_text(text[:start] + REWRITE + text[end:], encoding="utf-8")
    report = tmp_path / "report.xml"
    done = run_pytest(f"exercises/{CH1}.py", "--attempt", folder, f"--junitxml={report}")
    assert done.returncode == 1 and outcomes(report) == Counter(passed=39)
    assert "It is right, but it is rewritten: " in said(done)


def test_the_line_on_points_says_how_they_came_about(tmp_path):
    """And the last definition of a name has the place that is shown."""
    mixed = 'mixed = torch.einsum("ij,jd->id", shares, inputs)'
    path = tmp_path / f"{CH1}.py"
    answers(
        tmp_path,
        CH1,
        (SCORES, "    return (inputs @ query)[None]"),
        (mixed, "mixed = 2 * shares @ inputs"),
    )
    text = f"def {BUG}(inputs): return 1\n{path.read_text(encoding='utf-8')}"
    path.write_text(text, encoding="utf-8")
    for name, points in (
        ("attention_scores", "3.7 of 5 points: 0 of 4 checks passed; dimensions of size 1 lost or"),
        (
            BUG,
            "0 of 4 points: 4 of 8 checks passed; checks that the given code passes earn nothing",
        ),
    ):
        shown = said(run_pytest(f"exercises/{CH1}.py", "-k", name, "--attempt", tmp_path))
        assert points in shown, shown
    line = 1 + text[: text.rindex(f"def {BUG}(")].count("\n")
    assert f"/{CH1}.py:{line} " in shown, shown


def test_a_breakpoint_stops_only_if_output_is_not_captured(tmp_path):
    wrong = '    breakpoint("stopped here")\n    return 2 * (inputs @ query)'
    answers(tmp_path, CH1, (SCORES, wrong))
    hook = {"PYTHONBREAKPOINT": "builtins.print"}
    asked = ("-q", f"exercises/{CH1}.py", "--attempt", tmp_path)
    for options, stops in (((), False), (("-s",), True)):
        done = run_pytest(*asked, *options, **hook)
        assert ("stopped here" in done.stdout) == stops and done.returncode == 1


def test_a_keyword_that_matches_nothing_suggests_a_name():
    done = run_pytest("-q", "exercises/", "-k", "softmx")
    assert done.returncode == 5 and "Did you mean -k softmax or -k softmax_naive?" in done.stdout


def test_a_right_exercise_waits_for_the_wrong_one_that_it_calls_and_is_mentioned_there(tmp_path):
    mask = "torch.triu(torch.ones_like(attn_scores), diagonal=1).bool()"
    inverted = ("torch.triu(ones, diagonal=1).bool()", "torch.tril(ones).bool()")
    answers(tmp_path, CH3, inverted, (mask, "causal_mask(attn_scores.shape[-1])"))
    asked = (f"exercises/{CH3}.py", "--attempt", tmp_path)
    one = said(run_pytest(*asked, "-k", "causal_attention_weights"))
    assert "your own `causal_mask`, which is wrong: fix that first" in one, one
    assert "0 of 9 checks passed; only an earlier exercise is wrong." in one, one
    assert "Causal attention: 10 of 10 points" in one and "the future is visible" not in one
    both = said(run_pytest(*asked))
    assert "Work on this first: causal_mask" in both and "the future is visible" in both, both
    assert "causal_attention_weights: right, but waits for `causal_mask`, 10 of" in both, both


def test_some_checks_of_an_exercise_have_the_points_of_all(tmp_path):
    old = "attn_weights = torch.softmax(attn_scores, dim=-1)\n    context_vecs"
    answers(tmp_path, CH1, (old, old.replace("-1", "0")))
    done = run_pytest(f"exercises/{CH1}.py", "-k", "self_attention and row", "--attempt", tmp_path)
    text = said(done)
    whole = said(run_pytest(f"exercises/{CH1}.py", "-k", SIMPLE, "--attempt", tmp_path))
    (points,) = re.findall(rf"{SIMPLE}: wrong, ([\d.]+) of 10 points", text)
    assert f"{SIMPLE}: wrong, {points} of 10 points" in whole, (text, whole)


def test_a_chapters_own_file_works_inside_the_folder_and_a_missing_one_is_said(tmp_path):
    inside = {"cwd": ROOT / "exercises"}
    done = run_pytest(f"{CH1}.py", "--attempt", "../solutions", **inside)
    assert done.returncode == 0 and "39 of 39 points" in done.stdout
    assert "warning" not in done.stdout.lower()
    done = run_pytest(f"{CH1}.py", "--attempt", tmp_path, **inside)
    assert done.returncode == 1 and f"There is no file {CH1}.py" in said(done)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_cuda_device_it_says_so():
    options = ("--attempt", "solutions", "--device", "cuda", "-rs")
    done = run_pytest(f"exercises/{CH1}.py", *options)
    assert "no CUDA device" in done.stdout and "passed" not in done.stdout


def test_warnings_and_failing_imports_beside_the_exercises_are_short(tmp_path):
    turned = ("queries @ keys.transpose(-2, -1)", "queries @ keys.T")
    path = answers(tmp_path, CH2, turned) / f"{CH2}.py"
    # In grading a chapter's file is alone, so here it must not find the one that ran before it.
    begun = f"import no_such_package\nimport {CH1}\n"
    path.write_text(begun + path.read_text(encoding="utf-8"), "utf-8")
    answers(tmp_path, CH1)
    done = run_pytest(f"exercises/{CH1}.py", f"exercises/{CH2}.py", "--attempt", tmp_path)
    lines = [line for line in done.stdout.splitlines() if "A warning at " in line]
    assert len(lines) == 1 and "line " in lines[0] and "deprecated" in said(done)
    assert "warnings summary" not in done.stdout and "UserWarning" not in done.stdout
    assert "No module named 'no_such_package'" in said(done)
    assert f"No module named '{CH1}'" in said(done)
    assert "Everything is done" not in said(done)


def test_hidden_tests_ask_for_answers_and_have_a_summary_of_their_own(tmp_path):
    done = run_pytest("graders/")
    assert done.returncode == 2 and "whose answers?" in done.stdout + done.stderr
    answers(tmp_path, CH1, ("x - x.amax(dim=dim, keepdim=True)", "x"))  # 1.5 of 10 points
    both = (f"graders/{CH1}/softmax.py", f"exercises/{CH1}.py")
    run = run_pytest(*both, "--attempt", tmp_path, "--isolation", "none")
    _, hidden, own = re.split("By the tests in (?:graders|exercises)/", run.stdout)
    assert run.returncode == 1 and "8.5 of 10 points" in hidden and "37.5 of 39 points" in own
    assert "Work on this first: softmax" in hidden and "Work on this first: softmax" in own


def test_each_check_is_shown_with_its_sentence_under_its_file(tmp_path):
    """A learner's conftest.py is not read."""
    (tmp_path / "conftest.py").write_text("raise SystemExit('read')\n", encoding="utf-8")
    shutil.copy(ROOT / "solutions" / f"{CH1}.py", tmp_path)

    def listed(*words):
        done = run_pytest(*words, "--collect-only", "-q", "--attempt", tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        return [line for line in done.stdout.splitlines() if "::" in line]

    shown, says = "softmax: Along the last dimension", "softmax: Along the last dimension, for"
    for file, extra in ((f"graders/{CH1}/softmax.py", 0), (f"exercises/{CH1}.py", 1)):
        own = [line for line in listed(file) if "::softmax: " in line]
        assert all(line.startswith(f"{file}::") for line in own)
        assert sum(says in line for line in own) == 1
        assert sum(shown in line for line in own) == 1 + extra, "one is for learners only"
    bugs = listed(f"graders/{CH1}/simplified_self_attention.py")
    assert any("::bug_simplified_self_attention: " in line for line in bugs)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_solutions_have_full_points_on_a_machine_with_a_gpu(device):
    told = ("--attempt", "solutions", "--device", device, "--isolation", "none")
    ran = run_pytest("graders/", *told, timeout=500)
    assert ran.returncode == 0 and "439 of 439 points" in ran.stdout, ran.stdout[-2000:]
