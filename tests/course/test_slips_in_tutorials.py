"""Slips in definitions that are written as tutorials write them: the name and the line.

The solution has another form, so the line cannot be found by comparing texts.
"""

import pytest

from ..sampling import first_of_each

CH1, CH2, CH3 = "ch1_simplified_attention", "ch2_self_attention", "ch3_causal_attention"
CH4, CH5, CH6 = "ch4_multi_head_attention", "ch5_beyond_one_sentence", "ch6_small_gpt"

DEFINITIONS = {
    "attention_scores": """
import math

def attention_scores(query, inputs):
    attn_scores_2 = torch.empty(inputs.shape[0])
    for i, x_i in enumerate(inputs):
        attn_scores_2[i] = torch.dot(x_i, query)
    return attn_scores_2
""",
    "softmax": """
import math

def softmax(x, dim=-1):
    m, _ = torch.max(x, dim=dim, keepdim=True)
    e = torch.exp(x - m)
    s = torch.sum(e, dim=dim, keepdim=True)
    return e / s
""",
    "SelfAttention_v2": """
import math

class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        keys = self.W_key(x)
        queries = self.W_query(x)
        values = self.W_value(x)
        attn_scores = queries @ keys.transpose(0, 1)
        attn_weights = torch.softmax(attn_scores / keys.shape[-1]**0.5, dim=-1)
        return attn_weights @ values
""",
    "causal_attention_weights": """
import math

def causal_attention_weights(attn_scores, d_k):
    n = attn_scores.size(-1)
    mask = torch.triu(torch.ones(n, n), diagonal=1)
    masked = attn_scores.masked_fill(mask.bool(), -torch.inf)
    attn_weights = torch.softmax(masked / d_k ** 0.5, dim=-1)
    return attn_weights
""",
    "inverted_dropout": """
import math

def inverted_dropout(attn_weights, p, training=True):
    if not training or p == 0:
        return attn_weights
    mask = (torch.rand(attn_weights.shape) > p).float()
    return mask * attn_weights / (1.0 - p)
""",
    "CausalAttention": """
import math

class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        future = torch.triu(torch.ones(context_length, context_length), diagonal=1)
        self.register_buffer('mask', future)

    def forward(self, x):
        b, num_tokens, d_in = x.shape
        keys = self.W_key(x)
        queries = self.W_query(x)
        values = self.W_value(x)
        attn_scores = queries @ keys.transpose(1, 2)
        attn_scores.masked_fill_(self.mask.bool()[:num_tokens, :num_tokens], -torch.inf)
        attn_weights = torch.softmax(attn_scores / keys.shape[-1]**0.5, dim=-1)
        attn_weights = self.dropout(attn_weights)
        context_vec = attn_weights @ values
        return context_vec
""",
    "MultiHeadAttention": """
import math

class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError(f"d_out={d_out} is no multiple of num_heads={num_heads}")
        self.d_out = d_out
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        future = torch.triu(torch.ones(context_length, context_length), diagonal=1)
        self.register_buffer("mask", future)

    def forward(self, x):
        b, num_tokens, d_in = x.shape
        keys = self.W_key(x)
        queries = self.W_query(x)
        values = self.W_value(x)
        keys = keys.view(b, num_tokens, self.num_heads, self.head_dim)
        values = values.view(b, num_tokens, self.num_heads, self.head_dim)
        queries = queries.view(b, num_tokens, self.num_heads, self.head_dim)
        keys = keys.transpose(1, 2)
        queries = queries.transpose(1, 2)
        values = values.transpose(1, 2)
        attn_scores = queries @ keys.transpose(2, 3)
        mask_bool = self.mask.bool()[:num_tokens, :num_tokens]
        attn_scores.masked_fill_(mask_bool, -torch.inf)
        attn_weights = torch.softmax(attn_scores / keys.shape[-1]**0.5, dim=-1)
        attn_weights = self.dropout(attn_weights)
        context_vec = (attn_weights @ values).transpose(1, 2)
        context_vec = context_vec.contiguous().view(b, num_tokens, self.d_out)
        context_vec = self.out_proj(context_vec)
        return context_vec
""",
    "LatentAttention": """
import math

class LatentAttention(nn.Module):
    def __init__(self, d_in, d_out, d_latent, context_length, num_heads):
        super().__init__()
        self.n_head, self.hs = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_down = nn.Linear(d_in, d_latent, bias=False)
        self.W_key_up = nn.Linear(d_latent, d_out, bias=False)
        self.W_value_up = nn.Linear(d_latent, d_out, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)
        future = torch.triu(torch.ones(context_length, context_length), 1)
        self.register_buffer("mask", future.bool())

    def forward(self, x):
        B, T, _ = x.shape
        c_kv = self.W_down(x)
        q = self.W_query(x).view(B, T, self.n_head, self.hs).transpose(1, 2)
        k = self.W_key_up(c_kv).view(B, T, self.n_head, self.hs).transpose(1, 2)
        v = self.W_value_up(c_kv).view(B, T, self.n_head, self.hs).transpose(1, 2)
        w = q @ k.mT / self.hs**0.5
        w = w.masked_fill(self.mask[:T, :T], -torch.inf).softmax(-1)
        return self.out_proj((w @ v).transpose(1, 2).flatten(2))
""",
    "sinusoidal_positions": """
import math

def sinusoidal_positions(num_tokens, d):
    pe = torch.zeros(num_tokens, d)
    position = torch.arange(0, num_tokens, dtype=torch.float).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d, 2).float() * (-math.log(10000.0) / d))
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe
""",
    "TransformerBlock": """
import math

class TransformerBlock(nn.Module):
    def __init__(self, d, context_length, dropout, num_heads):
        super().__init__()
        self.attention = MultiHeadAttention(d, d, context_length, dropout, num_heads)
        self.feed_forward = FeedForward(d)
        self.norm1 = LayerNorm(d)
        self.norm2 = LayerNorm(d)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        shortcut = x
        x = self.norm1(x)
        x = self.attention(x)
        x = self.dropout(x)
        x = x + shortcut

        shortcut = x
        x = self.norm2(x)
        x = self.feed_forward(x)
        x = self.dropout(x)
        x = x + shortcut
        return x
""",
    "generate": """
import math

def generate(model, ids, max_new_tokens, temperature=1.0, top_k=None, generator=None):
    for _ in range(max_new_tokens):
        idx_cond = ids[:, -model.context_length:]
        with torch.no_grad():
            logits = model(idx_cond)
        logits = logits[:, -1, :]
        if temperature == 0:
            idx_next = torch.argmax(logits, dim=-1, keepdim=True)
        else:
            logits = logits / temperature
            if top_k is not None:
                v, _ = torch.topk(logits, top_k)
                logits[logits < v[:, [-1]]] = -float('inf')
            probs = torch.softmax(logits, dim=-1)
            idx_next = torch.multinomial(probs, num_samples=1, generator=generator)
        ids = torch.cat((ids, idx_next), dim=1)
    return ids
""",
}

