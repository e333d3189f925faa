"""Cases, checks and known mistakes of the exercise SmallGPT."""

import torch

from tensorgrade.author import (
    call,
    case,
    check,
    computed,
    construct,
    it,
    load,
    mode,
    moved,
    normal,
    read,
    weights,
)

from ..modules import at_work, starts, structure
from ..steps import LONG, MODERATE, TOKENS
from ..usual import GRADIENTS
from .TransformerBlock import parts

SMALLEST: dict = {"vocab_size": 7, "context_length": 5, "d": 4, "num_heads": 2}


def cases(draw):
    """Return cases (b, n, vocab_size, context_length, d, heads, layers), with simple attention."""
    b, n, d, vocab = draw((17, 19), TOKENS, (25, 27), LONG)
    few, words = draw(MODERATE, MODERATE)
    one = [(2, 4, 7, 5, 6, 3, 1), (2, 3, 1, 4, 5, 1, 1), (b, 9, words, 11, few, 1, 1)]
    many = [(1, 3, 7, 5, 4, 2, 2), (2, 4, 7, 9, 6, 3, 3), (1, n, vocab, n + 9, d, 1, 5)]
    short = [(2, 1, 7, 4, 6, 3, 2), (1, few, vocab, n, d, 1, 1)]
    return [
        case("one block/example", *module(1, 4, 10, 6, 8, 2, 1)),
        *(case(f"one block/{size}", *module(*size)) for size in one),
        *(case(f"blocks/{size}", *module(*size)) for size in many),
        *(case(f"short/{size}", *used(*size)) for size in short),
        case("short/3, then 5", *one_after_another()),
        case("blocks/float32", *module(2, 3, 5, 4, 6, 1, 2, dtype="float32"), dtype=torch.float32),
        case("future/cut 2", *changed_end(2)),
        case("future in training/cut 2", *changed_in_training(2), signature="earlier"),
        case("evaluation/dropout 0.7", *used(b, 9, words, 11, few, 1, 2, dropout=0.7)),
        case("evaluation/no dropout unless asked for", *as_it_is_made(2, 3, 5, 4, 6, 1, 1)),
        case("dropout/0.7", *in_training(0.7), signature="sums", rate="dropout"),
        case("gradients/drawn", *learning(b, 9, words, 11, few, 1, 2)),
        case("gradients/in evaluation", *learning(1, 4, 5, 6, 3, 1, 2, training=False)),
        *(
            case(
                f"parameters/{layers} blocks",
                *structure(**SMALLEST, num_layers=layers),
                read("context_length"),
                signature="structure",
            )
            for layers in (1, 3)
        ),
        *starts(**SMALLEST, num_layers=2),
        case(
            "moved/in training",
            construct(**SMALLEST, num_layers=2, dropout=0.2, dtype="float32"),
            moved(ids=ids(SMALLEST["vocab_size"], 2, 3)),
            dtype=torch.float32,
            signature="ignored",
        ),
    ]


def all_weights(vocab, context, d, layers):
    """Return weights of both tables, of all blocks, of the last norm and of the head."""
    values = {
        "token_embedding.weight": 3 * weights(vocab, d),  # so large that eps does not show
        "position_embedding.weight": weights(context, d),
        "final_norm.scale": weights(d),
        "final_norm.shift": weights(d),
        "head.weight": weights(vocab, d),
    }
    for layer in range(layers):
        values |= parts(d, f"blocks.{layer}.")
    return values


def ids_of(numbers: torch.Tensor, vocab: int) -> torch.Tensor:
    """Return integers below vocab, made of normal numbers."""
    return (numbers.abs() * 1000).long() % vocab


def ids(vocab, *shape):
    """Return ids that will be drawn."""
    return computed(ids_of, normal(*shape), vocab)


def made(vocab, context, d, heads, layers, dtype="float64", fixed=None, **settings):
    """Construct the module and load all weights. fixed: weights that are not random."""
    sizes = {"vocab_size": vocab, "context_length": context, "d": d, "num_heads": heads}
    return (
        construct(**sizes, num_layers=layers, **settings, dtype=dtype),
        load(all_weights(vocab, context, d, layers) | (fixed or {})),
    )


def module(b, n, vocab, *sizes, gradient=None, training=False, **settings):
    """Return a call in evaluation, or in training, where only dropout differs."""
    steps = made(vocab, *sizes, **{"dropout": 0.0} | settings)
    return *steps, mode(training), call(ids=ids(vocab, b, n), gradient=gradient)


