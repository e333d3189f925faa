"""All that judges generate: its cases, tests and own mistakes."""

import torch

from tensorgrade import exercise
from tensorgrade.author import call, case, computed, construct, load, mistake, mode, normal

from ..sizes import BATCH, LONG, Sizes
from .SmallGPT import ids


def cases(pick):
    """A model of one table, which takes no more ids than it says."""
    draw = Sizes(pick, "generate")
    b, vocab = draw(BATCH, LONG)
    likeliest = pick(
        public=[(5, 6, 2, 3, 2)],
        hidden=[(6, 9, 3, 2, 4), (vocab, 8, b, 1, 5), (4, 5, 1, 3, 0), (4, 5, 2, 1, 0)],
    )
    long = pick(
        public=[(5, 3, 2, 2, 4)], hidden=[(6, 4, 2, 6, 3), (7, 1, 3, 1, 3), (5, 2, 1, 2, 9)]
    )
    return [
        *(case(f"likeliest/{size}", *written(*size)) for size in likeliest),
        case("likeliest/of the top 2", *written(5, 4, 2, 3, 3, top_k=2)),
        *(case(f"long/{size}", *written(*size)) for size in long),
        *(
            case(f"drawn/temperature {t:g}, top {k}", *drawn(t, k), signature="draws")
            for t, k in pick(
                public=[(1.0, None), (3.0, None), (0.4, 2)],
                hidden=[(1.0, None), (0.15, 2), (2.5, 3), (1.0, 1), (2.0, VOCAB)],
            )
        ),
        case("chance/three texts", *seeded(), signature="draws"),
        case("without gradients/3 tokens", *written(5, 4, 2, 3, 3, watch=True)),
    ]


def model(vocab, context, spread=2.0):
    """A model of one table, and the step that fills the table with logits of this spread."""
    made = construct(
        "NextToken", given=True, vocab_size=vocab, context_length=context, dtype="float32"
    )
    return made, load({"table": spread * normal(vocab, vocab)}, on=made)


def written(vocab, context, b, n, new, **settings):
    """The likeliest tokens, one after another."""
    made, table = model(vocab, context)
    asked = {"ids": ids(vocab, b, n), "max_new_tokens": new, "temperature": 0.0}
    return made, table, call("generate", model=made, **asked, **settings)


VOCAB, SEEN = 5, 2
TEXTS = 1000  # of each kind, so many that a wrong chance shows


def drawn(temperature, top_k):
    """Two tokens behind each of three texts, many times, and the logits of all they may see."""
    made, table = model(VOCAB, SEEN, spread=1.5 * min(temperature, 1.0))
    source = construct("chance", given=True, number=3)
    texts = computed(unlike, normal(VOCAB))
    asked: dict = {"max_new_tokens": 2}
    if (temperature, top_k) != (1.0, None):  # these are what counts where nothing is said
        asked |= {"temperature": temperature, "top_k": top_k, "generator": source}
    return (
        made,
        table,
        source,
        call("generate", model=made, ids=computed(many_times, texts), **asked),
        call(made, ids=computed(all_seen, texts), result="logits"),
    )


def unlike(numbers: torch.Tensor) -> torch.Tensor:
    """Three texts of three tokens: no two end alike, nor does any hold a token twice."""
    return numbers.argsort().unfold(0, 3, 1)


def many_times(texts: torch.Tensor) -> torch.Tensor:
    return texts.repeat(TEXTS, 1)


def all_seen(texts: torch.Tensor) -> torch.Tensor:
    """What the model may see: the end of each text, and that end with any new token behind it."""
    new = torch.arange(VOCAB).repeat(len(texts))
    last = texts[:, -1].repeat_interleave(VOCAB)
    return torch.cat((texts[:, -SEEN:], torch.stack((last, new), dim=1)))


def seeded():
    """The same seed twice, another seed, the first source once more; then the model learns.

    Without a generator chance is torch's own, which goes on from call to call.
    """
    made, table = model(6, 5)
    sources = [construct("chance", given=True, number=number) for number in (5, 5, 6)]
    text = ids(6, 4, 2)
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


def anything(chance):
    """One legal use, with sizes and options by chance: whoever is right agrees on it."""
    if chance.random() < 0.3:
        return case("anything", *drawn(chance.choice([0.5, 1.0, 3.0]), chance.choice([None, 1, 3])))
    vocab, context, b, n = (chance.randint(1, top) for top in (9, 7, 4, 9))
    return case("anything", *written(vocab + 1, context, b, n, chance.randint(0, 6)))


@exercise("generate", points=3)
def test_generate_the_likeliest(attempt):
    """At temperature 0 the likeliest token follows, each time."""
    attempt.generate.agrees("likeliest")
    attempt.generate.keeps_dtype("likeliest")


