"""Wrong in one place that a fixed grid of sizes never visits: edits of the solution."""

import runpy
from pathlib import Path

CH3 = runpy.run_path(str(Path(__file__).parent / "ch3_causal_attention.py"))
OF_ANY = CH3["OF_ANY"]
JOIN = "torch.cat([head(x) for head in self.heads], dim=-1)"
MAKE = "CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)"
SPLIT = "x.reshape(b, num_tokens, num_heads, head_dim).transpose(1, 2)"
MERGE = "x.transpose(1, 2).reshape(b, num_tokens, num_heads * head_dim)"
CHECK, WIDTH = "if d_out % num_heads != 0:", "self.head_dim = d_out // num_heads"
APPLY, X = "context_heads = attn_weights @ values", "queries = self.W_query(x)"
DROP, D_K = "attn_weights = self.dropout(attn_weights)", "d_k = keys.shape[-1]"
OUT, OUT_PROJ = "return self.out_proj(context_vec)", "self.out_proj = nn.Linear(d_out, d_out)"
TRACE = "head_dim = d_out // num_heads\n    return"

WRONG = {
    "MultiHeadAttentionWrapper": {
        "first_head_in_training": [
            (f"return {JOIN}", f"self.heads[0].train()\n        return {JOIN}")
        ],
        "third_head_in_evaluation": [
            (
                f"return {JOIN}",
                f"_ = [head.eval() for head in self.heads[2:3]]\n        return {JOIN}",
            )
        ],
        **CH3["counting_the_last_text"](f"return {JOIN}"),
        "five_heads_at_most": [(JOIN, "torch.cat([head(x) for head in self.heads[:5]], dim=-1)")],
        "sixth_head_twice": [
            (JOIN, "torch.cat([self.heads[min(i, 5)](x) for i in range(len(self.heads))], dim=-1)")
        ],
        "learns_in_two_heads": [
            (
                JOIN,
                "torch.cat([head(x) if i < 2 else head(x).detach() for i, head in enumerate(self.heads)], dim=-1)",
            )
        ],
        "no_bias_in_one_head": [
            (
                MAKE,
                "CausalAttention(d_in, d_out, context_length, dropout, qkv_bias and num_heads > 1)",
            )
        ],
        "no_bias_in_many_heads": [
            (
                MAKE,
                "CausalAttention(d_in, d_out, context_length, dropout, qkv_bias and num_heads < 4)",
            )
        ],
        "dropout_of_a_half_at_most": [
            (MAKE, "CausalAttention(d_in, d_out, context_length, min(dropout, 0.5), qkv_bias)")
        ],
        "context_of_32_at_most": [
            (MAKE, "CausalAttention(d_in, d_out, min(context_length, 32), dropout, qkv_bias)")
        ],
        "batches_of_four": [
            (
                JOIN,
                "torch.cat([head(torch.cat([x[:4], 0 * x[4:]])) for head in self.heads], dim=-1)",
            )
        ],
        "remembers_a_shape": [
            (
                f"return {JOIN}",
                f"x = self.__dict__.setdefault(str(x.shape), x)\n        return {JOIN}",
            )
        ],
        "learns_in_training_alone": [
            (
                f"return {JOIN}",
                f"joined = {JOIN}\n        return joined if self.training else joined.detach()",
            )
        ],
        "learns_with_its_input_alone": [
            (
                f"return {JOIN}",
                f"joined = {JOIN}\n        return joined if x.requires_grad else joined.detach()",
            )
        ],
    },
    "split_heads": {
        "larger_in_float32": [(SPLIT, f"{SPLIT} * (1.01 if x.dtype == torch.float32 else 1)")],
        "floats_of_all": [(SPLIT, f"({SPLIT}) * 1.0")],
        "five_heads_at_most": [(SPLIT, f"torch.cat([({SPLIT})[:, :5], 0 * ({SPLIT})[:, 5:]], 1)")],
        "batches_of_four": [(SPLIT, f"torch.cat([({SPLIT})[:4], 0 * ({SPLIT})[4:]])")],
        "first_32_tokens": [(SPLIT, f"({SPLIT}) * (torch.arange(num_tokens) < 32)[:, None]")],
        "wants_its_memory_in_order": [(SPLIT, f"x.view(-1).view(x.shape){SPLIT[1:]}")],
        "heads_turned_from_seven_on": [(SPLIT, f"{SPLIT} if num_heads < 7 else {SPLIT}.flip(1)")],
    },
    "merge_heads": {
        "two_equal_tokens": [
            (
                MERGE,
                MERGE.replace(
                    "x.tr",
                    "(x * (1.01 if any(x[..., i, :].equal(x[..., j, :]) for i in range(x.shape[-2]) for j in range(i)) else 1)).tr",
                ),
            )
        ],
        "floats_of_all": [(MERGE, f"({MERGE}) * 1.0")],
        "five_heads_at_most": [(MERGE, f"torch.cat([x[:, :5], 0 * x[:, 5:]], 1){MERGE[1:]}")],
        "batches_of_four": [(MERGE, f"torch.cat([x[:4], 0 * x[4:]]){MERGE[1:]}")],
        "first_32_tokens": [(MERGE, f"({MERGE}) * (torch.arange(num_tokens) < 32)[:, None]")],
        "wants_its_memory_in_order": [(MERGE, f"x.view(-1).view(x.shape){MERGE[1:]}")],
        "heads_turned_from_seven_on": [(MERGE, f"(x if num_heads < 7 else x.flip(1)){MERGE[1:]}")],
    },
    "trace_shapes": {
        "eight_texts_at_most": [(TRACE, f"b = min(b, 8)\n    {TRACE}")],
        "twelve_heads_at_most": [(TRACE, f"num_heads = min(num_heads, 12)\n    {TRACE}")],
        "1024_tokens_at_most": [(TRACE, f"num_tokens = min(num_tokens, 1024)\n    {TRACE}")],
    },
    "MultiHeadAttention": OF_ANY
    | {
        "dropout_in_the_first_four_heads": [
            (
                DROP,
                "attn_weights = torch.cat((self.dropout(attn_weights[:, :4]), attn_weights[:, 4:]), 1)",
            )
        ],
        "five_heads_at_most": [
            (
                APPLY,
                f"{APPLY}\n        context_heads = torch.cat([context_heads[:, :5], 0 * context_heads[:, 5:]], 1)",
            )
        ],
        "seven_heads_in_reverse": [
            (
                APPLY,
                f"{APPLY}\n        context_heads = context_heads if self.num_heads < 6 else context_heads.flip(1)",
            )
        ],
        "one_head_without_bias": [(X, f"{X} if self.num_heads > 1 else x @ self.W_query.weight.T")],
        "one_head_without_mixing": [
            (
                OUT,
                "return self.out_proj(context_vec) if len(self.W_query.weight) // self.head_dim > 1 or self.dropout.p == 0 else context_vec",
            )
        ],
        "check_of_remainders_up_to_two": [(CHECK, "if d_out % num_heads in (1, 2):")],
        "check_of_odd_differences": [(CHECK, "if d_out % num_heads and (d_out - num_heads) % 2:")],
        "check_of_five": [(CHECK, "if d_out - num_heads == 5:")],
        "check_of_more_features_than_heads": [
            (CHECK, "if d_out > num_heads and d_out % num_heads:")
        ],
        "check_of_two_and_three_heads": [(CHECK, "if d_out % num_heads and num_heads < 4:")],
        "heads_drop_in_pairs": [
            (
                DROP,
                "if self.training and self.dropout.p:\n"
                "            keep = torch.rand_like(attn_weights) >= self.dropout.p\n"
                "            keep[:, 1::2] = keep[:, 0::2][:, : self.num_heads // 2]\n"
                "            attn_weights = attn_weights * keep / (1 - self.dropout.p)",
            )
        ],
        "out_proj_starts_at_zero": [
            (OUT_PROJ, f"{OUT_PROJ}\n        nn.init.zeros_(self.out_proj.weight)")
        ],
        "wide_heads_scaled_otherwise": [(D_K, f"{D_K} if keys.shape[-1] < 12 else 12")],
    },
}

WRONG["MultiHeadAttention"] |= {
    "first_head_always_in_training": [
        (
            DROP,
            "attn_weights = torch.cat([nn.functional.dropout(attn_weights[:, :1], self.dropout.p), "
            "self.dropout(attn_weights[:, 1:])], dim=1)",
        )
    ],
    "beyond_16_features_at_half_strength": [
        (OUT, f"{OUT} * (0.5 if context_vec.shape[-1] > 16 else 1)")
    ],
    "no_mask_without_gradients": [
        (
            "self.mask[:num_tokens, :num_tokens]",
            "self.mask[:num_tokens, :num_tokens] & torch.is_grad_enabled()",
        )
    ],
    "weights_of_the_first_call": [
        (
            "keys = self.W_key(x)",
            "if not hasattr(self, 'kept'):\n            self.kept = self.W_key.weight.detach().clone()\n        keys = nn.functional.linear(x, self.kept, self.W_key.bias)",
        )
    ],
    "seed_set_inside": [("self.W_query = ", "torch.manual_seed(123)\n        self.W_query = ")],
}