def learning(b, n, vocab, *sizes, training=True):
    """Return a call that asks for gradients, in training without dropout or in evaluation."""
    return module(b, n, vocab, *sizes, gradient=normal(b, n, vocab), training=training)


def as_it_is_made(b, n, vocab, *sizes):
    """Return the same call without the argument for dropout."""
    return *made(vocab, *sizes), call(ids=ids(vocab, b, n))


def used(b, n, vocab, *sizes, dropout=0.0):
    """Return a call in evaluation, without gradients."""
    model, values = made(vocab, *sizes, dropout=dropout)
    return model, values, *at_work(model, ids=ids(vocab, b, n))


def one_after_another():
    """Return calls on texts of different lengths: none may depend on an earlier one."""
    return (
        *made(6, 5, 4, 2, 1, dropout=0.0),
        mode(training=False),
        call(ids=ids(6, 2, 3), result="first"),
        load(all_weights(6, 5, 4, 1)),
        call(ids=ids(6, 2, 5), result="second"),
        call(ids=ids(6, 2, 5), refilled="second", result="third"),
    )


def changed_end(cut):
    """Return calls on two texts that are equal up to some token."""
    text = ids(6, 2, 5)
    other = computed(with_another_end, text, cut)
    model, values = made(6, 5, 4, 2, 2, dropout=0.4)
    calls = call(ids=text, result="before"), call(ids=other, result="after")
    return model, values, mode(training=False), *calls


def changed_in_training(cut):
    """Return runs that drop the same entries: one text changes at its end, the other completely."""
    text = ids(6, 2, 5)
    other = computed(with_another_end, computed(with_another_row, text), cut)
    model, values = made(6, 5, 4, 2, 2, dropout=0.4)
    calls = (
        call(ids=one, seed=1, result=name) for one, name in ((text, "before"), (other, "after"))
    )
    return model, values, mode(training=True), *calls


def with_another_row(text: torch.Tensor) -> torch.Tensor:
    """Return a text together with another one that begins with another token."""
    return torch.stack((text[0], (text[1] + 2) % 6))


def with_another_end(text: torch.Tensor, cut: int) -> torch.Tensor:
    """Return a text with other tokens from `cut` on."""
    return torch.cat((text[:, :cut], (text[:, cut:] + 1) % 6), dim=1)


def in_training(p):
    """Return two calls in training with different seeds and one in evaluation, to show dropout.

    Dropout acts on the sums of token and position, and on one number that the block adds to each.
    All are positive, and the last norm and the head keep their order.
    """
    text, d = ids(16, 3, 16), 16
    tables = ("token_embedding.weight", "position_embedding.weight")
    block = "blocks.0."
    fixed = {table: 20 * computed(torch.abs, weights(d, d)) for table in tables} | {
        f"{block}attention.projection.weight": torch.zeros(d, d),
        f"{block}feed_forward.layers.2.weight": torch.zeros(d, 4 * d),
        f"{block}feed_forward.layers.2.bias": torch.full((d,), 0.8),
        "final_norm.scale": torch.ones(d),
        "final_norm.shift": torch.zeros(d),
        "head.weight": torch.eye(d),
    }
    return (
        *made(d, 16, d, 2, 1, dropout=p, fixed=fixed),
        mode(training=True),
        call(ids=text, seed=1, result="dropped"),
        call(ids=text, seed=None, no_grad=True, result="again"),
        mode(training=False),
        call(ids=text, result="plain"),
    )


CHECKS = [
    check(6, "Token and position, one block, the last norm, the head.", it.agrees("one block")),
    check(4, "Several blocks, one after another.", it.agrees("blocks")),
    check(3, "Texts shorter than context_length.", it.agrees("short")),
    check(
        1,
        "Later tokens and other texts do not change earlier logits.",
        it.agrees("future"),
        it.keeps_what_is_earlier("future in training"),
    ),
    check(
        1,
        "Dropout acts in the right places in training, and never in evaluation.",
        it.agrees("evaluation"),
        it.agrees("dropout", only="plain"),
        it.drops_sums("dropout"),
    ),
    check(
        3, "Gradients reach all weights, in training without dropout and in evaluation.", GRADIENTS
    ),
    check(
        0.5,
        "It creates no tensors on another device after it has moved, for example to a GPU.",
        it.answered("one block"),
        it.moves_as_a_whole("moved"),
    ),
    check(
        1,
        "Two tables, the blocks, a norm and a head without a bias; it stores its context_length.",
        it.has_parameters("parameters"),
        it.starts_alive("start"),
        it.agrees("parameters", only="context_length"),
    ),
    check(0.5, "The ids stay unchanged.", it.keeps_inputs("one block", "blocks", "short")),
]

