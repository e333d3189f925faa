"""The outcome of each test agrees with the state of its exercise, as test explorers show it."""

import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

import pytest

from ..commands import ROOT, run_pytest

CH1 = "ch1_simplified_attention"
SCORES = "    return inputs @ query"


def outcomes(tmp_path: Path, *arguments: object, **environment: str):
    """Run pytest. Return the run, and by exercise or test the outcomes in its JUnit report."""
    report = tmp_path / "report.xml"
    done = run_pytest("-q", *arguments, f"--junitxml={report}", **environment)
    found: dict[str, Counter] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        kind = next((child.tag for child in case if child.tag in ("skipped", "failure")), "passed")
        found.setdefault(case.get("name").split("[")[0], Counter())[kind] += 1
    return done, found


def answers(folder: Path, chapter: str, **edits: str) -> Path:
    """Write a chapter's solution with edits, each as `old=>new`."""
    text = (ROOT / "solutions" / f"{chapter}.py").read_text(encoding="utf-8")
    for edit in edits.values():
        old, new = edit.split("=>")
        assert old in text
        text = text.replace(old, new, 1)
    (folder / f"{chapter}.py").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.slow
def test_exercises_that_are_not_started_are_skipped_with_a_reason(tmp_path):
    done, found = outcomes(tmp_path, f"exercises/{CH1}.py")
    kinds = sum(found.values(), Counter())
    assert kinds == Counter(skipped=39) and done.returncode == 1
    report = (tmp_path / "report.xml").read_text(encoding="utf-8")
    assert "attention_scores is not started" in report
    assert "is not started: find the mistake in the given code" in report
    assert "39 to do" in done.stdout and "passed" not in done.stdout


@pytest.mark.slow
def test_one_wrong_name_fails_one_test_and_the_run(tmp_path):
    name = answers(tmp_path, CH1, name="def attention_scores(query:=>def attention_score(query:")
    text = (name / f"{CH1}.py").read_text(encoding="utf-8")
    (name / f"{CH1}.py").write_text(text.replace("attention_scores(", "attention_score("))
    done, found = outcomes(tmp_path, f"exercises/{CH1}.py", "--attempt", tmp_path)
    assert sum(found.values(), Counter())["failure"] == 1 and done.returncode == 1
    assert "4 of 4 checks passed; names other than the given ones: −0.5" in done.stdout
    assert "38 passed, 1 wrong" in done.stdout


@pytest.mark.slow
def test_rewritten_given_code_fails_one_test_and_the_run(tmp_path):
    answers(tmp_path, CH1)
    path = tmp_path / f"{CH1}.py"
    text = path.read_text(encoding="utf-8")
    start = text.index("def bug_simplified_self_attention")
    end = text.index("\n# %%", start)
    own = (
        "def bug_simplified_self_attention(inputs):\n"
        "    scores = torch.matmul(inputs, inputs.transpose(0, 1))\n"
        "    shifted = scores - scores.max(dim=1, keepdim=True).values\n"
        "    exponentials = shifted.exp()\n"
        "    weights = exponentials / exponentials.sum(dim=1, keepdim=True)\n"
        "    return torch.matmul(weights, inputs), weights\n"
    )
    path.write_text(text[:start] + own + text[end:], encoding="utf-8")
    done, found = outcomes(tmp_path, f"exercises/{CH1}.py", "--attempt", tmp_path)
    assert sum(found.values(), Counter())["failure"] == 1 and done.returncode == 1
    assert "more changed than needed: −1" in done.stdout


@pytest.mark.slow
def test_a_breakpoint_stops_once_in_the_first_failing_test(tmp_path):
    wrong = '    breakpoint("stopped here")\n    return 2 * (inputs @ query)'
    answers(tmp_path, CH1, wrong=f"{SCORES}=>{wrong}")
    chapter, hook = f"exercises/{CH1}.py", {"PYTHONBREAKPOINT": "builtins.print"}
    done = run_pytest("-q", "-s", chapter, "--attempt", tmp_path, **hook)
    assert done.stdout.count("stopped here") == 1 and done.returncode == 1
    right = wrong.replace("2 * ", "")
    answers(tmp_path, CH1, right=f"{SCORES}=>{right}")
    done = run_pytest("-q", "-s", chapter, "--attempt", tmp_path, **hook)
    assert done.stdout.count("stopped here") == 1 and done.returncode == 0


@pytest.mark.slow
def test_code_that_ends_the_process_is_reported_and_costs_only_itself(tmp_path):
    answers(tmp_path, CH1, ends=f"{SCORES}=>    import os; os._exit(3)")
    done = run_pytest("-q", f"exercises/{CH1}.py", "--attempt", tmp_path)
    assert done.returncode == 1 and "os._exit(3)" in done.stdout
    assert "34 of 39 points" in done.stdout


@pytest.mark.slow
def test_a_keyword_that_matches_nothing_suggests_a_name():
    done = run_pytest("-q", "exercises/", "-k", "softmx")
    assert done.returncode == 5 and "Did you mean -k softmax or -k softmax_naive?" in done.stdout


@pytest.mark.slow
def test_without_a_terminal_the_exercise_comes_first_and_nothing_is_drawn(tmp_path):
    answers(tmp_path, CH1, wrong=f"{SCORES}=>    return 2 * (inputs @ query)")
    plain = run_pytest("-q", f"exercises/{CH1}.py", "--attempt", tmp_path).stdout
    assert not set("░▒▓█✓✗≠") & set(plain)
    assert plain.index("Work on this first") < plain.index("Attention without weights: ")
    assert "At [0]: expected 0.954, yours 1.91." in plain
    drawn = run_pytest("-q", "--no-plain", f"exercises/{CH1}.py", "--attempt", tmp_path).stdout
    assert {"█", "✗", "≠"} < set(drawn)
    asked = run_pytest("-q", "--plain", "--color=yes", f"exercises/{CH1}.py", "--attempt", tmp_path)
    assert not set("░▒▓█✓✗≠") & set(asked.stdout)


@pytest.mark.slow
def test_a_wrong_exercise_says_which_later_ones_it_costs(tmp_path):
    wrong = "    return exponentials / exponentials.sum(dim=dim, keepdim=True)"
    calls = "    attn_weights = torch.softmax(attn_scores, dim=-1)\n    context_vecs"
    answers(
        tmp_path,
        CH1,
        wrong=f"{wrong}=>    return exponentials",
        calls=f"{calls}=>{calls.replace('torch.softmax', 'softmax')}",
    )
    done = run_pytest("-q", f"exercises/{CH1}.py", "--attempt", tmp_path)
    said = " ".join(done.stdout.split())
    assert "Work on this first: softmax" in said, said
    assert "simplified_self_attention called it: fixing it can bring back" in said, said
