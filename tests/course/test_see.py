"""`tensorgrade see` runs the learner's own class, and its captions are true."""

import io
import re
import shutil
from pathlib import Path

import pytest
import torch
from rich.console import Console

from exercises.commands.parts.heads import all_heads, share_after_the_same, share_before
from exercises.commands.parts.seen import AFTER, BEFORE, WEIGHTS, look
from exercises.commands.parts.seen_page import figures, page
from exercises.commands.parts.seen_terminal import print_seen
from exercises.commands.parts.texts import ids_of, read_text
from exercises.commands.parts.weights_file import load_weights, save_weights
from tensorgrade.command import Learner
from tensorgrade.course import CourseError
from tensorgrade.course_sources import load_command
from tensorgrade.grader_files import import_from
from tensorgrade.runner.loading import load_module
from tensorgrade.runner.serve import install_given
from tensorgrade.sources.submission import read_given

from ..commands import ROOT

CHAPTER = "ch4_multi_head_attention"
CAT = "the cat sat on the mat, and the cat ran"
MORE = sorted((ROOT / "tests" / "right_answers" / CHAPTER).glob("*.py"))


def attention_in(path: Path):
    """The MultiHeadAttention of a file; None where it has none."""
    install_given(read_given(ROOT / "exercises", CHAPTER, [CHAPTER, "ch3_causal_attention"])[0])
    module, _ = load_module(CHAPTER, path.read_text("utf-8"), str(path), definitions_only=True)
    return getattr(module, "MultiHeadAttention", None)


@pytest.fixture(scope="module")
def ours(project):
    return attention_in(project.solution(CHAPTER))


@pytest.fixture(scope="module")
def trained():
    """(weights, settings) of the shipped model."""
    return load_weights(WEIGHTS)


@pytest.fixture(scope="module")
def random_twice(trained):
    """Twenty stretches of random characters, no two alike in one, each standing there twice."""
    chance = torch.Generator().manual_seed(2027)
    stretches = [torch.randperm(len(trained[1].vocabulary), generator=chance) for _ in range(20)]
    return [stretch[:30].repeat(2) for stretch in stretches]


@pytest.fixture(scope="module")
def never_seen(trained):
    """Twenty pieces of a text that the model was not trained on."""
    vocabulary = trained[1].vocabulary
    ids = ids_of(read_text("the_verdict"), vocabulary, len(vocabulary) - 1)
    return [ids[at : at + 64] for at in range(0, 20_000, 1000)]


def heads_on(ours, trained, texts):
    return [all_heads(ours, *trained, ids) for ids in texts]


def test_the_model_is_small():
    assert WEIGHTS.stat().st_size < 1_000_000


@pytest.mark.slow
def test_one_head_looks_at_the_token_before(ours, trained, never_seen, random_twice):
    """Measured: 0.99 and more on each text; its neighbours 0.02 to 0.2."""
    for weights in heads_on(ours, trained, [*never_seen, *random_twice]):
        shares = share_before(weights)
        assert shares[BEFORE] > 0.97
        others = shares.flatten()[1:]
        assert BEFORE == (0, 0) and others.max() < 0.5


@pytest.mark.slow
def test_one_head_looks_at_what_came_after_the_same(ours, trained, random_twice):
    """Measured: 0.92 on average, 0.90 at least; no head of the first layer above 0.03."""
    seen = zip(random_twice, heads_on(ours, trained, random_twice), strict=True)
    shares = torch.stack([share_after_the_same(weights, ids) for ids, weights in seen])
    assert shares[:, *AFTER].mean() > 0.85 and shares[:, *AFTER].min() > 0.75
    assert shares[:, 0].max() < 0.2


def test_the_shares_are_those_of_matrices_made_by_hand():
    ids = torch.tensor([5, 6, 7, 5, 6])  # row 3 may look at place 1, row 4 at place 2
    before, after = torch.zeros(5, 5), torch.zeros(5, 5)
    before[range(1, 5), range(4)] = 1.0
    after[3, 1], after[4, 2], after[4, 4] = 1.0, 0.5, 0.5
    assert share_before(before) == 1 and share_after_the_same(before, ids) == 0
    assert share_before(after) == 0 and share_after_the_same(after, ids) == 0.75
    assert share_after_the_same(after, torch.arange(5)).isnan()


