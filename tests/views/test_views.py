"""The end of a run shows a learner one idea at a time, in plain text and in colours."""

import io
import re
import sys
from dataclasses import replace

import pytest
import torch
from rich.console import Console

from tensorgrade.attempts.public_side import read_trace
from tensorgrade.attempts.recognized import mistakes
from tensorgrade.attempts.results import CheckResult, Rule, Topic
from tensorgrade.author.proofs.made_attempts import MadeAttempts
from tensorgrade.course import Chapter, Exercise
from tensorgrade.course_sources import load_course
from tensorgrade.exchange.observation import CaughtError, Observation
from tensorgrade.judging.diagnosis import Diagnosis, Finding, Kind, PublicDiagnosis
from tensorgrade.judging.divergence import Divergence
from tensorgrade.judging.errors import raised
from tensorgrade.judging.learner_names import Names
from tensorgrade.messages.message import Plain, Sentences
from tensorgrade.messages.verdicts import EarlierIsWrong
from tensorgrade.recognition.mistakes import make
from tensorgrade.runner.instrumentation import ShapeTrace
from tensorgrade.views.comparison import MOST, Block, Cell, drawn, window
from tensorgrade.views.hints import print_where_hints_are
from tensorgrade.views.note import Note
from tensorgrade.views.points import how_earned
from tensorgrade.views.summary import in_short, points_of, print_chapter, print_line
from tensorgrade.views.words import place_in_file

from ..commands import run as run_module
from ..commands import run_pytest

CH2, CH4 = "ch2_self_attention", "ch4_multi_head_attention"


def run(chapter, *arguments, columns=80, **environment):
    """The output of `pytest exercises/` on one chapter, as on a terminal."""
    tests = f"exercises/test_{chapter}.py"
    options = ("-q", "--no-plain", tests, *arguments)
    return run_pytest(*options, COLUMNS=str(columns), **environment).stdout


def with_mistakes(project, tmp_path, chapter, **mistakes):
    """A folder with a chapter's solution and these mistakes in it, by exercise."""
    known = {mistake.name: mistake for mistake in project.mistakes}
    source = project.solution(chapter).read_text(encoding="utf-8")
    for exercise, names in mistakes.items():
        source = make(source, exercise, [known[name] for name in names.split()])
    (tmp_path / f"{chapter}.py").write_text(source, encoding="utf-8")
    return tmp_path


@pytest.mark.slow
def test_untouched_stubs_end_with_where_to_start(project):
    text = run(CH2)
    assert "Start here: project_qkv" in text and "exercises/ch2_self_attention.py:" in text
    assert "Read its docstring" in text and "tensorgrade hint project_qkv -n 1" in text
    assert (
        "0 of 54 points" in text and "raise NotImplementedError" not in text.split("Start here")[0]
    )


@pytest.mark.slow
def test_a_wrong_answer_reads_like_a_note(project, tmp_path):
    folder = with_mistakes(
        project, tmp_path, CH2, attention_weights="no_scale", SelfAttention_v1="no_softmax"
    )
    text = run(CH2, "--attempt", folder)
    line = next(
        n
        for n, row in enumerate((folder / f"{CH2}.py").read_text().splitlines(), 1)
        if row.startswith("def attention_weights")
    )
    for sentence in (
        "Work on this first: attention_weights",
        "7 of 10 points: 2 of 7 checks passed; known mistake: −3.",
        "The scores go into the softmax unscaled.",
        "called    attention_weights(queries: (6, 2), keys: (6, 2))",
        "expected (6, 6)",
        "yours (6, 6)",
        "≠ differs; ░▒▓█ small to large",
        "✗ attention_weights                   7 / 10   no_scale",
        "✓ project_qkv                         5 / 5    done",
    ):
        assert sentence in text, text
    assert f"/{CH2}.py:{line}" in "".join(text.split())  # a long path is broken across lines
    assert text.count("Work on this first") == 1  # the other wrong exercise can wait


@pytest.mark.slow
def test_of_two_mistakes_one_is_reported_at_a_time(project, tmp_path):
    folder = with_mistakes(
        project, tmp_path, CH4, MultiHeadAttention="scaled_by_sqrt_d_out dropout_left_out"
    )
    text = run(CH4, "--attempt", folder)
    assert "scaled_by_sqrt_d_out, and 1 more" in text  # a plain call comes before one in training
    assert "The scale comes from all of d_out." in text and "There is a second mistake" in text
    assert "Nothing is dropped in training" not in text


