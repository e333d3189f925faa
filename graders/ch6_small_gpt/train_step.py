"""Cases, tests and known mistakes of the exercise train_step."""

from itertools import cycle

from tensorgrade import exercise
from tensorgrade.author import call, case, construct, describe, load, mistake, weights

from ..sizes import BATCH, FEATURES, Sizes
from .SmallGPT import ids


def cases(pick):
    """(vocab_size, b, n, rate, steps): a model of two parameters, gradients well above 1.

    Every other step gets one short text alone.
    """
    draw = Sizes(pick, "train_step")
    b, vocab = draw(BATCH, FEATURES)
    one = pick(public=[(4, 2, 3, 0.03, 1)], hidden=[(5, 3, 4, 0.02, 1), (vocab, b, 6, 0.1, 1)])
    more = pick(public=[(4, 2, 3, 0.03, 3)], hidden=[(6, 2, 5, 0.04, 5)])
    return [
        *(case(f"one step/{size}", *trained(*size)) for size in one),
        *(case(f"steps/{size}", *trained(*size)) for size in more),
        # An idiom clears them after the step: then the first step takes what others have left.
        case("steps/gradients left", *trained(4, 2, 3, 0.03, 2, left=True)),
    ]


def trained(vocab, b, n, rate, steps, left=False):
    """So many steps on other texts; then the model's parameters are looked at.

    left: whether the model has gradients before the first one.
    """
    model = construct("InTraining", given=True, vocab_size=vocab, context_length=n)
    optimizer = construct("descent", given=True, model=model, lr=rate)
    calls = [
        call(
            "train_step",
            model=model,
            optimizer=optimizer,
            inputs=ids(vocab, *size),
            targets=ids(vocab, *size),
            result="result" if step == steps - 1 else f"loss{step}",
        )
        for step, size in zip(range(steps), cycle(((b, n), (1, min(2, n)))), strict=False)
    ]
    values = load({"table": weights(vocab, vocab), "bias": weights(vocab)}, on=model)
    before = [construct("with_gradients_left", given=True, model=model)] if left else []
    return model, values, optimizer, *before, *calls, describe(on=model, state=True)


def anything(chance):
    """Return one valid call, with random sizes and options, on which all right answers agree."""
    vocab, b, n, steps = (chance.randint(1, top) for top in (8, 5, 7, 4))
    return case("anything", *trained(vocab + 1, b, n, chance.choice([0.005, 0.03, 0.1]), steps))


@exercise("train_step", points=2)
def test_train_step_one(attempt):
    """The model's parameters are where one step leads."""
    attempt.train_step.agrees("one step", only="module")


@exercise("train_step", points=2)
def test_train_step_loss(attempt):
    """The loss before the step comes back, as a float."""
    attempt.train_step.agrees("one step", strict=True)


@exercise("train_step", points=2.5)
def test_train_step_more(attempt):
    """No step remembers the gradients of one before; what the optimizer remembers stays."""
    attempt.train_step.agrees("steps")


@exercise("train_step", points=0.5)
def test_train_step_inputs(attempt):
    """The arguments stay unchanged."""
    attempt.train_step.keeps_inputs("one step", "steps")


CLEAR, STEP = "optimizer.zero_grad()", "optimizer.step()"
LOSS = "loss = cross_entropy(model(inputs), targets)"

MISTAKES = [
    mistake(
        "gradients_not_cleared",
        "The gradients of earlier steps are never cleared, and torch adds to them.",
        (CLEAR, "pass"),
    ),
    mistake(
        "no_step_taken",
        "No parameter changes: there is no step, or no gradients when it is taken (without "
        "`backward`, before it, or after they were cleared).",
        (STEP, "pass"),
    ),
    mistake(
        "cleared_before_the_step",
        "The gradients are cleared between `backward` and the step, so the step has none.",
        (CLEAR, "pass"),
        (STEP, f"{CLEAR}\n    {STEP}"),
        same_as="no_step_taken",
    ),
    mistake(
        "stepped_before_backward",
        "The step is taken before `backward`, when there are no gradients yet.",
        (f"loss.backward()\n    {STEP}", f"{STEP}\n    loss.backward()"),
        same_as="no_step_taken",
    ),
    mistake(
        "gradients_clipped",
        "The gradients are made shorter before the step: together they are at most 1 long. Here "
        "the step is taken with the gradients as they are.",
        (STEP, f"nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n    {STEP}"),
    ),
    mistake(
        "cleared_after_the_step_only",
        "The gradients are cleared after the step only, so the first step takes those that were "
        "there before. Clear them before `backward`.",
        (CLEAR, "pass"),
        (STEP, f"{STEP}\n    {CLEAR}"),
    ),
    mistake(
        "step_taken_twice",
        "The step is taken twice.",
        (STEP, f"{STEP}\n    {STEP}"),
    ),
    mistake(
        "loss_as_a_tensor",
        "The loss comes back as a tensor. A float is asked for.",
        ("return loss.item()", "return loss"),
    ),
    mistake(
        "loss_after_the_step",
        "The loss after the step comes back; the one before it is asked for.",
        ("return loss.item()", "return cross_entropy(model(inputs), targets).item()"),
    ),
    mistake(
        "inputs_for_targets",
        "The model is told to foresee its own inputs; the targets are what comes next.",
        (LOSS, "loss = cross_entropy(model(inputs), inputs)"),
    ),
    mistake(
        "loss_of_the_last_place",
        "Only the last place is learned from; every place has a target.",
        (LOSS, "loss = cross_entropy(model(inputs)[:, -1], targets[:, -1])"),
    ),
]