SLIPS = [
    # (chapter, exercise, edits, name of the mistake, words of the last line that has them)
    (
        CH1,
        "attention_scores",
        [("    return attn_scores_2", "        return attn_scores_2")],
        "",
        "        return attn_scores_2",
    ),
    (
        CH1,
        "softmax",
        [("return e / s", "return (e / s).detach()")],
        "softmax_detached",
        "return (e / s).detach()",
    ),
    (
        CH2,
        "SelfAttention_v2",
        [("queries = self.W_query(x)", "queries = self.W_key(x)")],
        "scores_from_keys_alone",
        "queries = self.W_key(x)",
    ),
    (
        CH3,
        "causal_attention_weights",
        [
            (
                "masked = attn_scores.masked_fill(mask.bool(), -torch.inf)",
                "attn_scores.masked_fill(mask.bool(), -torch.inf)\n    masked = attn_scores",
            )
        ],
        "mask_thrown_away",
        "attn_scores.masked_fill(mask.bool(), -torch.inf)",
    ),
    (
        CH3,
        "inverted_dropout",
        [("    mask = ", "    torch.manual_seed(0)\n    mask = ")],
        "dropout_seed_fixed",
        "torch.manual_seed(0)",
    ),
    (
        CH3,
        "CausalAttention",
        [
            ("        attn_weights = self.dropout(attn_weights)\n", ""),
            ("return context_vec", "return self.dropout(context_vec)"),
        ],
        "dropout_on_output",
        "return self.dropout(context_vec)",
    ),
    (
        CH3,
        "CausalAttention",
        [
            ("        attn_weights = self.dropout(attn_weights)\n", ""),
            (
                "attn_weights = torch.softmax(",
                "attn_scores = self.dropout(attn_scores)\n        attn_weights = torch.softmax(",
            ),
        ],
        "dropout_on_scores",
        "attn_scores = self.dropout(attn_scores)",
    ),
    (
        CH3,
        "CausalAttention",
        [("self.dropout(attn_weights)", "nn.functional.dropout(attn_weights, self.dropout.p)")],
        "dropout_always_on",
        "nn.functional.dropout(",
    ),
    (
        CH4,
        "MultiHeadAttention",
        [("values = self.W_value(x)", "values = self.W_key(x)")],
        "keys_instead_of_values",
        "values = self.W_key(x)",
    ),
    (
        CH5,
        "LatentAttention",
        [("self.hs**0.5", "c_kv.shape[-1]**0.5")],
        "latent_scale",
        "c_kv.shape[-1]**0.5",
    ),
    (
        CH5,
        "sinusoidal_positions",
        [("pe[:, 0::2]", "pe[:, : d // 2]"), ("pe[:, 1::2]", "pe[:, d // 2 :]")],
        "sines_then_cosines",
        "pe[:, d // 2 :] = ",
    ),
    (
        CH6,
        "TransformerBlock",
        [("x = self.norm2(x)", "x = self.norm1(x)")],
        "one_norm_for_both",
        "x = self.norm1(x)",
    ),
    (
        CH6,
        "TransformerBlock",
        [
            (
                "        x = self.norm2(x)\n        x = self.feed_forward(x)",
                "        x = self.feed_forward(x)",
            )
        ],
        "feed_forward_without_norm",
        "x = self.feed_forward(x)",
    ),
    (
        CH6,
        "generate",
        [("logits / temperature", "logits * temperature")],
        "temperature_multiplied",
        "logits = logits * temperature",
    ),
    (
        CH6,
        "generate",
        [
            (
                "logits[logits < v[:, [-1]]] = -float('inf')",
                "torch.where(logits < v[:, [-1]], -float('inf'), logits)",
            )
        ],
        "top_k_ignored",
        "torch.where(",
    ),
]


