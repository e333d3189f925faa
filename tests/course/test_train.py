"""`tensorgrade train` and `talk`: the learner's own model learns, is kept, and writes."""

import io
import re
import signal
import subprocess
import sys

import pytest
import torch
from rich.console import Console
from safetensors.torch import save_file

from exercises.commands.parts.curve import curve
from exercises.commands.parts.heads import far_back, share_before
from exercises.commands.parts.looks import Looks
from exercises.commands.parts.own_code import ATTENTION, GPT, own_gpt
from exercises.commands.parts.screen import Screen
from exercises.commands.parts.texts import ids_of, read_text
from exercises.commands.parts.training import Run, begin, in_two, loss_on, train, write
from exercises.commands.parts.weights_file import (
    Settings,
    fill,
    load_weights,
    make_room,
    save_weights,
)
from tensorgrade.command import Learner
from tensorgrade.course import CourseError
from tensorgrade.course_sources import load_command

from ..commands import ROOT

SMALL = {"context_length": 16, "d": 16, "num_heads": 2, "num_layers": 1}


@pytest.fixture(scope="module")
def gpt(project):
    """The solution's chapter 6 with the solution's chapter 4, as a learner's own."""
    module, own_attention = own_gpt(project.root / "solutions")
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
def test_looking_on_does_not_change_the_run(gpt, story):
    """Samples on the way draw from a chance of their own."""
    text, vocabulary = story
    ids, _ = in_two(ids_of(text, vocabulary), SMALL["context_length"])
    made = begin(gpt, Settings(vocabulary, **SMALL), 6, 3)
    for _ in train(gpt, made, ids, 3):
        write(gpt, made.model, ids[:1], 3, torch.Generator().manual_seed(3))
    assert made.losses == learned(gpt, story, 6)[1]


def test_what_is_held_back_is_not_learned_from():
    ids = torch.arange(5000)
    learned_from, held_back = in_two(ids, 64)
    assert len(held_back) == 500 and torch.equal(torch.cat((learned_from, held_back)), ids)
    assert len(in_two(ids[:1000], 64)[1]) == 128  # one window and more, however short the text


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


def test_what_was_trained_before_is_kept(gpt, story, tmp_path):
    out = tmp_path / "deep" / "own.safetensors"
    assert make_room(out) is None and not out.exists()
    out.write_bytes(b"an earlier run")
    before = make_room(out)
    assert before.name == "own.before.safetensors" and before.read_bytes() == b"an earlier run"
    assert not out.exists()
    with pytest.raises(IsADirectoryError):  # found out before the run, and not after it
        make_room(tmp_path / "deep")


def broken(folder):
    """Other files than ours, by what is wrong with them."""
    (folder / "text").write_text("no weights", "utf-8")
    (folder / "empty").write_bytes(b"")
    save_file({"x": torch.zeros(2)}, folder / "foreign")
    save_file({"x": torch.zeros(2)}, folder / "no json", {"settings": "{"})
    save_file({"x": torch.zeros(2)}, folder / "others", {"settings": '{"sizes": 3}'})
    kinds = '{"vocabulary": "ab", "context_length": "64", "d": 8, "num_heads": 2, "num_layers": 1}'
    save_file({"x": torch.zeros(2)}, folder / "kinds", {"settings": kinds})
    return folder


def test_a_broken_or_foreign_file_is_one_sentence(tmp_path):
    for path in sorted(broken(tmp_path).iterdir()):
        with pytest.raises(CourseError, match=re.escape(str(path))) as told:
            load_weights(path)
        assert "\n" not in str(told.value)
    with pytest.raises(CourseError, match="there is no "):
        load_weights(tmp_path / "nowhere")


def test_weights_of_another_model_are_reported(gpt, story, tmp_path):
    model = begin(gpt, Settings(story[1], **SMALL), 1, 0).model
    wider = begin(gpt, Settings(story[1], **SMALL | {"d": 32}), 1, 0).model
    with pytest.raises(CourseError, match="does not fit your present SmallGPT"):
        fill(model, wider.state_dict(), tmp_path)


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


def test_the_curve_falls_from_the_upper_left():
    lines = curve([float(10 - step) for step in range(10)], 5, 4, whole=10)
    assert [len(line) for line in lines] == [len("10.00 ┤") + 5] * 4
    assert lines[0].startswith("10.00 ┤") and lines[-1].startswith(" 1.00 ┤")
    dots = [[place for place, sign in enumerate(line[7:]) if sign != "⠀"] for line in lines]
    assert dots == sorted(dots) and dots[0][0] == 0 and dots[-1][-1] == 4
    half = curve([2.0, 1.0], 4, 2, whole=4)
    assert all(line[9:] == "⠀⠀" for line in half)  # the other half is still to come


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
def test_an_exercise_that_is_not_right_is_named_and_nothing_is_trained(project, tmp_path):
    source = project.solution("ch6_small_gpt").read_text("utf-8")
    wrong = source.replace("return self.layers(x)", "return x")
    (tmp_path / "ch6_small_gpt.py").write_text(wrong, "utf-8")
    with pytest.raises(CourseError, match="your FeedForward is not right yet"):
        own_gpt(tmp_path)
    with pytest.raises(CourseError, match=r"your LayerNorm is still to do \(6 more"):
        own_gpt(project.exercises)
    with pytest.raises(CourseError, match="there is no "):
        own_gpt(tmp_path / "empty")