@pytest.mark.slow
def test_an_error_comes_with_the_shapes_on_the_way_to_it(project, tmp_path):
    folder = with_mistakes(project, tmp_path, CH4, MultiHeadAttention="heads_left_beside_features")
    text = run(CH4, "--attempt", folder)
    lines = (folder / f"{CH4}.py").read_text().splitlines()
    start = next(
        n for n, row in enumerate(lines, 1) if row.startswith("class MultiHeadAttention(nn.Module)")
    )
    place = {
        what: next(n for n, row in enumerate(lines, 1) if what in row and n > start)
        for what in ("queries = self.W_query", "attn_scores = queries", "attn_scores.masked_fill")
    }
    assert re.search(
        rf"line {place['queries = self.W_query']}  queries +\(2, 6, 2\)\n",
        re.sub(" +\n", "\n", text),
    ), text
    assert re.search(
        rf"line {place['attn_scores = queries']}  attn_scores +\(2, 6, 2, 2\)\n",
        re.sub(" +\n", "\n", text),
    )
    assert f"line {place['attn_scores.masked_fill']}  it ends here" in text
    assert "shapes in your code, in MultiHeadAttention.forward" in text


def test_shapes_are_traced_in_the_learners_file_only_and_other_tracers_come_back():
    code = compile("def f(x):\n    y = x.mT\n    return (y @ x).relu()\n", "learner.py", "exec")
    names = {}
    exec(code, names)
    before = sys.gettrace()
    with ShapeTrace("learner.py") as trace:
        names["f"](torch.zeros(2, 3))
        torch.nn.Linear(2, 2)(torch.zeros(1, 2))
    assert sys.gettrace() is before
    assert trace.steps == [[1, "x", [2, 3]], [2, "y", [3, 2]], [3, "return", [3, 3]]]


def test_a_forged_trace_is_left_out():
    forged = [[1, "x", [2]], "x", [1, 2, 3], [1, "y", ["2"]], [None, "z", [1]], [2, "w", [3, 4]]]
    assert read_trace(Observation(facts={"result": {"trace": forged}})) == [
        (1, "x", (2,)),
        (2, "w", (3, 4)),
    ]
    assert read_trace(Observation(facts={"result": {"trace": "long"}, "load": {}})) == []


@pytest.mark.slow
def test_hints_grow(project):
    one, two = run(CH2, "--hint", 1), run(CH2, "--hint", 2)
    assert "hint 1  " in one and "hint 2  " not in one and "hint project_qkv -n 2" in one
    assert "hint 1  " in two and "hint 2  " in two


def test_without_a_name_hint_tells_where_hints_are(project):
    said = io.StringIO()
    course = load_course(project.exercises)
    print_where_hints_are(Console(file=said, width=80), course.chapters)
    for chapter in course.chapters:
        assert chapter.title in said.getvalue()
    assert re.search(r"project_qkv +\d hints?\n", said.getvalue())
    assert "tensorgrade hint attention_scores" in said.getvalue()
    bare = project.course  # an author has the hints next to the answers
    print_where_hints_are(Console(file=(nothing := io.StringIO())), bare.chapters)
    assert nothing.getvalue() == "There are no hints here.\n"


@pytest.mark.slow
def test_hint_without_a_name_is_no_error(project):
    ran = run_module("tensorgrade.cli", "hint", cwd=project.root)
    assert ran.returncode == 0 and "tensorgrade hint attention_scores" in ran.stdout


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 100])
def test_no_line_is_wider_than_the_terminal(project, tmp_path, columns):
    folder = with_mistakes(
        project,
        tmp_path,
        CH2,
        SelfAttention_v2="weights_transposed",
        attention_weights="t_on_a_batch",
    )
    text = run(CH2, "--attempt", folder, "--hint", 3, columns=columns)
    assert max(map(len, text.splitlines())) <= columns


