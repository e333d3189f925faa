"""`tensorgrade train` and `talk`: the learner's own model learns, is kept, and writes."""

import io
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from rich.console import Console
from safetensors.torch import save_file

from exercises.commands.parts.own_code import own_gpt
from exercises.commands.parts.screen import Screen
from exercises.commands.parts.texts import ids_of, read_text
from exercises.commands.parts.training import Run, begin, in_two, loss_on, train
from exercises.commands.parts.weights_file import (
    Settings,
    fill,
    load_weights,
    save_weights,
)
from tensorgrade import CourseError

from ..answers.reader import solution
from ..support import ROOT, cli
from ..support import begin as start

GPT = "ch6_small_gpt"
SMALL = {"context_length": 16, "d": 16, "num_heads": 2, "num_layers": 1}


@pytest.fixture(scope="module")
def gpt():
    """The solution's chapter 6 with the solution's chapter 4, as a learner's own."""
    torch.set_num_threads(1)
    module, own_attention = own_gpt(ROOT / "solutions")
    assert own_attention
    return module


@pytest.fixture(scope="module")
def story():
    """(text, vocabulary) of the short one."""
    text = read_text("the_verdict")
    return text, "".join(sorted(set(text)))


def learned(gpt, story, steps, seed=3):
    """A small model after some steps on the story, its losses, and the end of the story."""
    text, vocabulary = story
    settings = Settings(vocabulary, **SMALL)
    ids, held_back = in_two(ids_of(text, vocabulary), settings.context_length)
    made = begin(gpt, settings, steps, seed)
    losses = list(train(gpt, made, ids, seed))
    return made.model, losses, held_back


def loss_of(model, held_back):
    return loss_on(model, held_back, SMALL["context_length"])


@pytest.mark.slow
def test_a_few_steps_learn_something_and_the_same_seed_the_same(gpt, story):
    before, _, held_back = learned(gpt, story, 0)
    model, losses, _ = learned(gpt, story, 150)
    assert len(losses) == 150
    assert loss_of(model, held_back) < loss_of(before, held_back) - 0.5
    again, losses_again, _ = learned(gpt, story, 150)
    assert losses == losses_again
    assert all(
        torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters(), strict=True)
    )
    assert learned(gpt, story, 2, seed=4)[1] != losses[:2]


@pytest.mark.slow
def test_weights_come_back_with_their_settings(gpt, story, tmp_path):
    model, _, held_back = learned(gpt, story, 3)
    settings = Settings(story[1], **SMALL)
    save_weights(tmp_path / "own.safetensors", model.state_dict(), settings)
    (tmp_path / "as usual").touch()  # it has the usual access rights
    modes = [path.stat().st_mode for path in tmp_path.iterdir()]
    assert len(modes) == 2 and len(set(modes)) == 1
    state, told = load_weights(tmp_path / "own.safetensors")
    assert told == settings
    other = begin(gpt, told, 1, seed=9).model
    assert loss_of(other, held_back) != loss_of(model, held_back)
    fill(other, state, tmp_path)
    assert loss_of(other, held_back) == loss_of(model, held_back)
    wider = begin(gpt, Settings(story[1], **SMALL | {"d": 32}), 1, 0).model
    with pytest.raises(CourseError, match="does not fit your present SmallGPT"):
        fill(model, wider.state_dict(), tmp_path)


def test_a_broken_or_foreign_file_is_one_sentence(tmp_path):
    tensors = {"x": torch.zeros(2)}
    sizes = '{"vocabulary": "ab", "context_length": "64", "d": 8, "num_heads": 2, "num_layers": 1}'
    (tmp_path / "text").write_text("no weights", "utf-8")
    save_file(tensors, tmp_path / "foreign")
    for name, settings in {"no json": "{", "others": '{"sizes": 3}', "kinds": sizes}.items():
        save_file(tensors, tmp_path / name, {"settings": settings})
    for path in tmp_path.iterdir():
        with pytest.raises(CourseError, match=re.escape(str(path))) as told:
            load_weights(path)
        assert "\n" not in str(told.value)
    with pytest.raises(CourseError, match="there is no "):
        load_weights(tmp_path / "nowhere")


def test_texts_by_name_and_by_path(tmp_path):
    assert len(read_text("shakespeare")) == 1_115_394 and "Verdict" not in read_text("shakespeare")
    (tmp_path / "own.txt").write_text("äöü " * 300, "utf-8")
    assert read_text(str(tmp_path / "own.txt")).startswith("äöü")
    (tmp_path / "short.txt").write_text("short", "utf-8")
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\x00" * 999)
    for name, said in {
        "nothing": "use shakespeare, the_verdict",
        str(tmp_path / "short.txt"): "has 5 characters",
        str(tmp_path / "bytes.txt"): "is not UTF-8",
    }.items():
        with pytest.raises(CourseError, match=said):
            read_text(name)


def test_the_picture_in_a_terminal_from_the_first_moment_on():
    console = Console(file=io.StringIO(), force_terminal=True, width=80)
    screen = Screen(console, Run(torch.nn.Identity(), 20))
    with screen.open():
        for loss in (4.0, 3.0, 2.0):
            console.print(screen.picture())  # drawn with and without a loss
            screen.run.losses.append(loss)
            screen.step()
            screen.wrote("once upon")
    shown = console.file.getvalue()
    assert "step 0 of 20" in shown and "loss 2.00" in shown.split("step 3 of 20")[-1]
    assert " 4.00 ┤" in shown and "once upon" in shown and "Ctrl-C stops and saves" in shown