def test_it_is_the_trained_models_own_attention(ours, project, trained):
    """The weights that a layer's output gives away are those that its softmax made."""
    state, settings = trained
    ids = ids_of(CAT, settings.vocabulary)
    made = []

    def kept(scores, dim):
        made.append(softmax(scores, dim=dim))
        return made[-1]

    softmax, torch.softmax = torch.softmax, kept
    try:
        given = all_heads(ours, state, settings, ids)
    finally:
        torch.softmax = softmax
    inside = torch.cat([weights for weights in made if weights.shape[-1] == len(ids)])
    assert len(inside) == 4  # each layer attends twice: for its weights, and for its output
    assert torch.allclose(inside[0::2], given, atol=1e-5)
    assert torch.allclose(inside[1::2], given, atol=1e-5)


@pytest.mark.parametrize("path", MORE, ids=lambda path: path.stem)
def test_every_right_answer_shows_the_same(ours, trained, path):
    other = attention_in(path)
    if other is None:  # a file about other exercises of the chapter
        assert "class MultiHeadAttention(" not in path.read_text("utf-8")
        return
    ids = ids_of(CAT, trained[1].vocabulary)
    given = all_heads(other, *trained, ids)
    assert torch.allclose(given, all_heads(ours, *trained, ids), atol=1e-4)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("attn_scores / d_k**0.5", "attn_scores"),
        ("attn_scores.masked_fill(future, -torch.inf)", "attn_scores"),
        ("keys.transpose(2, 3)", "values.transpose(2, 3)"),
    ],
)
def test_a_wrong_answer_shows_something_else(ours, project, trained, tmp_path, right, wrong):
    text = project.solution(CHAPTER).read_text("utf-8")
    assert right in text
    (tmp_path / "wrong.py").write_text(text.replace(right, wrong), "utf-8")
    ids = ids_of(CAT, trained[1].vocabulary)
    given = all_heads(attention_in(tmp_path / "wrong.py"), *trained, ids)
    assert not torch.allclose(given, all_heads(ours, *trained, ids), atol=0.05)


def test_a_class_without_one_of_its_layers_is_reported(ours):
    class Without(ours):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            self.W_q = self.W_query
            del self.W_query

    with pytest.raises(CourseError, match=r"has no W_query\.weight of shape"):
        look(Without, CAT)


def test_what_is_said_of_a_text(ours):
    seen = look(ours, CAT)
    assert seen.notes == [] and seen.weights.shape == (2, 4, 39, 39)
    assert torch.allclose(seen.weights.sum(-1), torch.ones(2, 4, 39), atol=1e-4)
    assert re.search(
        r"looks at the previous character: (99|100)% of its weight", seen.caption(BEFORE)
    )
    assert re.fullmatch(
        r"At the end of “.*ca” it gives 9\d% to the “t” after “.*ca”", seen.example(AFTER)
    )
    assert seen.example(BEFORE) == "" and seen.caption((0, 3)) == ""


def test_texts_that_do_not_fit(ours):
    long = look(ours, "x" * 70)
    assert len(long.characters) == 64 and "first 64 characters" in long.notes[0]
    strange = look(ours, "né 漢字 né 漢字")
    assert "never seen 字漢;" in strange.notes[0]  # the accent alone is no trouble
    assert "nothing occurs twice" in look(ours, "abcd").caption(AFTER)
    with pytest.raises(CourseError, match="two characters"):
        look(ours, "x")


def test_the_page_is_self_contained_and_escapes_typed_text(ours):
    seen = look(ours, "<b>a & b</b> <b>a & b</b>")
    for text in (page(seen), figures(seen)):
        assert "<b>a & b" not in text and "&lt;b&gt;a &amp; b" in text
        assert "<script" not in text and "src=" not in text and "http" not in text
        assert text.count("<svg") == 8
    assert "Layer 2, head 4" in page(seen) and "<!doctype html>" not in figures(seen)