@pytest.mark.slow
def test_colours_only_where_they_are_asked_for(project, tmp_path):
    folder = with_mistakes(project, tmp_path, CH2, attention_weights="no_scale")
    plain = run(CH2, "--attempt", folder)
    rich = run(
        CH2,
        "--attempt",
        folder,
        "--color=yes",
        TERM="xterm-256color",
        COLORTERM="truecolor",
    )
    assert "\x1b" not in plain and "\x1b[" in rich
    words = re.sub(r"\x1b\[[0-9;]*m", "", rich)
    assert "The scores go into the softmax unscaled." in words and ".229≠" in words  # marks stay


def test_titles_bars_and_points_substitute_columns():
    console = Console(file=io.StringIO(), width=80, highlight=False)
    for title in (
        "Short",
        "A title of middling length",
        "One that is longer than any column could ever hold, really",
    ):
        print_line(console, title, 1, 2)
    lines = console.file.getvalue().splitlines()
    assert len(lines) == 4 and len({line.index("█") for line in lines if "█" in line}) == 1
    assert all(line.endswith("1 of 2 points") for line in lines if "█" in line)


@pytest.mark.parametrize("width, said", [(80, "1 / 2    mixed_up"), (48, "· g    0 / 2    to do")])
def test_a_narrow_terminal_leaves_room_for_what_is_wrong(width, said):
    chapter = Chapter("ch1", "Pairs", (Exercise("f", 2), Exercise("g", 2)))
    wrong = Finding("", PublicDiagnosis(Kind.VALUES, Plain("wrong")), mistakes={"mixed_up": "So."})
    todo = Finding("", PublicDiagnosis(Kind.TO_DO, Plain("to do")))
    results = {
        "f": [CheckResult("f", 1, True), CheckResult("f", 1, False, finding=wrong)],
        "g": [CheckResult("g", 2, False, finding=todo)],
    }
    console = Console(file=io.StringIO(), width=width, highlight=False, color_system=None)
    print_chapter(console, chapter, results)
    text = console.file.getvalue()
    assert said in text and "1 / 2    mixed_up" in text and "0 / 2    to do" in text
    assert len({line.index(" / ") for line in text.splitlines() if " / " in line}) == 1


def finding_of(**details) -> Finding:
    problem = Plain("the values are wrong")
    return Finding("Values.", PublicDiagnosis(Kind.VALUES, problem, lambda: "f(x: 2)", **details))


def note_of(**details) -> str:
    """The note on a terminal without colours."""
    note = Note(finding_of(**details))
    return "\n".join(line.plain for line in (*note.top(), *note.body(80, colour=False)))


def values(actual, expected) -> dict:
    return {"actual": actual, "expected": expected, "differs": actual != expected}


def test_a_plain_fault_has_its_own_line_and_no_other_place():
    said = Sentences((Plain("your values become wrong on line 7"),))
    faulty = replace(
        finding_of(**values(torch.ones(2), torch.zeros(2))),
        find_divergence=lambda: Divergence(7, said=said),
        fact=Plain("the `return` on line 9 is inside a loop"),
        fact_line=9,
        line=5,
    )
    note = Note(faulty, "ch1.py", 3)
    assert note.where() == "ch1.py:9" and "become wrong" not in str(note)
    assert Note(replace(faulty, fact_line=None), "ch1.py", 3).where() == "ch1.py:7"


def test_the_part_that_differs_is_shown_with_its_index_in_python():
    expected = torch.zeros(3, 2, 20, 4)
    actual = expected.clone()
    actual[1, 1, 17, 2] = 5.0
    text = note_of(**values(actual, expected))
    assert "[1, 1, 12:20, 0:4] of each; ≠ differs" in text and "5.00≠" in text


def test_small_things_are_shown_unchanged():
    assert "7.00≠" in note_of(**values(torch.tensor(7.0), torch.tensor(3.0)))
    assert "nan≠" in note_of(**values(torch.tensor([torch.nan]), torch.tensor([1.0])))
    assert "T≠" in note_of(**values(torch.tensor([True]), torch.tensor([False])))
    assert note_of(**values(torch.zeros(0, 3), torch.zeros(0, 3)))


def test_numbers_have_as_many_digits_as_differ():
    expected, actual = torch.tensor([0.3333, 0.5]), torch.tensor([0.3334, 0.5])
    text = note_of(**values(actual, expected))
    assert ".3333" in text and ".3334≠" in text
    assert "At [0]: expected 0.3333, yours 0.3334." in str(
        Note(finding_of(**values(actual, expected)))
    )


