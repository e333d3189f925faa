"""Cases, checks and known mistakes of the exercise generate."""

from functools import partial

import torch

from tensorgrade.author import call, case, check, computed, construct, it, load, mode, normal

from ..steps import BATCH, LONG
from .SmallGPT import ids


def cases(draw):
    """Return cases with a model of one table, which rejects texts beyond its context_length."""
    vocab, b = draw(LONG, BATCH)
    likeliest = [(7, 9, 2, 3, 4), (7, 5, 2, 3, 0), (6, 9, 1, 4, 3), (vocab, 12, b, 1, 8)]
    long = [(6, 4, 2, 7, 3), (7, 1, 3, 2, 4), (vocab, 9, b, 11, 8)]
    return [
        *(case(f"likeliest/{size}", *written(*size)) for size in likeliest),
        case("likeliest/of the top 2", *written(5, 9, 2, 4, 3, top_k=2)),
        # A low temperature is not enough here: the most likely token is hardly more likely.
        case("likeliest/by little", *written(vocab, 12, b, 1, 8, spread=1e-4)),
        *(case(f"long/{size}", *written(*size)) for size in long),
        *(
            case(f"drawn/temperature {t:g}, top {k}", *drawn(t, k), signature="draws")
            for t, k in [(1.0, None), (0.15, 2), (2.5, 3), (1.0, 1), (2.0, VOCAB)]
        ),
        case("chance/three texts", *seeded(), signature="draws"),
        case("without gradients/drawn", *written(vocab, 12, b, 1, 8, watch=True)),
    ]


def model(vocab, context, spread=2.0):
    """Construct a model of one table, and fill the table with logits of this spread."""
    made = construct(
        "NextToken", given=True, vocab_size=vocab, context_length=context, dtype="float32"
    )
    return made, load({"table": spread * normal(vocab, vocab)}, on=made)


def written(vocab, context, b, n, new, spread=2.0, **settings):
    """Return a call that appends the most likely tokens."""
    made, table = model(vocab, context, spread)
    asked = {"ids": ids(vocab, b, n), "max_new_tokens": new, "temperature": 0.0}
    return made, table, call("generate", model=made, **asked, **settings)


VOCAB, SEEN = 5, 2
TEXTS = 1000  # of each kind, enough to show a wrong probability


def drawn(temperature, top_k):
    """Return a call that adds two tokens to three texts, many times, and the logits it can meet."""
    made, table = model(VOCAB, SEEN, spread=1.5 * min(temperature, 1.0))
    texts = computed(unlike, normal(VOCAB))
    source = construct("chance", given=True, number=3, beside=texts)
    asked: dict = {"max_new_tokens": 2}
    if (temperature, top_k) != (1.0, None):  # the defaults, which must hold without arguments
        asked |= {"temperature": temperature, "top_k": top_k, "generator": source}
    return (
        made,
        table,
        source,
        call("generate", model=made, ids=computed(torch.Tensor.repeat, texts, TEXTS, 1), **asked),
        call(made, ids=computed(all_seen, texts), result="logits"),
    )


def unlike(numbers: torch.Tensor) -> torch.Tensor:
    """Return three texts of three tokens: their ends differ, and no text repeats a token."""
    return numbers.argsort().unfold(0, 3, 1)


def all_seen(texts: torch.Tensor) -> torch.Tensor:
    """Return all contexts that come up: each text's end, and that end with any new token."""
    new = torch.arange(VOCAB).repeat(len(texts))
    last = texts[:, -1].repeat_interleave(VOCAB)
    return torch.cat((texts[:, -SEEN:], torch.stack((last, new), dim=1)))


def seeded():
    """Return calls with one seed twice, another seed, and the first generator; then train.

    Without a generator, the calls use torch's own, which continues from call to call.
    """
    made, table = model(6, 5)
    text = ids(6, 4, 2)
    chance = partial(construct, "chance", given=True, beside=text)
    sources = [chance(number=number) for number in (5, 5, 6)]
    asked = {"ids": text, "max_new_tokens": 12, "temperature": 1.5}
    names = ("first", "again", "other", "next")
    calls = [
        call("generate", model=made, **asked, generator=source, result=name)
        for source, name in zip((*sources, sources[0]), names, strict=True)
    ]
    calls += [
        call("generate", model=made, **asked, seed=seed, result=name)
        for seed, name in ((1, "unseeded"), (None, "unseeded again"))
    ]
    after = call(made, ids=text, gradient=normal(4, 2, 6), result="logits")
    return made, table, mode(training=False, on=made), *sources, *calls, after


