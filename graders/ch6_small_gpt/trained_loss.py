"""Cases, checks and known mistakes of the exercise trained_loss."""

from tensorgrade.author import call, case, check, construct, it, load, mode, weights

from ..steps import BATCH, FEATURES
from .SmallGPT import ids


def cases(draw):
    """Return cases (vocab_size, b, n) whose model differs in training."""
    vocab, b, tens = draw(FEATURES, BATCH, (26, 32))
    many = 10 * tens + 1  # windows that do not divide into equal batches of any usual size
    sizes = [(4, 7, 3), (5, 1, 2), (vocab, b, 9)]
    return [
        *(case(f"values/{size}", *measured(size, training=False)) for size in sizes),
        case("many/windows", *measured((vocab, many, 9), training=False)),
        *(case(f"training/{size}", *measured(size, training=True)) for size in sizes),
    ]


def in_training(vocab, n):
    """Construct a small model, and fill it."""
    model = construct("InTraining", given=True, vocab_size=vocab, context_length=n)
    return model, load({"table": weights(vocab, vocab), "bias": weights(vocab)}, on=model)


def measured(size, training):
    """Return the loss of a model left in training or evaluation, and then the model again."""
    vocab, b, n = size
    model, values = in_training(vocab, n)
    windows = ids(vocab, b, n + 1)
    return (
        *(model, values, mode(training, on=model)),
        call("trained_loss", model=model, windows=windows),
        call(model, ids=ids(vocab, 2, n), result="next"),
    )


CHECKS = [
    check(
        2.5, "The mean loss at the last position.", it.agrees("values", only="result", strict=True)
    ),
    check(1, "Each of many windows counts the same.", it.agrees("many", only="result")),
    check(
        1,
        "The model runs in evaluation, whatever its mode was.",
        it.agrees("training", only="result"),
    ),
    check(
        0.5,
        "Windows and model stay unchanged, and so does the model's mode.",
        it.keeps_inputs("values", "training", objects=True),
        it.agrees("values", only="next"),
        it.agrees("training", only="next"),
    ),
]


MISTAKES = """
loss_at_every_place 40%: The loss of all positions is returned. Use only the last position: there
  the model has seen the whole window but not the next token.
    logits = model(windows[:, :-1])[:, -1] -> logits = model(windows[:, :-1])
    windows[:, -1] -> windows[:, 1:]
loss_at_the_first_place 40%: The loss of the first position is returned instead of the last one's.
    logits = model(windows[:, :-1])[:, -1] -> logits = model(windows[:, :-1])[:, 0]
    windows[:, -1] -> windows[:, 1]
own_last_token_foreseen 40%: The model predicts a token that it has already seen; it should predict
  the next one.
    windows[:, -1] -> windows[:, -2]
measured_in_training: The model runs in the mode that it was left in; switch it to evaluation first.
    model.eval() -> pass
mode_left_changed: The model is left in another mode than before, and the caller may continue to
  train it.
    model.train(training) -> pass
always_back_to_training: The model is left in training mode, even if it was in evaluation before.
    model.train(training) -> model.train()
measured_loss_as_a_tensor 30%: The loss is returned as a tensor instead of a float.
    windows[:, -1]).item() -> windows[:, -1])
measured_loss_summed 40%: The losses of all windows are added up; return their mean.
    windows[:, -1]).item() -> windows[:, -1]).item() * len(windows)
measured_loss_negative 40%: The sign of the loss is reversed: the better the model, the smaller it
  should be.
    cross_entropy( -> -cross_entropy(
likelihood_for_loss 40%: The probability of the right tokens is returned; the loss is minus its
  logarithm.
    cross_entropy(logits, windows[:, -1]). -> (-cross_entropy(logits, windows[:, -1])).exp().
"""