@pytest.mark.parametrize(
    "chapter, exercise, edits, name, words", first_of_each(SLIPS, lambda slip: slip[0])
)
def test_a_slip_in_another_form_gets_its_name_and_its_line(
    project, judged, chapter, exercise, edits, name, words
):
    solution = project.solution(chapter).read_text(encoding="utf-8")
    code = DEFINITIONS[exercise]
    for old, new in edits:
        assert code.count(old) == 1
        code = code.replace(old, new)
    text = f"{solution}\n{code}"
    found = judged(chapter, exercise, text)
    assert found.mistakes == [name] * bool(name)
    line = text[: text.rindex(words)].count("\n") + 1
    assert found.line == line + words.startswith("\n")


ROWS_OF_ZEROS = """
def causal_attention_weights(attn_scores, d_k):
    n = attn_scores.shape[-1]
    seen = torch.ones(n, n, dtype=attn_scores.dtype).tril()
    weights = torch.softmax(attn_scores * seen / d_k**0.5, dim=-1) * seen
    return weights / (weights.sum(dim=-1, keepdim=True) + 1e-13)
"""


@pytest.mark.slow
def test_rows_of_zeros_are_not_called_a_softmax_over_everything(project, judged):
    solution = project.solution(CH3).read_text(encoding="utf-8")
    found = judged(CH3, "causal_attention_weights", f"{solution}\n{ROWS_OF_ZEROS}")
    assert "its rows should sum to 1; their sums are between 0 and" in found.message
    assert "together" not in found.message and "hides nothing" not in found.message
