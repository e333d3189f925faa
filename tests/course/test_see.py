"""`tensorgrade see` runs the learner's own class, and its captions are true."""

import io
import re
import subprocess
import sys

import pytest
import torch
from rich.console import Console

from exercises.commands.parts.heads import all_heads, share_after_the_same, share_before
from exercises.commands.parts.seen import AFTER, BEFORE, WEIGHTS, look
from exercises.commands.parts.seen_page import figures, page
from exercises.commands.parts.seen_terminal import print_seen
from exercises.commands.parts.texts import ids_of, read_text
from exercises.commands.parts.weights_file import load_weights, save_weights
from tensorgrade import CourseError

from ..answers.reader import defined_in, solution
from ..support import ROOT, cli

CHAPTER, CLASS = "ch4_multi_head_attention", "MultiHeadAttention"
CAT = "the cat sat on the mat, and the cat ran"


def attention_of(text: str) -> type:
    """Return the MultiHeadAttention of a chapter's text, which may change torch's settings."""
    names, dtype = {"__name__": CHAPTER}, torch.get_default_dtype()
    try:
        exec(compile(text, CHAPTER, "exec"), names)
    finally:
        torch.set_grad_enabled(True)
        torch.set_default_dtype(dtype)
        torch.use_deterministic_algorithms(False)
    return names[CLASS]


@pytest.fixture(scope="module")
def ours():
    """The solution's class. The chapters before it can be imported while these tests run."""
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "solutions"))
        patch.delitem(sys.modules, "ch3_causal_attention", raising=False)
        yield attention_of(solution(CHAPTER))


@pytest.fixture(scope="module")
def trained():
    """(weights, settings) of the shipped model."""
    return load_weights(WEIGHTS)


@pytest.mark.slow
def test_what_two_heads_of_the_shipped_model_look_at(ours, trained):
    """Measured: BEFORE 0.99 and more on each text, its neighbours 0.02 to 0.2; AFTER 0.92."""
    assert WEIGHTS.stat().st_size < 1_000_000
    chance, vocabulary = torch.Generator().manual_seed(2027), trained[1].vocabulary
    stretches = [torch.randperm(len(vocabulary), generator=chance) for _ in range(10)]
    twice = [stretch[:30].repeat(2) for stretch in stretches]  # no two alike in a stretch
    ids = ids_of(read_text("the_verdict"), vocabulary, len(vocabulary) - 1)
    never_seen = [ids[at : at + 64] for at in range(0, 20_000, 2000)]
    after = []
    for text in (*never_seen, *twice):
        weights = all_heads(ours, *trained, text)
        shares = share_before(weights)
        assert shares[BEFORE] > 0.97 and BEFORE == (0, 0)
        assert shares.flatten()[1:].max() < 0.5
        after.append(share_after_the_same(weights, text))
    shares = torch.stack(after[len(never_seen) :])
    assert shares[:, *AFTER].mean() > 0.85 and shares[:, *AFTER].min() > 0.75
    assert shares[:, 0].max() < 0.2


WRONG = {
    "attn_scores / d_k**0.5": "attn_scores",
    "attn_scores.masked_fill(future, -torch.inf)": "attn_scores",
    "keys.transpose(2, 3)": "values.transpose(2, 3)",
}


def test_every_right_answer_shows_the_same_and_a_wrong_one_something_else(ours, trained):
    ids = ids_of(CAT, trained[1].vocabulary)
    expected = all_heads(ours, *trained, ids)
    paths = sorted((ROOT / "tests" / "answers" / "right_answers" / CHAPTER).glob("*.py"))
    texts = [path.read_text(encoding="utf-8") for path in paths]
    others = [text for text in texts if CLASS in defined_in(text)]
    assert len(others) > 3
    for text in others:
        given = all_heads(attention_of(text), *trained, ids)
        assert torch.allclose(given, expected, atol=1e-4), text
    for right, wrong in WRONG.items():
        text = solution(CHAPTER).replace(right, wrong)
        assert text != solution(CHAPTER)
        given = all_heads(attention_of(text), *trained, ids)
        assert not torch.allclose(given, expected, atol=0.05), wrong