@pytest.mark.slow
@pytest.mark.parametrize("every", [False, True])
def test_colours_are_half_blocks_and_shades_do_without(ours, every):
    seen, shown = look(ours, CAT), {}
    for colours in ("truecolor", None):
        console = Console(file=io.StringIO(), force_terminal=True, color_system=colours, width=90)
        print_seen(console, seen, every)
        shown[colours] = console.file.getvalue()
    heads = 8 if every else 2
    assert shown["truecolor"].count("▀") == heads * 39 * 20  # two of 39 rows on a line
    assert "▀" not in shown[None] and shown[None].count("█") >= 38
    for text in shown.values():
        assert text.count("head ") >= heads and "Layer 2, head 4" in text


@pytest.mark.slow
def test_the_command(project, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    see, out = load_command(project.exercises / "commands" / "see.py"), tmp_path / "heads.html"
    see(CAT, False, out, False, folder=project.root / "solutions")
    shown = capsys.readouterr().out
    assert "Layer 1, head 1 looks at the previous character" in shown
    assert "\nt  █" in shown and max(map(len, shown.splitlines()[:-1])) <= 80
    assert shown.endswith(f"{out}\n") and out.read_text("utf-8").count("<svg") == 8
    with pytest.raises(CourseError, match="your MultiHeadAttention is still to do; `pytest"):
        see(CAT, False, None, False, folder=project.exercises)


@pytest.mark.slow
def test_beside_an_untouched_notebook_the_script_counts(project, tmp_path):
    """In the kit, notebooks contain the given code of find-the-bug exercises."""
    (tmp_path / "exercises").symlink_to(project.exercises)
    for folder in ("mine", "notebooks"):
        (tmp_path / folder).mkdir()
    shutil.copy(project.root / "release" / CHAPTER / f"{CHAPTER}.ipynb", tmp_path / "notebooks")
    shutil.copy(project.solution(CHAPTER), tmp_path / "mine")
    learner = Learner(tmp_path / "exercises", tmp_path / "mine")
    assert learner.source(CHAPTER).filename.endswith(f"{CHAPTER}.py")
    assert learner.lacks(["MultiHeadAttention"]) == {}


def test_the_cell_below_chapter_4(ours, project, capsys, monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda html: shown.append(html.data))
    from tensorgrade.notebook import command

    cell = project.solution(CHAPTER).read_text("utf-8")
    assert f'# command("see", MultiHeadAttention, "{CAT}")' in cell
    monkeypatch.chdir(project.root / "exercises")
    command("see", ours, CAT)
    assert shown and "Layer 2, head 4" in shown[0]
    with monkeypatch.context() as wrong:  # a notebook in which the class is wrong
        seeing = load_command(project.exercises / "commands" / "see.py").__globals__
        wrong.setitem(seeing, "is_wrong_here", lambda exercise: exercise == "MultiHeadAttention")
        shown.clear()
        seeing["in_notebook"](ours, CAT)
    assert not shown and "your MultiHeadAttention is not right" in capsys.readouterr().out
    command("see", lambda *sizes: torch.nn.Identity(), CAT)
    assert "Check MultiHeadAttention first" in capsys.readouterr().out
    monkeypatch.chdir("/")
    command("see", ours, CAT)
    assert "this notebook is not in it" in capsys.readouterr().out
    assert import_from(project.exercises / "commands", "see").in_notebook


OWN = ROOT / "solutions" / "my_model.safetensors"


def test_of_ones_own_model_every_head_is_measured_and_none_has_a_name(ours):
    seen = look(ours, "ROMEO: To be or not to be", OWN)
    assert seen.weights.shape == (2, 4, 25, 25)
    assert torch.allclose(seen.weights.sum(-1), torch.ones(2, 4, 25), atol=1e-5)
    for head in seen.heads:
        before = share_before(seen.weights)[head]
        assert seen.caption(head).startswith(f"{before:.0%} to the previous character; ")
    console = Console(file=io.StringIO(), width=120, no_color=True)
    print_seen(console, seen, every=False)
    shown = console.file.getvalue()
    assert shown.count("to the previous character") == 8 and "same thing" not in shown
    assert "the model that you trained" in page(seen) and "Nothing is claimed" not in page(seen)


def test_weights_under_other_names_are_one_sentence(ours, tmp_path):
    state, settings = load_weights(OWN)
    other = {name.replace("attention", "mixing"): weight for name, weight in state.items()}
    save_weights(tmp_path / "other.safetensors", other, settings)
    with pytest.raises(CourseError, match="its parts have other names"):
        look(ours, CAT, tmp_path / "other.safetensors")
