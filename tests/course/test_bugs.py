"""Find-the-bug exercises for graders and learners: unchanged, fixed and rewritten."""

import nbformat
import pytest

from tensorgrade.attempts.results import State, first_failure, state_of
from tensorgrade.author.building.derive import script_for_learners
from tensorgrade.author.building.script import read_script
from tensorgrade.author.proofs.made_attempts import MadeAttempts
from tensorgrade.author.recording.bugs import bugs_of, candidates, drawn
from tensorgrade.exchange.references import load_references
from tensorgrade.learner.notebook.card import Card
from tensorgrade.learner.notebook.checking import check
from tensorgrade.nbgrader_plugin.script_to_notebook import to_notebook
from tensorgrade.recognition.fingerprints import fingerprints_path, load_fingerprints
from tensorgrade.runner.reading import parts
from tensorgrade.runner.source import Source
from tensorgrade.sources.submitted_files import SubmittedFiles
from tensorgrade.testing.collected import CollectedTests
from tensorgrade.views.note import Note

from ..sampling import first_of_each

CH2, CH6 = "ch2_self_attention", "ch6_small_gpt"
SCALED = "bug_scaled_dot_product_attention"
RIGHT = "    shares = (likeness / width**0.5).softmax(dim=-1)\n"
ANEW = "    return softmax(queries @ keys.mT / keys.shape[-1] ** 0.5, -1) @ values\n"
CH1, SIMPLE = "ch1_simplified_attention", "bug_simplified_self_attention"
OTHER = "simplified_self_attention"
MADE = "import sys\nsys.modules['zz'] = type(sys)('zz')"
SUBSTITUTES = {  # each puts the chapter's right answer in the place of the code that was given
    "assignment": f"{SIMPLE} = {OTHER}",
    "setattr": f"import sys\nsetattr(sys.modules[__name__], '{SIMPLE}', {OTHER})",
    "globals": f"globals()['{SIMPLE}'] = {OTHER}",
    "namespace": f"{SIMPLE}.__globals__['{SIMPLE}'] = {OTHER}",
    "exec": f"exec('{SIMPLE} = {OTHER}')",
    "walrus": f"print({SIMPLE} := {OTHER})",
    "with": f"import contextlib\nwith contextlib.nullcontext({OTHER}) as {SIMPLE}: pass",
    "match": f"match {OTHER}:\n    case {SIMPLE}: pass",
    "loop": f"for {SIMPLE} in [{OTHER}]: pass",
    "block": f"if True:\n    def {SIMPLE}(inputs): return {OTHER}(inputs)",
    "star": f"{MADE}\nsys.modules['zz'].{SIMPLE} = {OTHER}\nfrom zz import *",
    "import": f"{MADE}\nsys.modules['zz'].f = {OTHER}\nfrom zz import f as {SIMPLE}",
    "subclass": f"class A:\n    def __init_subclass__(cls): globals()['{SIMPLE}'] = {OTHER}\n"
    "class B(A): pass",
    "code": f"{SIMPLE}.__code__ = {OTHER}.__code__",
    "lambda": f"{SIMPLE} = lambda inputs: {OTHER}(inputs)",
}
# Each of them has a line in the code that was given, and one elsewhere in the file.
HELPED = {
    "another exercise": (f"{OTHER}(inputs)", ""),
    "a helper": ("helper(inputs, None)", f"def helper(x, more): return {OTHER}(x)"),
    "an attribute of torch": ("torch.helper(inputs)", f"torch.helper = {OTHER}"),
    "an attribute of Tensor": ("inputs.helper()", f"torch.Tensor.helper = {OTHER}"),
    "a built-in": ("helper(inputs)", f"__builtins__['helper'] = {OTHER}"),
}


def bugs(project) -> dict[str, str]:
    """Chapters by their exercises with a bug."""
    chapters = project.course.chapters
    return {e.name: c.name for c in chapters for e in c.exercises if project.bug(c.name, e.name)}


@pytest.fixture
def rows(grader):
    """Grades a text of a chapter; gives the verdicts by exercise."""

    def rows(chapter: str, text: str):
        graded = grader.grade(SubmittedFiles("ada", chapter, f"{chapter}.py", text.encode()))
        return {verdict.exercise: verdict for verdict in graded}

    return rows