CHECKS = [
    check(
        3,
        "At temperature 0 it always appends the most likely token.",
        it.agrees("likeliest"),
        it.keeps_dtype("likeliest"),
    ),
    check(2, "The model sees its last context_length ids.", it.agrees("long")),
    check(3, "Above 0 it draws from the top k, by temperature.", it.draws_by("drawn")),
    check(0.25, "All randomness comes from the generator.", it.draws_from_the_generator("chance")),
    check(
        0.25,
        "The model is called inside `torch.no_grad()`.",
        it.agrees("without gradients"),
        it.keeps_no_gradients("without gradients"),
    ),
    check(
        0.5,
        "The text and the model stay unchanged, and the model can continue to learn.",
        it.keeps_inputs("likeliest", "long", "chance", objects=True),
        it.can_learn_afterwards("chance"),
    ),
]


MISTAKES = """
text_not_cut: The model gets the whole text; give it only the last context_length ids.
    ids[:, -model.context_length :] -> ids
start_of_the_text_kept: The model gets the start of the text; give it the end.
    ids[:, -model.context_length :] -> ids[:, : model.context_length]
start_of_the_text_lost 30%: The text is cut, so its start is missing from the result. Cut only what
  the model gets.
    - logits = model(ids[:, -model.context_length :])[:, -1]
    + ids = ids[:, -model.context_length :]
    + logits = model(ids)[:, -1]
first_places_logits: The logits of the first position are used; those of the last one predict the
  next token.
    [:, -1] -> [:, 0]
only_the_new_tokens: Only the new tokens are returned; the text belongs before them.
    return ids -> return ids[:, ids.shape[1] - max_new_tokens :]
one_token_too_few: There is one new token too few.
    range(max_new_tokens) -> range(max_new_tokens - 1)
written_text_never_seen: The model never sees the tokens that it has generated.
    - for _ in range(max_new_tokens):
    + start = ids
    + for _ in range(max_new_tokens):
    ids[:, -model.context_length :] -> start[:, -model.context_length :]
one_token_more: There is one new token too many.
    range(max_new_tokens) -> range(max_new_tokens + 1)
new_tokens_in_front: The new tokens are placed before the text.
    torch.cat((ids, chosen), dim=1) -> torch.cat((chosen, ids), dim=1)
temperature_multiplied: The logits are multiplied by the temperature; divide them by it.
    logits = logits / temperature -> logits = logits * temperature
divided_by_temperature_zero: At temperature 0 the logits are divided by 0. Use the most likely token
  there, without a softmax.
    if temperature == 0: -> if False:
temperature_ignored: The temperature has no effect.
    logits = logits / temperature -> pass
top_k_ignored: Every token may be drawn; only the k most likely ones should be.
    logits = logits.masked_fill(logits < last_kept, -torch.inf) -> pass
place_in_the_top_k_as_token: With top_k, a place among the k largest logits is drawn and used as a
  token. Keep all logits in their places and hide the others.
    logits.masked_fill(logits < last_kept, -torch.inf) -> logits.topk(top_k, dim=-1).values
top_k_one_too_many: One token more than k may be drawn.
    logits.topk(top_k, dim=-1) -> logits.topk(min(top_k + 1, logits.shape[-1]), dim=-1)
top_k_one_too_few: The least likely of the top k is hidden too. Hide only what is below it.
    logits < last_kept -> logits <= last_kept
hidden_with_zero: All but the top k logits are set to 0, and the softmax gives 0 a weight too.
    -torch.inf -> 0.0
always_the_likeliest: The most likely token is used at every temperature. Above 0, draw a token.
    torch.multinomial(probabilities, 1, generator=generator) -> probabilities.topk(1).indices
drawn_evenly: All tokens are equally likely to be drawn, whatever the model's logits are.
    multinomial(probabilities, -> multinomial(torch.ones_like(probabilities),
drawn_without_generator: `generator` is not used: the random numbers come from torch's own
  generator. Pass it on to the function that draws.
    1, generator=generator) -> 1)
"""