def test_what_is_said_of_a_text(ours):
    seen = look(ours, CAT)
    assert seen.notes == [] and seen.weights.shape == (2, 4, 39, 39)
    assert torch.allclose(seen.weights.sum(-1), torch.ones(2, 4, 39), atol=1e-4)
    assert re.search(r"previous character: (99|100)% of its weight", seen.caption(BEFORE))
    assert re.search(r"“.*ca” it gives 9\d% to the “t” after “.*ca”", seen.example(AFTER))
    assert seen.example(BEFORE) == "" and seen.caption((0, 3)) == ""
    long = look(ours, "x" * 70)
    assert len(long.characters) == 64 and "first 64 characters" in long.notes[0]
    strange = look(ours, "né 漢字 né 漢字")
    assert "never seen 字漢;" in strange.notes[0]  # the accent alone is no trouble
    assert "nothing occurs twice" in look(ours, "abcd").caption(AFTER)
    with pytest.raises(CourseError, match="two characters"):
        look(ours, "x")
    with pytest.raises(CourseError, match=r"has no W_query\.weight of shape"):
        look(lambda *sizes: torch.nn.Identity(), CAT)


def test_the_page_is_self_contained_and_escapes_typed_text(ours):
    seen = look(ours, "<b>a & b</b> <b>a & b</b>")
    for text in (page(seen), figures(seen)):
        assert "<b>a & b" not in text and "&lt;b&gt;a &amp; b" in text
        assert "<script" not in text and "src=" not in text and "http" not in text
        assert text.count("<svg") == 8
    assert "Layer 2, head 4" in page(seen) and "<!doctype html>" not in figures(seen)


@pytest.mark.slow
def test_colours_are_half_blocks_and_shades_do_without(ours):
    seen = look(ours, CAT)
    for every, heads in ((False, 2), (True, 8)):
        shown = [printed(seen, every, colours) for colours in ("truecolor", None)]
        assert shown[0].count("▀") == heads * 39 * 20  # two of 39 rows on a line
        assert "▀" not in shown[1] and shown[1].count("█") >= 38
        assert all(text.count("head ") >= heads and "Layer 2, head 4" in text for text in shown)


def printed(seen, every: bool, colours: str | None = None) -> str:
    """Return what a terminal shows of a text that was looked at."""
    console = Console(file=io.StringIO(), force_terminal=True, color_system=colours, width=120)
    print_seen(console, seen, every)
    return console.file.getvalue()


@pytest.mark.slow
def test_the_command(tmp_path):
    out = tmp_path / "heads.html"
    options = ("--page", out, "--no-show", "--folder")
    done = cli("see", CAT, *options, ROOT / "solutions", COLUMNS="80")
    assert done.returncode == 0, done.stderr
    assert "Layer 1, head 1 looks at the previous character" in done.stdout
    assert "\nt  █" in done.stdout and max(map(len, done.stdout.splitlines()[:-1])) <= 80
    assert done.stdout.endswith(f"{out}\n") and out.read_text("utf-8").count("<svg") == 8
    todo = cli("see", CAT, "--folder", ROOT / "exercises")
    assert todo.returncode and "MultiHeadAttention is still to do" in todo.stdout + todo.stderr


# The lesson's cell imports the command like this.
IMPORT = next(line[2:] for line in solution(CHAPTER).splitlines() if "import command" in line)
CELL = f"""
import os, sys, torch
torch.set_num_threads(1)
sys.path.insert(0, "../solutions")
from {CHAPTER} import {CLASS}
{IMPORT}
command("see", {CLASS}, "{CAT}")
command("see", lambda *sizes: torch.nn.Identity(), "{CAT}")
os.chdir("/")
command("see", {CLASS}, "{CAT}")
"""


@pytest.mark.slow
def test_the_cell_below_chapter_4():
    assert f'# command("see", {CLASS}, "{CAT}")' in solution(CHAPTER)
    done = subprocess.run(
        [sys.executable, "-c", CELL], cwd=ROOT / "exercises", capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    shown, other, outside = done.stdout.strip().splitlines()
    assert "HTML" in shown and f"Check {CLASS} first" in other
    assert "this notebook is not in it" in outside


def test_of_ones_own_model_every_head_is_measured_and_none_has_a_name(ours, tmp_path):
    seen = look(ours, "ROMEO: To be or not to be", WEIGHTS)
    assert seen.weights.shape == (2, 4, 25, 25)
    for head in seen.heads:
        before = share_before(seen.weights)[head]
        assert seen.caption(head).startswith(f"{before:.0%} to the previous character; ")
    shown = printed(seen, every=False)
    assert shown.count("to the previous character") == 8 and "same thing" not in shown
    assert "the model that you trained" in page(seen) and "Nothing is claimed" not in page(seen)
    state, settings = load_weights(WEIGHTS)
    other = {name.replace("attention", "mixing"): weight for name, weight in state.items()}
    save_weights(tmp_path / "other.safetensors", other, settings)
    with pytest.raises(CourseError, match="its parts have other names"):
        look(ours, CAT, tmp_path / "other.safetensors")