def stub(project, chapter: str) -> str:
    return (project.exercises / f"{chapter}.py").read_text(encoding="utf-8")


def given_scaled(project, mistake: str) -> str:
    """The solution of chapter 2 with this mistake in the exercise with a bug."""
    made = {one.name: one for one in candidates(project, CH2, SCALED)}
    ((old, new),) = made[mistake].edits[SCALED]
    source = project.solution(CH2).read_text(encoding="utf-8")
    assert source.count(old) == 1
    return source.replace(old, new)


def test_each_chapter_has_one_at_least_and_there_are_eight(project):
    found = bugs(project)
    assert len(found) >= 8 and set(found.values()) == {c.name for c in project.course.chapters}
    assert all(len(candidates(project, chapter, name)) >= 4 for name, chapter in found.items())


@pytest.mark.slow
def test_what_graders_and_learners_have_is_what_the_seed_draws(project):
    for chapter in {*bugs(project).values()}:
        for folder in (project.exercises, project.graders):
            stored = load_references(folder / "references" / f"{chapter}.safetensors")
            assert stored.bugs == bugs_of(project, chapter)


@pytest.mark.slow
def test_the_kit_does_not_say_which(project):
    for name, chapter in bugs(project).items():
        prints = fingerprints_path(project.exercises / "references", chapter)
        assert load_fingerprints(prints).by_exercise[name] == []
        right = read_script(project.solution(chapter)).exercises[name].source
        script = script_for_learners(project, project.course.chapter(chapter))
        given = script.exercises[name].metadata["given"]
        told = {line for line in right.splitlines() if "###" not in line}
        lost = told - set(given.splitlines())
        assert lost and not lost & set(stub(project, chapter).splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("chapter", [CH2, CH6])
def test_code_as_it_was_given_is_not_attempted_and_earns_nothing(project, rows, chapter):
    text = stub(project, chapter).replace("_attention(\n", "_attention(  # looked at\n")
    for name, verdict in rows(chapter, text).items():
        assert (verdict.status, verdict.points, verdict.mistakes) == ("not_attempted", 0, [])
        assert verdict.message.startswith("Not fixed yet: ") == (name in bugs(project))
        assert verdict.line is None and verdict.stage is None


@pytest.mark.slow
def test_a_repair_has_all_points_and_a_rewrite_all_but_one(project, rows):
    right = project.solution(CH2).read_text(encoding="utf-8")
    assert rows(CH2, right)[SCALED].points == 4
    more = right.replace(RIGHT, "    n = 1 + 1 + 1 + 1 + 1 + 1 + 1\n" + RIGHT)
    for text in (more, right.replace(RIGHT, "    from torch import softmax\n" + ANEW)):
        verdict = rows(CH2, text)[SCALED]
        assert (verdict.points, verdict.status) == (3, "partial")
        assert "It is right, but it is rewritten: " in verdict.message
        assert not verdict.group  # it is right


def with_given(project, change: str = "") -> str:
    """The solution of chapter 1 with the code that was given; change: its last line, if another."""
    right, name = project.solution(CH1).read_text(encoding="utf-8"), f"def {SIMPLE}("
    given = load_references(project.graders / "references" / f"{CH1}.safetensors").bugs[SIMPLE]
    given = given[given.index(name) :]
    lines = given.splitlines()
    # So that it counts as changed.
    last = [f"    return {change}"] if change else ["    pass", lines[-1]]
    first = right.index(name)
    return right[:first] + "\n".join([*lines[:-1], *last]) + right[right.index("\n# %%", first) :]


def is_replaced(verdict) -> bool:
    assert verdict.message.startswith("`bug_")
    assert "In this exercise it runs alone" in verdict.message
    return (verdict.points, verdict.status, verdict.line) == (0, "failed", None)


@pytest.mark.slow
@pytest.mark.parametrize("way", SUBSTITUTES)
def test_another_function_in_its_place_earns_nothing(project, rows, way):
    found = rows(CH1, f"{with_given(project)}\n{SUBSTITUTES[way]}\n")
    assert is_replaced(found[SIMPLE])
    assert found[OTHER].status == "passed"


@pytest.mark.parametrize("way", first_of_each(HELPED, type))
def test_nothing_else_of_the_file_helps_the_definition(project, rows, way):
    change, line = HELPED[way]
    found = rows(CH1, f"{with_given(project, change)}\n{line}\n")
    assert is_replaced(found[SIMPLE])


@pytest.mark.slow
def test_what_is_in_the_place_of_a_repair_costs_nothing(project, rows):
    """Only the definition counts, whatever the file does with its name afterwards."""
    right = project.solution(CH1).read_text(encoding="utf-8")
    for line in (SUBSTITUTES["setattr"], f"globals()['{SIMPLE}'] = None"):
        assert rows(CH1, f"{right}\n{line}\n")[SIMPLE].points == 4


@pytest.mark.slow
def test_a_repair_may_use_imports_of_the_file_and_type_hints_of_any_kind(project, rows):
    text = project.solution(CH2).read_text(encoding="utf-8")
    text = text.replace("import torch\n", "import torch\nimport math\nMatrix = torch.Tensor\n", 1)
    text = text.replace(RIGHT, RIGHT.replace("width**0.5", "math.sqrt(width)"))
    first = text.index(f"def {SCALED}(")
    text = text[:first] + text[first:].replace("queries: torch.Tensor", "queries: Matrix", 1)
    assert rows(CH2, text)[SCALED].points == 4


def test_in_self_check_the_definition_is_run_alone_too(project):
    text = f"{with_given(project)}\n{SUBSTITUTES['setattr']}\n"
    found = check(project.exercises, SIMPLE, Source(text, f"{CH1}.py"))
    assert (found.state, found.points) == ("wrong", 0)
    assert "In this exercise it runs alone" in Card(found)._repr_html_()


@pytest.mark.slow
def test_another_mistake_is_reported_without_its_name_its_line_or_its_repair(project, rows):
    other = next(m for m in candidates(project, CH2, SCALED) if m != drawn(project, CH2, SCALED))
    verdict = rows(CH2, given_scaled(project, other.name))[SCALED]
    assert verdict.points < 4 and verdict.mistakes == [] and verdict.group
    assert (verdict.line, verdict.stage, verdict.sure) == (None, None, "observed")
    assert other.message not in verdict.message and "one small change" not in verdict.message


@pytest.mark.slow
def test_a_file_without_it_and_one_that_cannot_be_read_earn_nothing(project, rows):
    for text in (
        "import torch\n",
        f"def {SCALED}(queries, keys, values):\n    return values\n",
        "(",
    ):
        verdict = rows(CH2, text)[SCALED]
        assert verdict.points == 0 and verdict.status in ("not_attempted", "failed", "error")


@pytest.mark.slow
@pytest.mark.parametrize("mistake", ["no_scale", "softmax_over_columns"])
def test_learners_learn_what_fails_and_not_what_it_is(project, mistake):
    given = {m.name: m for m in candidates(project, CH2, SCALED)}[mistake]
    text = given_scaled(project, mistake)
    made = MadeAttempts(project, project.exercises)
    collected = CollectedTests(project.exercises)
    attempt = made.attempt(
        CH2, text, {SCALED: f"import torch\n{text[text.index(f'def {SCALED}') :]}"}
    )
    results = collected.results(attempt, SCALED)
    assert state_of(results) == State.TO_DO and sum(check.earned for check in results) == 0
    note = str(Note(first_failure(results).finding))
    assert "ot fixed yet: " in note and given.message not in note and mistake not in note


@pytest.mark.slow
def test_a_card_shows_what_fails_though_nothing_is_begun(project):
    cell = stub(project, CH2)
    found = check(project.exercises, SCALED, Source(cell, f"{CH2}.py"))
    page = Card(found)._repr_html_()
    assert found.state == "to do" and found.points == 0
    assert "Not fixed yet: " in page and "All checks" in page and "Write your answer" not in page
    right = project.solution(CH2).read_text(encoding="utf-8")
    assert check(project.exercises, SCALED, Source(right, f"{CH2}.py")).points == 4


def test_a_script_is_converted_into_the_cell_of_the_notebook(project):
    released = project.root / "release" / CH2 / f"{CH2}.ipynb"
    right = project.solution(CH2).read_text(encoding="utf-8")
    converted = to_notebook(parts(right), released)
    cell = next(cell for cell in converted.cells if cell.id == SCALED)
    assert RIGHT in cell.source + "\n"
    before = nbformat.read(released, as_version=4).cells
    assert not any(RIGHT in cell.source for cell in before)