@exercise("generate", points=2)
def test_generate_long_texts(attempt):
    """The model sees its last context_length ids."""
    attempt.generate.agrees("long")


@exercise("generate", points=3)
def test_generate_draws(attempt):
    """Else it is drawn, by temperature and from the top k."""
    attempt.generate.draws_by("drawn")


@exercise("generate", points=0.25)
def test_generate_chance(attempt):
    """All chance comes from the generator."""
    attempt.generate.draws_from_the_generator("chance")


@exercise("generate", points=0.25)
def test_generate_without_gradients(attempt):
    """The model is called inside `torch.no_grad()`."""
    attempt.generate.agrees("without gradients")
    attempt.generate.keeps_no_gradients("without gradients")


@exercise("generate", points=0.5)
def test_generate_inputs(attempt):
    """The text stays as it was, and so does the model, which can go on learning."""
    attempt.generate.keeps_inputs("likeliest", "long", "chance", objects=True)
    attempt.generate.can_learn_afterwards("chance")


CUT = "ids[:, -model.context_length :]"
TEMPERATURE = "logits = logits / temperature"
DRAW = "chosen = torch.multinomial(probabilities, 1, generator=generator)"
HIDE = "logits = logits.masked_fill(logits < last_kept, -torch.inf)"

MISTAKES = [
    mistake(
        "text_not_cut",
        "The model is given the whole text; it takes its last context_length ids.",
        (CUT, "ids"),
    ),
    mistake(
        "start_of_the_text_kept",
        "The model is given the start of the text; it takes the end.",
        (CUT, "ids[:, : model.context_length]"),
    ),
    mistake(
        "first_places_logits",
        "The logits of the first place are taken; those of the last one foresee what comes next.",
        ("[:, -1]\n", "[:, 0]\n"),
    ),
    mistake(
        "only_the_new_tokens",
        "Only the new tokens come back; the text stands before them.",
        ("return ids", "return ids[:, ids.shape[1] - max_new_tokens :]"),
    ),
    mistake(
        "one_token_too_few",
        "One new token too few comes back.",
        ("range(max_new_tokens)", "range(max_new_tokens - 1)"),
    ),
    mistake(
        "written_text_never_seen",
        "The model never sees what it has written.",
        ("for _ in range(max_new_tokens):", "start = ids\n    for _ in range(max_new_tokens):"),
        (CUT, "start[:, -model.context_length :]"),
    ),
    mistake(
        "one_token_more",
        "One token too many is written.",
        ("range(max_new_tokens)", "range(max_new_tokens + 1)"),
    ),
    mistake(
        "new_tokens_in_front",
        "The new tokens are put before the text.",
        ("torch.cat((ids, chosen), dim=1)", "torch.cat((chosen, ids), dim=1)"),
    ),
    mistake(
        "temperature_multiplied",
        "The logits are multiplied by the temperature; they are divided by it.",
        (TEMPERATURE, "logits = logits * temperature"),
    ),
    mistake(
        "divided_by_temperature_zero",
        "At temperature 0 the logits are divided by 0. There the likeliest token is taken, without "
        "a softmax.",
        ("if temperature == 0:", "if False:"),
    ),
    mistake(
        "temperature_ignored",
        "The temperature plays no part.",
        (TEMPERATURE, "pass"),
    ),
    mistake(
        "top_k_ignored",
        "Every token may be drawn; only the k likeliest may.",
        (HIDE, "pass"),
    ),
    mistake(
        "top_k_one_too_many",
        "One token more than k may be drawn.",
        ("logits.topk(top_k, dim=-1)", "logits.topk(min(top_k + 1, logits.shape[-1]), dim=-1)"),
    ),
    mistake(
        "hidden_with_zero",
        "The other tokens' logits are set to 0, which the softmax gives a share like any other.",
        (HIDE, "logits = logits.masked_fill(logits < last_kept, 0.0)"),
    ),
    mistake(
        "always_the_likeliest",
        "The likeliest token is taken at every temperature. Above 0 it is drawn.",
        (DRAW, "chosen = probabilities.argmax(dim=-1, keepdim=True)"),
    ),
    mistake(
        "drawn_evenly",
        "All tokens are as likely to be drawn, whatever the model says.",
        (
            DRAW,
            "chosen = torch.multinomial(torch.ones_like(probabilities), 1, generator=generator)",
        ),
    ),
    mistake(
        "drawn_without_generator",
        "`generator` is not used: the random numbers come from torch's own generator. Pass it on "
        "to the function that draws.",
        (DRAW, "chosen = torch.multinomial(probabilities, 1)"),
    ),
]