MISTAKES = """
no_positions: The positions are never added, so the model is not told the order of its tokens.
    self.token_embedding(ids) + self.position_embedding(places) -> self.token_embedding(ids)
positions_multiplied: The position vectors are multiplied by the token vectors; they should be
  added.
    self.token_embedding(ids) + -> self.token_embedding(ids) *
positions_after_the_blocks: The positions are added after the blocks, which therefore never see
  them. Add them to the token vectors.
    self.token_embedding(ids) + self.position_embedding(places) -> self.token_embedding(ids)
    self.final_norm(x) -> self.final_norm(x + self.position_embedding(places))
token_vectors_scaled: The token vectors are multiplied by the root of d, as in the first
  Transformer. Add the positions to them unscaled.
    self.token_embedding(ids) -> self.token_embedding.embedding_dim**0.5 * self.token_embedding(ids)
places_of_ids: The ids are looked up in the table of positions. A position says where a token is,
  not which one it is.
    places = torch.arange(ids.shape[1], device=ids.device) -> places = ids % self.context_length
gpt_places_from_one: The positions start at 1; they should start at 0.
    self.position_embedding(places) -> self.position_embedding((places + 1) % self.context_length)
places_always_all: The positions of a full context are added, whatever the length of the text.
    torch.arange(ids.shape[1], -> torch.arange(self.context_length,
final_norm_left_out: The last norm is not applied.
    return self.head(self.final_norm(x)) -> return self.head(x)
log_probabilities_returned: The result contains log probabilities instead of logits. The loss and
  `generate` apply the softmax.
    return self.head(self.final_norm(x)) -> return self.head(self.final_norm(x)).log_softmax(dim=-1)
probabilities_returned: The result contains probabilities instead of logits. The loss and `generate`
  apply the softmax.
    return self.head(self.final_norm(x)) -> return self.head(self.final_norm(x)).softmax(dim=-1)
one_block_again_and_again: The first block is applied repeatedly; each block should be applied once.
    x = block(x) -> x = self.blocks[0](x)
first_block_only: Only the first block is applied.
    for block in self.blocks: -> for block in self.blocks[:1]:
blocks_in_reverse: The blocks are applied from the last to the first.
    for block in self.blocks: -> for block in reversed(self.blocks):
blocks_not_chained: All blocks get the same x, so only the last one counts. Each should get the
  previous block's result.
    - for block in self.blocks:
    -     x = block(x)
    + start = x
    + for block in self.blocks:
    +     x = block(start)
block_input_added_again: A block's input is added to its result. The block has already added it.
    x = block(x) -> x = x + block(x)
blocks_share_weights: All blocks are the same object, so they can never learn to differ.
    - nn.ModuleList(
    -     TransformerBlock(d, context_length, dropout, num_heads) for _ in range(num_layers)
    - )
    + nn.ModuleList([TransformerBlock(d, context_length, dropout, num_heads)] * num_layers)
blocks_in_a_plain_list: The blocks are in a Python list, where torch does not find their parameters.
    self.blocks = nn.ModuleList( -> self.blocks = list(
head_with_a_bias 20%: The head has a bias; it should have none.
    self.head = nn.Linear(d, vocab_size, bias=False) -> self.head = nn.Linear(d, vocab_size)
head_is_the_table_of_tokens 30%: The head shares the weights of the token table; it should have its
  own.
    - self.head = nn.Linear(d, vocab_size, bias=False)
    + self.head = nn.Linear(d, vocab_size, bias=False)
    + self.head.weight = self.token_embedding.weight
sums_not_dropped: Dropout never acts on the sum of token and position; it should in training.
    x = self.dropout(x) -> pass
last_place_only: Only the last position's logits are returned; return those of all positions.
    return self.head(self.final_norm(x)) -> return self.head(self.final_norm(x[:, -1]))
gpt_dropout_not_passed_on: The dropout rate is not passed on to the blocks.
    context_length, dropout, -> context_length, 0.0,
heads_for_layers: There are as many blocks as heads; num_layers is the number of blocks.
    for _ in range(num_layers) -> for _ in range(num_heads)
context_length_not_kept: The model does not store its context_length. `generate` needs it to cut the
  text to the length that the model can see.
    self.context_length = context_length -> pass
logits_in_a_tuple 30%: The result is a tuple of the logits and None. Return only the logits.
    return self.head(self.final_norm(x)) -> return self.head(self.final_norm(x)), None
"""