def test_other_shapes_are_named_and_not_drawn():
    text = note_of(actual=torch.zeros(3), expected=torch.zeros(2, 2))
    assert "expected  (2, 2)\nyours     (3,)\n" in text and "░" not in text


def test_dtypes_are_shown_unless_both_are_float32():
    half = note_of(**values(torch.ones(2).double(), torch.zeros(2)))
    assert "expected (2,), float32" in half and "yours (2,), float64" in half
    assert "float32" not in note_of(**values(torch.ones(2), torch.zeros(2)))


def test_blocks_are_side_by_side_in_a_narrow_window_with_fewer_columns():
    expected, actual = torch.zeros(8, 8), torch.full((8, 8), -0.25)
    note = Note(finding_of(**values(actual, expected)))
    for width in (40, 56, 76):
        lines = [line.plain for line in note.compared(width, colour=False)]
        assert "expected" in lines[0] and "yours" in lines[0]
        assert max(map(len, lines[:-1])) <= width
    assert len(note.compared(76, colour=True, rows=2)) == 4  # a title, two rows, the legend


DRAWN = set("░▒▓█✓✗·≠│─")


def test_a_plain_note_has_sentences_and_no_drawings():
    expected = torch.zeros(3, 3)
    text = str(Note(finding_of(**values(expected + 1, expected)), "exercises/ch1.py", 12))
    assert text.splitlines()[:3] == [
        "The values are wrong.",
        "Where: exercises/ch1.py:12",
        "At [0, 0]: expected 0.000, yours 1.00.",
    ]
    assert "5 more of 9 entries differ." in text and not DRAWN & set(text)


def test_a_hidden_diagnosis_shows_no_values():
    text = str(
        Note(
            Finding(
                "Values.",
                Diagnosis(
                    Kind.VALUES,
                    Plain("it differs"),
                    lambda: "f(x: 2)",
                    actual=torch.full((2, 2), 0.125),
                ),
            )
        )
    )
    assert "It differs." in text and ".125" not in text


def test_a_wrong_earlier_exercise_is_reported_after_the_mistake():
    diagnosis = Diagnosis(Kind.VALUES, Plain("the values are wrong"))
    found = Finding("", diagnosis, {"no_sum": "No sum."}, earlier=EarlierIsWrong("halves"))
    said = " ".join(str(Note(found)).split())
    word = "It calls your own `halves`, which is wrong: fix that first."
    assert said == f"No sum. [no_sum] {word} Problem: the values are wrong"


def test_shades_and_marks_are_there_without_colour_and_numbers_with_it():
    row = [Cell(".000", 0, False, False), Cell("1.00", 4, False, True)]
    (_, plain), (_, coloured) = (drawn(Block("", [row]), colour) for colour in (False, True))
    assert plain.plain == " .000 █1.00≠" and coloured.plain == " .000  1.00≠"
    assert all(span.style.bgcolor and span.style.color for span in coloured.spans)  # for any theme


def test_a_window_is_never_larger_than_the_block():
    for size in (1, 7, 8, 9, 30):
        differs = torch.zeros(size, size, dtype=torch.bool)
        differs[-1, -1] = True
        part = window(differs).of(differs)
        assert max(part.shape) <= MOST and bool(part.any())


def test_a_place_names_the_last_definition(tmp_path, monkeypatch):
    path = tmp_path / "a.py"
    path.write_text("def f(): pass\n\ndef f(): pass\n")
    assert place_in_file(path, "f") == f"{path}:3" and place_in_file(path, "g") == str(path)
    monkeypatch.chdir(tmp_path)  # a terminal in this folder opens the short path on a click
    assert place_in_file(path, "f") == "a.py:3"
    assert place_in_file(tmp_path / "b.py", "f") == "b.py"


@pytest.mark.slow
def test_explain_shows_cases_differences_and_near_misses(project, grader, tmp_path):
    from tensorgrade.instructor.explain import explain, print_explanation

    folder = tmp_path / "ann" / CH2
    folder.mkdir(parents=True)
    with_mistakes(project, folder, CH2, attention_weights="scaled_by_a_constant")
    console = Console(file=io.StringIO(), width=80, highlight=False, color_system=None)
    print_explanation(console, explain(grader, "ann", "attention_weights", tmp_path))
    text = " ".join(console.file.getvalue().split())
    assert "ann, attention_weights: partial, 7 of 10 points" in text
    assert "mistakes recognized: scaled_by_a_constant" in text
    assert "✗ 2.8 of 4 Softmax of scaled scores, for every d_k." in text
    assert "times as large as it should be" in text and "≠ differs" in text
    assert "12 of 12 cases scaled_by_a_constant" in text


