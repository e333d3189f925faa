"""Right answers, or nearly so, with the parameter names that people choose in public code."""

from typing import NamedTuple


class Renamed(NamedTuple):
    """A definition to add below a chapter's solution, and the beginning of its message."""

    chapter: str
    exercise: str
    points: float
    message: str
    text: str


RENAMED = {
    "sequence_length_and_width": Renamed(
        "ch5_beyond_one_sentence",
        "sinusoidal_positions",
        6,
        "Right.",
        """
def sinusoidal_positions(seq_len, n_embd):
    table = torch.zeros(seq_len, n_embd)
    place = torch.arange(seq_len).float()[:, None]
    rate = 10000.0 ** (-torch.arange(0, n_embd, 2).float() / n_embd)
    table[:, 0::2] = torch.sin(place * rate)
    table[:, 1::2] = torch.cos(place * rate)
    return table
""",
    ),
    "lengths_and_the_largest": Renamed(
        "ch5_beyond_one_sentence",
        "padding_mask",
        5,
        "Right.",
        """
def padding_mask(seq_lens, max_len):
    return (torch.arange(max_len)[None, :] >= seq_lens[:, None])[:, None, :]
""",
    ),
    "length_and_tokens": Renamed(
        "ch5_beyond_one_sentence",
        "sliding_window_mask",
        5,
        "Right.",
        """
def sliding_window_mask(length, n_tokens):
    i = torch.arange(length)[:, None]
    j = torch.arange(length)[None, :]
    return (j > i) | (j <= i - n_tokens)
""",
    ),
    "prompt_and_count": Renamed(
        "ch6_small_gpt",
        "generate",
        9,
        "Right.",
        """
def generate(model, prompt_ids, num_ids, temperature=1.0, top_k=None, generator=None):
    with torch.no_grad():
        for _ in range(num_ids):
            z = model(prompt_ids[:, -model.context_length :])[:, -1]
            if top_k is not None:
                z = z.masked_fill(z < z.topk(min(top_k, z.shape[-1])).values[:, -1:], -torch.inf)
            new = (
                z.argmax(-1, keepdim=True)
                if temperature == 0
                else torch.multinomial(torch.softmax(z / temperature, -1), 1, generator=generator)
            )
            prompt_ids = torch.cat([prompt_ids, new], 1)
    return prompt_ids
""",
    ),
    "rate_with_a_default": Renamed(
        "ch3_causal_attention",
        "inverted_dropout",
        10,
        "Right.",
        """
def inverted_dropout(x, rate=0.2, training=True):
    if not training:
        return x
    keep = torch.rand(x.shape) >= rate
    return x * keep / (1 - rate)
""",
    ),
    "width_before_length": Renamed(
        "ch6_small_gpt",
        "SmallGPT",
        19,
        "Right. The given order is `context_length, d`; yours is `n_embd, block_size` "
        "(costs 1 point).",
        """
class SmallGPT(nn.Module):
    def __init__(self, vocab_size, n_embd, block_size, n_head, n_layer, dropout=0.0):
        super().__init__()
        self.context_length = block_size
        self.token_embedding = nn.Embedding(vocab_size, n_embd)
        self.position_embedding = nn.Embedding(block_size, n_embd)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(
            [TransformerBlock(n_embd, block_size, dropout, n_head) for _ in range(n_layer)]
        )
        self.final_norm = LayerNorm(n_embd)
        self.head = nn.Linear(n_embd, vocab_size, bias=False)

    def forward(self, ids):
        x = self.token_embedding(ids) + self.position_embedding(
            torch.arange(ids.shape[1], device=ids.device)
        )
        x = self.dropout(x)
        for block in self.blocks:
            x = block(x)
        return self.head(self.final_norm(x))
""",
    ),
    "model_of_many_names": Renamed(
        "ch6_small_gpt",
        "SmallGPT",
        20,
        "Right.",
        """
class SmallGPT(nn.Module):
    def __init__(self, num_tokens, seq_len, emb_dim, n_heads, n_blocks, dropout=0.0):
        super().__init__()
        self.context_length = seq_len
        self.token_embedding = nn.Embedding(num_tokens, emb_dim)
        self.position_embedding = nn.Embedding(seq_len, emb_dim)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(
            [TransformerBlock(emb_dim, seq_len, dropout, n_heads) for _ in range(n_blocks)]
        )
        self.final_norm = LayerNorm(emb_dim)
        self.head = nn.Linear(emb_dim, num_tokens, bias=False)

    def forward(self, ids):
        x = self.token_embedding(ids) + self.position_embedding(
            torch.arange(ids.shape[1], device=ids.device)
        )
        x = self.dropout(x)
        for block in self.blocks:
            x = block(x)
        return self.head(self.final_norm(x))
""",
    ),
    "weights_of_one_letter": Renamed(
        "ch2_self_attention",
        "project_qkv",
        5,
        "Right.",
        """
def project_qkv(w, q, k, v):
    return w @ q, w @ k, w @ v
""",
    ),
    "library_names": Renamed(
        "ch2_self_attention",
        "scaled_dot_product_attention",
        10,
        "Right.",
        """
def scaled_dot_product_attention(keys, queries, v):
    weights = torch.softmax(keys @ queries.mT / queries.shape[-1] ** 0.5, dim=-1)
    return weights @ v
""",
    ),
    "one_option_less": Renamed(
        "ch6_small_gpt",
        "LayerNorm",
        9,
        "TypeError: __init__() has no parameter 'eps'; the given code has it.",
        """
class LayerNorm(nn.Module):
    def __init__(self, emb_dim):
        super().__init__()
        self.eps = 1e-5
        self.scale = nn.Parameter(torch.ones(emb_dim))
        self.shift = nn.Parameter(torch.zeros(emb_dim))

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        normed = centred / torch.sqrt(centred.square().mean(-1, keepdim=True) + self.eps)
        return self.scale * normed + self.shift
""",
    ),
    "query_and_sentence": Renamed(
        "ch1_simplified_attention",
        "attention_scores",
        5,
        "Right.",
        """
def attention_scores(input_2, sentence):
    return sentence @ input_2
""",
    ),
    "query_and_sentence_swapped": Renamed(
        "ch1_simplified_attention",
        "attention_scores",
        0,
        "RuntimeError: ",
        """
def attention_scores(a, b):
    return a @ b
""",
    ),
    "rate_by_name_only": Renamed(
        "ch3_causal_attention",
        "inverted_dropout",
        9,
        "Right. `rate` is called `p` in the given code, and it can be passed by name only "
        "(costs 1 point).",
        """
def inverted_dropout(x, *, rate=0.2, training=True):
    if not training:
        return x
    keep = torch.rand(x.shape) >= rate
    return x * keep / (1 - rate)
""",
    ),
}
