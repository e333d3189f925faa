"""Cases, checks and known mistakes of the exercise train_step."""

from itertools import cycle

from tensorgrade.author import call, case, check, construct, describe, it, load, weights

from ..steps import BATCH, FEATURES
from .SmallGPT import ids


def cases(draw):
    """Return cases (vocab_size, b, n, rate, steps) with two parameters and gradients far above 1.

    Every other step gets only one short text.
    """
    vocab, b = draw(FEATURES, BATCH)
    return [
        case("one step/one text", *trained(5, 1, 3, 0.02, 1)),
        case("one step/drawn", *trained(vocab, b, 9, 0.1, 1)),
        case("steps/3", *trained(4, 2, 3, 0.03, 3)),
        case("steps/drawn", *trained(vocab, b, 9, 0.04, 5)),
        # Some code clears the gradients after the step, so its first step uses old ones.
        case("steps/gradients left", *trained(4, 2, 3, 0.03, 2, left=True)),
    ]


def trained(vocab, b, n, rate, steps, left=False):
    """Return steps that train on different texts and then describe the model's parameters.

    left: give the model gradients before the first step.
    """
    model = construct("InTraining", given=True, vocab_size=vocab, context_length=n)
    optimizer = construct("Descent", given=True, model=model, lr=rate)
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


CHECKS = [
    check(
        2,
        "After one step, the model's parameters have the expected values.",
        it.agrees("one step", only="module"),
    ),
    check(
        2, "The loss before the step is returned as a float.", it.agrees("one step", strict=True)
    ),
    check(
        2.5,
        "Steps do not reuse earlier gradients; the optimizer's own state stays.",
        it.agrees("steps"),
    ),
    check(0.5, "The arguments stay unchanged.", it.keeps_inputs("one step", "steps")),
]


MISTAKES = """
gradients_not_cleared: The gradients of earlier steps are not cleared, and torch adds to them.
    optimizer.zero_grad() -> pass
no_step_taken 50%: No parameter changes. Is a step taken after `backward`, and before the gradients
  are cleared?
    optimizer.step() -> pass
gradients_clipped: The gradients are clipped to a norm of at most 1 before the step. The step should
  use them unchanged.
    - optimizer.step()
    + nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    + optimizer.step()
cleared_after_the_step_only: The gradients are cleared only after the step, so the first step uses
  older ones. Clear them before `backward`.
    optimizer.zero_grad() -> pass
    - optimizer.step()
    + optimizer.step()
    + optimizer.zero_grad()
step_taken_twice: The step is taken twice.
    - optimizer.step()
    + optimizer.step()
    + optimizer.step()
trained_in_evaluation: The model is in evaluation mode during the step, which switches off what acts
  in training only, such as dropout.
    - optimizer.zero_grad()
    + model.eval()
    + optimizer.zero_grad()
loss_as_a_tensor: The loss is returned as a tensor instead of a float.
    return loss.item() -> return loss
loss_after_the_step: The loss after the step is returned instead of the one before it.
    return loss.item() -> return cross_entropy(model(inputs), targets).item()
targets_shifted_again: The targets are shifted once more. They are already the next tokens.
    model(inputs), targets -> model(inputs)[:, :-1], targets[:, 1:]
inputs_for_targets: The model learns to predict its own inputs; the targets are the next tokens.
    loss = cross_entropy(model(inputs), targets) -> loss = cross_entropy(model(inputs), inputs)
loss_of_the_last_place: Only the last position contributes to the loss; each position should.
    model(inputs), targets -> model(inputs)[:, -1], targets[:, -1]
"""