@pytest.mark.slow
def test_without_ones_own_attention_the_substitute_is_taken_and_said(project, tmp_path, story):
    (tmp_path / "ch6_small_gpt.py").write_bytes(project.solution("ch6_small_gpt").read_bytes())
    module, own_attention = own_gpt(tmp_path)
    assert not own_attention
    model, losses, _ = learned(module, story, 20)
    assert losses[-1] < losses[0]
    assert "W_query" not in "".join(model.state_dict())


@pytest.mark.slow
def test_a_run_from_its_first_words_to_its_own(project, tmp_path, capsys):
    commands, out = project.exercises / "commands", tmp_path / "own.safetensors"
    solutions = project.root / "solutions"
    load_command(commands / "train.py")("the_verdict", 30, 0, out, solutions)
    told = capsys.readouterr().out
    assert re.search(r"step 1: loss 4\.\d\d\n {4}I", told)  # the story begins with an I
    assert re.search(r"30 steps in \d+ s .*\nloss on text that it has not seen: 3\.\d\d", told)
    assert load_weights(out)[1].context_length == 64
    written = set()
    for _ in range(2):
        load_command(commands / "talk.py")("She wañs", out, 30, 0.8, 0, solutions)
        seen = capsys.readouterr()
        assert seen.out.startswith("She was") and len(seen.out) == len("She was") + 31
        assert seen.err == "(left out, because the model has never seen it: ñ)\n"
        written.add(seen.out)
    assert len(written) == 1
    with pytest.raises(CourseError, match="at least one character"):
        load_command(commands / "talk.py")("ñ", out, 30, 0.8, 0, solutions)


@pytest.mark.slow
def test_a_run_goes_on_from_what_an_earlier_one_wrote(project, tmp_path, capsys, monkeypatch):
    """It begins where that ended; and out may be the very file, which is kept beside it."""
    train_command = load_command(project.exercises / "commands" / "train.py")
    monkeypatch.setitem(
        train_command.__globals__, "own_gpt", lambda folder: (solution(project), True)
    )
    out = tmp_path / "own.safetensors"
    for start in (None, out):
        train_command("the_verdict", 40, 0, out, None, start)
    first, second = re.findall(r"has not seen: (\d\.\d\d)", capsys.readouterr().out)
    assert float(second) < float(first) - 0.1
    assert load_weights(tmp_path / "own.before.safetensors")[1] == load_weights(out)[1]
    with pytest.raises(CourseError, match=r"there is no .*nothing"):
        train_command("the_verdict", 1, 0, out, None, tmp_path / "nothing.safetensors")
    assert load_weights(out), "it was looked for before anything was moved"


def solution(project):
    """The solution's chapter 6 and 4, without the checks that tell that they are right."""
    learner = Learner(project.exercises, project.root / "solutions")
    return learner.code(GPT, {ATTENTION: learner.code(ATTENTION)})


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_ctrl_c_keeps_the_weights(tmp_path):
    """The signal comes after the first step, with a hundred thousand before it."""
    out = tmp_path / "own.safetensors"
    command = [sys.executable, "-m", "tensorgrade.cli", "train", "--folder", "solutions"]
    options = ["--text", "the_verdict", "--steps", "100000", "--out", str(out)]
    with subprocess.Popen(
        [sys.executable, "-u", *command[1:], *options],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        # A shell starts what runs in its background deaf to Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        for line in process.stdout:
            if line.startswith("step 1:"):
                process.send_signal(signal.SIGINT)
                break
        rest = process.stdout.read()
    assert process.returncode == 0
    assert "the weights are kept" in rest and re.search(r"\d+ steps in \d+ s", rest)
    assert load_weights(out)[0]


def test_where_heads_look_is_reported_from_time_to_time(gpt, story):
    text, vocabulary = story
    settings = Settings(vocabulary, **SMALL)
    run = begin(gpt, settings, 3, seed=3)
    looks = Looks(gpt.MultiHeadAttention, settings, ids_of(text, vocabulary)[:12])
    looks.look(run.model, 1)
    assert looks.steps == [1] and looks.shares[0].shape == looks.distances[0].shape == (1, 2)
    # Before anything is learned, weight is spread over what is seen: of i + 1 tokens one each.
    even = torch.ones(12, 12).tril() / torch.arange(1, 13)[:, None]
    assert torch.allclose(looks.distances[0], far_back(even).expand(1, 2), atol=0.3)
    assert torch.allclose(looks.shares[0], share_before(even).expand(1, 2), atol=0.05)
    assert [column.header for column in looks.table().columns] == ["step", "1.1", "1.2"]


def test_a_model_whose_parts_have_other_names_is_left_alone(gpt, story):
    _, vocabulary = story
    looks = Looks(gpt.MultiHeadAttention, Settings(vocabulary, **SMALL), torch.arange(5))
    looks.look(torch.nn.Linear(2, 3), 1)
    assert looks.steps == []


@pytest.mark.slow
def test_in_a_notebook_it_writes_and_shows_its_heads(gpt, capsys):
    talk = load_command(ROOT / "exercises" / "commands" / "talk.py").__globals__["in_notebook"]
    own = gpt.SmallGPT, gpt.generate, gpt.MultiHeadAttention
    talk(*own, "ROMEO:", str(ROOT / "solutions" / "my_model.safetensors"))
    shown = capsys.readouterr().out
    assert shown.startswith("ROMEO:") and len(shown.partition("<IPython")[0]) > 300
    talk(*own, "ROMEO:", "no_such_file.safetensors")
    shown = capsys.readouterr().out
    assert shown.startswith("The model cannot write yet (there is no no_such_file.safetensors;")