@pytest.mark.slow
def test_an_exercise_that_is_not_right_is_named_and_without_attention_a_substitute_is_taken(
    tmp_path,
):
    wrong = solution(GPT).replace("return self.layers(x)", "return x")
    (tmp_path / f"{GPT}.py").write_text(wrong, "utf-8")
    for folder, said in {
        tmp_path: "your FeedForward is not right yet",
        ROOT / "exercises": r"your LayerNorm is still to do \(6 more",
        tmp_path / "empty": "there is no ",
    }.items():
        with pytest.raises(CourseError, match=said):
            own_gpt(folder)
    (tmp_path / f"{GPT}.py").write_text(solution(GPT), "utf-8")
    module, own_attention = own_gpt(tmp_path)
    assert not own_attention
    settings = Settings("abc", **SMALL)
    assert "W_query" not in "".join(begin(module, settings, 1, 0).model.state_dict())


def told(*words: object) -> str:
    """Return what a command says with the solutions as a learner's files."""
    done = cli(*words, "--folder", ROOT / "solutions")
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def first_run(tmp_path_factory) -> tuple[Path, str]:
    """The weights of a short run, and what it said."""
    out = tmp_path_factory.mktemp("run") / "own.safetensors"
    return out, told("train", "--text", "the_verdict", "--steps", "30", "--out", out)


def losses_in(said: str) -> list[float]:
    """Return the losses on text that the model has not seen."""
    return [float(one) for one in re.findall(r"has not seen: (\d\.\d\d)", said)]


@pytest.mark.slow
def test_a_run_from_its_first_words_to_its_own(first_run):
    out, said = first_run
    assert re.search(r"step 1: loss 4\.\d\d\n {4}I", said)  # the story begins with an I
    assert 3 < losses_in(said)[0] < 4 and load_weights(out)[1].context_length == 64
    text = told("talk", "She wañs", "--weights", out, "--length", "30")
    assert text.startswith("She was")
    assert "(left out, because the model has never seen it: ñ)" in text


@pytest.mark.slow
def test_a_run_goes_on_from_what_an_earlier_one_wrote(first_run, tmp_path):
    """out may be the very file, which is kept beside it."""
    out = Path(shutil.copy(first_run[0], tmp_path / "own.safetensors"))
    options = ("--text", "the_verdict", "--steps", "30", "--out", out, "--from", out)
    assert losses_in(told("train", *options))[0] < losses_in(first_run[1])[0] - 0.1
    assert load_weights(tmp_path / "own.before.safetensors")[1] == load_weights(out)[1]


@pytest.mark.slow
def test_commands_refuse_what_they_cannot_begin_with(first_run):
    out = first_run[0]
    for words, said in {
        ("talk", "ñ", "--weights", out): "at least one character",
        ("train", "--steps", "1", "--out", out, "--from", out.with_name("nothing")): "there is no",
    }.items():
        done = cli(*words, "--folder", ROOT / "solutions")
        assert done.returncode and said in " ".join((done.stdout + done.stderr).split())
    assert load_weights(out), "it was looked for before anything was moved"


@pytest.mark.slow
def test_ctrl_c_keeps_the_weights(tmp_path):
    """The signal comes after the first step, with a hundred thousand before it."""
    out = tmp_path / "own.safetensors"
    options = ("--text", "the_verdict", "--steps", "100000", "--out", out)
    process = start("train", *options, "--folder", "solutions", PYTHONUNBUFFERED="1")
    for line in process.stdout:
        if line.startswith("step 1:"):
            process.send_signal(signal.SIGINT)
            break
    rest = process.stdout.read()
    assert process.wait(300) == 0
    assert "the weights are kept" in rest and re.search(r"\d+ steps in \d+ s", rest)
    assert load_weights(out)[0]


# The lesson's cell imports the command like this.
IMPORT = next(line[2:] for line in solution(GPT).splitlines() if "import command" in line)
CELL = f"""
import sys, torch
torch.set_num_threads(1)
sys.path.insert(0, "../solutions")
from ch4_multi_head_attention import MultiHeadAttention
from {GPT} import SmallGPT, generate
{IMPORT}
for path in (sys.argv[1], "no_such_file.safetensors"):
    command("talk", SmallGPT, generate, MultiHeadAttention, "ROMEO:", path)
"""


@pytest.mark.slow
def test_in_a_notebook_it_writes_and_shows_its_heads(gpt, tmp_path):
    own, settings = tmp_path / "own.safetensors", Settings("\n:EMORabc", **SMALL)
    save_weights(own, begin(gpt, settings, 1, 0).model.state_dict(), settings)
    command = [sys.executable, "-c", CELL, own]
    done = subprocess.run(command, cwd=ROOT / "exercises", capture_output=True, text=True)
    text, _, rest = done.stdout.partition("<IPython")
    assert text.startswith("ROMEO:") and len(text) > 300, done.stderr
    assert "The model cannot write yet (there is no no_such_file.safetensors;" in rest
