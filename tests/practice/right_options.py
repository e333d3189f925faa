"""Compute again, in this process, which options of a question are right."""

import torch

from tensorgrade.attempts.lab import Lab
from tensorgrade.attempts.public_side import read_trace
from tensorgrade.exchange.cases import spoken_shape
from tensorgrade.exchange.traces import with_stages
from tensorgrade.practice.questions import Question, with_other_end
from tensorgrade.practice.variants import plain


def right_options(maker, attempt, question: Question) -> list[str]:
    """The options of a question that are right, by running the code again."""
    proof = question.proof
    (case,) = (
        one for one, _ in attempt.references.of(question.exercise) if one.name == proof["case"]
    )

    def seen(case, text=None):
        program = attempt.program if text is None else attempt.program.with_text(text)
        with torch.compiler.set_stance("force_eager"):  # as in the learner's process
            return Lab(None, attempt.course.limits).run(program, [case])[0]

    match question.kind:
        case "shape":
            steps = read_trace(seen(with_stages(case)))
            sizes = {size for at, name, size in steps if (at, name) == (proof["at"], proof["name"])}
            shown = {spoken_shape(size) for size in sizes}
            return [one for one in question.options if one in shown]
        case "leak":
            told = [line for line in question.text.split("\n") if line.startswith("edit ")]
            leaking = set()
            for text in (proof["leaks"], proof["safe"]):
                if rows_change(seen(case, text), seen(with_other_end(case), text)):
                    leaking.add(number_of(attempt, question, told, text))
            known = {0: "neither edit", 2: "both edits"}
            right = known.get(len(leaking)) or f"only edit {leaking.pop()}"
            return [one for one in question.options if one == right]
        case "gradients":
            before, after = gradients(seen(case)), gradients(seen(case, proof["edited"]))
            changed = [name for name in before if differs(before, after, name, proof["removed"])]
            wanted = ", ".join(changed) or "none of them"
            return [one for one in question.options if one == wanted]
        case "same":
            texts = [proof["same"], *proof["other"]]
            first = seen(case).tensors
            kept = [text for text in texts if equal(first, seen(case, text).tensors)]
            told = {description(attempt, question.exercise, text) for text in kept}
            return [one for one in question.options if one.split(", ", 1)[1] in told]
    raise AssertionError(question.kind)


def rows_change(one, other) -> bool:
    """Whether rows of the result before the last one differ."""
    first, second = one.tensors["result"], other.tensors["result"]
    return not torch.allclose(first[..., :-1, :], second[..., :-1, :], atol=1e-6)


def number_of(attempt, question, told, text) -> int:
    """The number under which a question lists an edit."""
    said = description(attempt, question.exercise, text)
    return next(n for n, line in enumerate(told, 1) if line.split(", ", 1)[1] == said)


def description(attempt, exercise, text) -> str:
    """An edit in words, without its place."""
    before = plain(attempt.source.text, exercise).split("\n")
    after = plain(text, exercise).split("\n")
    ((old, new),) = [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]]
    return f"`{old.strip()}` becomes `{new.strip()}`"


def gradients(seen) -> dict:
    prefix = "gradient."
    return {n.removeprefix(prefix): t for n, t in seen.tensors.items() if n.startswith(prefix)}


def differs(before, after, name, removed) -> bool:
    """Whether a gradient changes, or for a detached value whether it is gone."""
    now = after.get(name, torch.zeros_like(before[name]))
    if removed:
        return not torch.allclose(before[name], now, atol=1e-6)
    return not now.abs().max() > 1e-6


def equal(one: dict, other: dict) -> bool:
    return one.keys() == other.keys() and all(
        (one[name].shape, one[name].dtype) == (other[name].shape, other[name].dtype)
        and torch.allclose(one[name].double(), other[name].double(), atol=1e-6)
        for name in one
    )
