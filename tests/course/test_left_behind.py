"""Would it run on a GPU? What a moved module leaves behind is told without one, with its line; what
torch lets two devices do together, and what cannot be tried, costs nothing."""

import pytest

from tensorgrade.instructor.grader import Grader
from tensorgrade.judging.diagnosis import Wrong
from tensorgrade.messages.message import render
from tensorgrade.recognition.mistakes import make, mistake
from tensorgrade.sources.submission import Source

from ..sampling import first_of_each

CHAPTERS = {
    "CausalAttention": "ch3_causal_attention",
    "MultiHeadAttention": "ch4_multi_head_attention",
}
MADE = 'self.register_buffer("mask", future.bool())'
CUT = "future = self.mask[:num_tokens, :num_tokens]"
FILL = "attn_scores = attn_scores.masked_fill(future, -torch.inf)"
DROP = "attn_weights = self.dropout(attn_weights)"
INDENT = "\n        "
LEAST = "least = torch.full((num_tokens, num_tokens), torch.finfo(x.dtype).min)"
KEEP = "keep = torch.rand(attn_weights.shape) >= self.dropout.p"
KEPT = "attn_weights = attn_weights * keep / (1 - self.dropout.p)"
SHUT = "shut = self.seen[:num_tokens, :num_tokens] == 0"
IN_ALL = "torch.ones(num_tokens, num_tokens).triu(1)"
ROWS = "torch.arange(num_tokens)"
STAYS, IS_MADE = "`{}` stays on the CPU", "`{}` is created on the CPU"

# Edits, what is said of the tensor, and a piece of the line that is blamed.
WRONG = {
    "plain_attribute": ([(MADE, "self.mask = future.bool()")], STAYS.format("self.mask"), FILL),
    "another_plain_attribute": (
        [
            (MADE, f"{MADE}{INDENT}self.hidden = future.bool()"),
            (CUT, CUT.replace("mask", "hidden")),
        ],
        STAYS.format("self.hidden"),
        FILL,
    ),
    "changed_on_the_way": (
        [
            (MADE, f"{MADE}{INDENT}self.seen = 1 - future"),
            (FILL, SHUT + INDENT + FILL.replace("future", "shut")),
        ],
        STAYS.format("self.seen"),
        FILL.replace("future", "shut"),
    ),
    "made_on_the_fly": ([(CUT, f"future = {IN_ALL}.bool()")], IS_MADE.format("future"), FILL),
    "filled_in_place": (
        [
            (CUT, f"future = {IN_ALL}.bool()"),
            (FILL, "attn_scores.masked_fill_(future, -torch.inf)"),
        ],
        IS_MADE.format("future"),
        "masked_fill_",
    ),
    "where": (
        [
            (CUT, f"hidden = {ROWS}[None] > {ROWS}[:, None]"),
            (FILL, "attn_scores = torch.where(hidden, -torch.inf, attn_scores)"),
        ],
        IS_MADE.format("hidden"),
        "torch.where",
    ),
    "added": (
        [(FILL, f"{LEAST}{INDENT}attn_scores = attn_scores + least.triu(1)")],
        IS_MADE.format("least"),
        "attn_scores + least",
    ),
    "without_a_name": (
        [(FILL, FILL.replace("future", f"{IN_ALL} > 0"))],
        "a tensor is created on the CPU",
        "masked_fill",
    ),
    "assigned_to_places": (
        [(FILL, f"attn_scores[..., future] = torch.full(({IN_ALL}.sum().int(),), -torch.inf)")],
        "a tensor is created on the CPU",
        "attn_scores[..., future]",
    ),
    "chance_on_the_cpu": (
        [(DROP, f"{KEEP}{INDENT}if self.training:{INDENT}    {KEPT}")],
        IS_MADE.format("keep"),
        "attn_weights * keep",
    ),
}
RIGHT = {
    "made_where_x_is": [(CUT, f"future = {IN_ALL.replace(').', ', device=x.device).')}.bool()")],
    "carried_over": [(CUT, f"future = {IN_ALL}.bool().to(x.device)")],
    "made_like_the_scores": [(CUT, "future = torch.ones_like(attn_scores).triu(1).bool()")],
    "places_named_on_the_cpu": [
        (CUT, f"future = {IN_ALL}.bool()"),
        (FILL, "attn_scores[..., future] = -torch.inf"),
    ],
    "one_number_on_the_cpu": [
        (FILL, "attn_scores = torch.where(future, torch.tensor(-torch.inf), attn_scores)")
    ],
    "asks_for_a_number": [(FILL, f"if future.sum().item() > 0:\n            {FILL}")],
    "asks_whether_any": [(FILL, f"if future.any():\n            {FILL}")],
    "looks_at_numpy": [(DROP, f"{DROP}\n        attn_weights.detach().numpy()")],
    "copied_in": [
        (FILL, f"filled = torch.zeros_like(attn_scores)\n        filled.copy_({FILL[14:]})"),
        ("d_k = keys", "attn_scores = filled\n        d_k = keys"),
    ],
}


@pytest.fixture(scope="module")
def attempt_of(project, grader: Grader):
    """An attempt with edits of one exercise's solution, run."""

    def made(exercise: str, edits: list):
        chapter = CHAPTERS[exercise]
        solution = project.solution(chapter).read_text(encoding="utf-8")
        text = make(solution, exercise, [mistake("edited", "", {exercise: tuple(edits)})])
        attempt = grader.maker.attempt_from_source(chapter, Source(text, f"{chapter}.py"))
        attempt.run([exercise])
        attempt.backend.close()
        return attempt, text.splitlines()

    return made


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("exercise", first_of_each(CHAPTERS, type))
def test_what_is_left_behind_is_reported_with_its_line(attempt_of, exercise, name):
    edits, said, blamed = WRONG[name]
    attempt, lines = attempt_of(exercise, edits)
    with pytest.raises(Wrong) as wrong:
        getattr(attempt, exercise).moves_as_a_whole("moved")
    problem = render(wrong.value.diagnosis.problem)
    assert said in problem
    line = int(problem.removeprefix("line ").partition(":")[0])
    assert blamed in lines[line - 1], (problem, lines[line - 1])
    getattr(attempt, exercise).agrees("values")  # on the CPU nothing shows


@pytest.mark.slow
@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("exercise", first_of_each(CHAPTERS, type))
def test_what_would_run_on_a_gpu_or_cannot_be_tried_costs_nothing(
    attempt_of, grader, exercise, name
):
    attempt, _ = attempt_of(exercise, RIGHT[name])
    results = grader.collected.results(attempt, exercise)
    assert [result for result in results if not result.passed] == []


@pytest.mark.slow
def test_who_keeps_a_buffer_and_uses_another_tensor_loses_little(attempt_of, grader):
    attempt, _ = attempt_of("CausalAttention", WRONG["another_plain_attribute"][0])
    lost = [r for r in grader.collected.results(attempt, "CausalAttention") if not r.passed]
    assert [result.points for result in lost] == [0.5]