def test_the_solution_is_never_named_wrong(project):
    attempt = MadeAttempts(project, project.exercises).right(CH2)
    attempt.run(["attention_weights"])
    part = attempt.attention_weights
    part.agrees("values")
    assert mistakes(part) == ()


@pytest.mark.slow
def test_what_may_be_sent_to_a_learner_shows_their_code_and_nothing_hidden(grader, tmp_path):
    from tensorgrade.instructor.explain import explain, for_learner

    chapter = "ch2_self_attention"
    (tmp_path / "ann" / chapter).mkdir(parents=True)
    own = "def attention_weights(queries, keys):\n    return queries @ keys.mT  # \x1b[31mmine\n"
    (tmp_path / "ann" / chapter / f"{chapter}.py").write_text(f"import torch\n{own}")
    told = explain(grader, "ann", "attention_weights", tmp_path)
    text = for_learner(told)
    assert "return queries @ keys.mT" in text and "\x1b" not in text and "import" not in text
    assert told.verdict.message in text and text.startswith("attention_weights: ")
    for check in told.checks:
        assert check.asks not in text
    for seen in told.part.seen:
        assert seen.case.name not in text


@pytest.mark.parametrize(
    "rule, words",
    [
        (None, ""),
        (Rule.LOST_DIMENSIONS, "; dimensions of size 1 lost: −1"),
        (Rule.FORBIDDEN, "; a forbidden call: −1"),
        (Rule.EARLIER, "; only an earlier exercise is wrong: −1"),
        (Rule.REPAIR, "; only what you fixed counts: −1"),
        (Rule.MISTAKE, "; known mistake: −1"),
    ],
)
def test_the_rule_behind_the_points_is_told(rule, words):
    checks = [
        CheckResult("mean", 2.0, True, earned_points=1.5, rule=rule),
        CheckResult("mean", 2.0, False, earned_points=1.5, rule=rule),
    ]
    assert how_earned(checks, 4.0) == f"1 of 2 checks passed{words}"


def test_the_short_line_gives_no_advice_that_contradicts_the_note():
    text = "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
    error = CaughtError("RuntimeError", text, line=4)
    said = in_short(Diagnosis(Kind.ERROR, raised(error, str), error=error))
    assert said == "line 4: Can't call numpy() on Tensor that requires grad"


def printed(project, *checks: CheckResult) -> str:
    """Return the plain lines on a chapter in which one exercise has these checks."""
    console = Console(file=(file := io.StringIO()), width=80)
    print_chapter(console, project.course.chapters[0], {checks[0].exercise: [*checks]}, plain=True)
    return file.getvalue()


def test_a_right_exercise_that_calls_a_wrong_one_is_said_to_wait(project):
    found = Finding("", Diagnosis(Kind.FACT, EarlierIsWrong("softmax_naive")))
    check = CheckResult("softmax", 10.0, False, "", found, 10.0, Rule.EARLIER)
    said = "softmax: right, but waits for `softmax_naive`, 10 of 10 points\n"
    assert said in printed(project, check)
    assert how_earned([check], 10) == "0 of 1 check passed; only an earlier exercise is wrong"


def test_a_right_exercise_with_another_name_is_said_to_be_misnamed(project):
    finding = Names({"softmax": "soft_max"}).finding(1.0, right=True)
    names = CheckResult("softmax", 0.0, False, "", finding, -1.0, about=Topic.NAMES)
    said = "softmax: misnamed, 9 of 10 points: `soft_max` should be called `softmax`\n"
    assert said in printed(project, CheckResult("softmax", 10.0, True), names)


def test_the_line_on_points_says_how_they_came_about(project):
    exercise = project.course.chapters[0].exercises[0]
    half = exercise.points / 2
    checks = [CheckResult("mean", half, True), CheckResult("mean", half, False)]
    told = points_of(exercise, checks, project.course, {exercise.name: checks})
    assert told == f"{half:g} of {exercise.points:g} points: 1 of 2 checks passed."
