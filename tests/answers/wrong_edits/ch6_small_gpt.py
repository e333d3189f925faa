"""Wrong in one place that a fixed grid of sizes never visits: edits of the solution."""

import runpy
from pathlib import Path

CH3 = runpy.run_path(str(Path(__file__).parent / "ch3_causal_attention.py"))

PLACES = "places = torch.arange(ids.shape[1], device=ids.device)"
STARTS = "starts = torch.randint(0, last, (batch_size,), generator=generator)"
DRAW = "chosen = torch.multinomial(probabilities, 1, generator=generator)"
MEAN = "mean = x.mean(dim=-1, keepdim=True)"
ATTENDED = "self.dropout(self.attention(self.norm1(x)))"
FED = "self.dropout(self.feed_forward(self.norm2(x)))"
CUT = "return ids[windows], ids[windows + 1]"
CLEAR, STEP = "optimizer.zero_grad()", "optimizer.step()"
LOOP = "for _ in range(max_new_tokens):"

WRONG = {
    "LayerNorm": {
        "norm_of_torch": [
            (
                "return self.scale * normed + self.shift",
                "return nn.functional.layer_norm(x, x.shape[-1:], self.scale, self.shift, self.eps)",
            )
        ],
        "nothing_in_evaluation": [
            (
                MEAN,
                f"if not self.training:\n            return self.scale * x + self.shift\n        {MEAN}",
            )
        ],
        "nothing_without_gradients": [
            (MEAN, f"if not torch.is_grad_enabled():\n            return x\n        {MEAN}")
        ],
        "rows_of_sixteen": [
            (
                "variance = x.var(dim=-1, keepdim=True, unbiased=False)",
                "variance = x[..., :16].var(dim=-1, keepdim=True, unbiased=False)",
            )
        ],
        "eps_from_the_spread": [("variance + self.eps", "variance + self.eps * variance.mean()")],
        "variance_without_gradient": [("torch.sqrt(variance +", "torch.sqrt(variance.detach() +")],
    },
    "FeedForward": {
        "half_in_evaluation": [
            ("return self.layers(x)", "return self.layers(x) * (1.0 if self.training else 0.5)")
        ],
        "four_rows": [
            (
                "return self.layers(x)",
                "return torch.cat((self.layers(x[:60]), 0 * x[60:])) if x.dim() > 1 and len(x) > 4 else self.layers(x)",
            )
        ],
        "tokens_mixed": [("return self.layers(x)", "return self.layers(x) + 1e-2 * x.mean(0)")],
    },
    "TransformerBlock": {
        "sixteen_features": [
            (
                f"x = x + {ATTENDED}",
                f"x = x * (1.01 if x.shape[-1] > 16 else 1)\n        x = x + {ATTENDED}",
            )
        ],
        "two_equal_tokens": [
            (
                f"x = x + {ATTENDED}",
                f"odd = any(x[0, i].equal(x[0, j]) for i in range(x.shape[1]) for j in range(i))\n        x = x * (1.01 if odd else 1)\n        x = x + {ATTENDED}",
            )
        ],
        "a_half_at_most": [("nn.Dropout(dropout)", "nn.Dropout(min(dropout, 0.5))")],
        "whole_tokens_dropped": [
            (ATTENDED, "self.attention(self.norm1(x)) * self.dropout(torch.ones_like(x[..., :1]))")
        ],
        "texts_dropped_alike": [
            (FED, "self.feed_forward(self.norm2(x)) * self.dropout(torch.ones_like(x[:1]))")
        ],
        "dropped_before_feed_forward_too": [
            (FED, "self.dropout(self.feed_forward(self.dropout(self.norm2(x))))")
        ],
        "not_normed_in_training": [
            ("self.norm1(x)", "(x if self.training else self.norm1(x))"),
        ],
        "dropout_once": [
            (
                "x = x + self.dropout(self.feed_forward(self.norm2(x)))",
                "x = x + self.feed_forward(self.norm2(x))",
            )
        ],
        "no_gradient_past_attention": [
            ("self.attention(self.norm1(x))", "self.attention(self.norm1(x.detach()))")
        ],
    },
    "SmallGPT": {
        "sixteen_features": [
            ("x = self.dropout(x)", "x = self.dropout(x) * (1.01 if x.shape[-1] > 16 else 1)")
        ],
        "first_place_is_not_dropped": [
            ("x = self.dropout(x)", "x = torch.cat([x[:, :1], self.dropout(x[:, 1:])], dim=1)")
        ],
        "context_length_of_the_width": [
            ("self.context_length = context_length", "self.context_length = d")
        ],
        "dropped_after_the_blocks": [
            ("x = self.dropout(x)", "pass"),
            ("self.final_norm(x)", "self.final_norm(self.dropout(x))"),
        ],
        "places_dropped_alone": [
            ("x = self.dropout(x)", "pass"),
            ("self.position_embedding(places)", "self.dropout(self.position_embedding(places))"),
        ],
        "rate_of_its_own": [("nn.Dropout(dropout)", "nn.Dropout(0.1)")],
        "texts_dropped_alike": [
            ("x = self.dropout(x)", "x = x * self.dropout(torch.ones_like(x[:1]))")
        ],
        "places_turned_round_in_training": [
            (PLACES, f"{PLACES}\n        places = places.flip(0) if self.training else places")
        ],
        "four_blocks_at_most": [
            ("for block in self.blocks:", "for block in list(self.blocks)[:2]:")
        ],
        "places_on_the_cpu": [(PLACES, PLACES.replace(", device=ids.device", ""))],
        "seed_set_inside": [
            ("self.token_embedding =", "torch.manual_seed(123)\n        self.token_embedding =")
        ],
        "head_of_zeros": [
            (
                "self.head = nn.Linear(d, vocab_size, bias=False)",
                "self.head = nn.Linear(d, vocab_size, bias=False)\n        nn.init.zeros_(self.head.weight)",
            )
        ],
        "sixty_places": [(PLACES, f"{PLACES}.clamp(max=60)")],
        "sixteen_tokens": [("self.token_embedding(ids)", "self.token_embedding(ids % 16)")],
        "embedding_without_gradient": [
            ("self.token_embedding(ids)", "self.token_embedding(ids).detach()")
        ],
        "head_of_the_embedding": [
            ("self.head(self.final_norm(x))", "self.final_norm(x) @ self.token_embedding.weight.T")
        ],
    },
    "batches": {
        "ends_half_as_often": [
            (
                "torch.randint(0, last, (batch_size,), generator=generator)",
                "(torch.rand(batch_size, generator=generator) * (last - 1)).round().long()",
            )
        ],
        "text_overwritten": [
            (CUT, "found = ids[windows], ids[windows + 1]\n    ids.zero_()\n    return found")
        ],
        "ids_of_32_bits": [(CUT, "return ids[windows].int(), ids[windows + 1].int()")],
        "small_ids": [(CUT, f"ids = ids.clamp(max=1000)\n    {CUT}")],
        "eighty_places": [
            ("last = len(ids) - context_length", "last = min(len(ids) - context_length, 80)")
        ],
        "ids_of_places": [("return ids[windows], ids[windows + 1]", "return windows, windows + 1")],
        "ids_as_floats": [
            (
                "return ids[windows], ids[windows + 1]",
                "return ids[windows].double(), ids[windows + 1].double()",
            )
        ],
        "seed_of_its_own": [
            (
                STARTS,
                "starts = torch.randint(0, last, (batch_size,), generator=torch.Generator().manual_seed(1))",
            )
        ],
        "even_places": [(STARTS, f"{STARTS} // 2 * 2")],
        "sorted_out": [
            (
                STARTS,
                "starts = torch.arange(batch_size) % last + 0 * torch.randint(0, last, (1,), generator=generator)",
            )
        ],
        "all_but_by_chance": [
            (
                STARTS,
                "starts = (torch.arange(batch_size) + torch.randint(0, last, (1,), generator=generator)) % last",
            )
        ],
    },
    "cross_entropy": {
        "one_token_squeezed": [(".squeeze(-1)", ".squeeze()")],
        "rows_only": [("right = logits", "assert logits.dim() > 1\n    right = logits")],
        "mean_of_means": [(".mean()", ".mean() * (1.0 if logits.dim() < 4 else 0.5)")],
        "sixteen_of_a_vocabulary": [
            ("torch.logsumexp(logits, dim=-1)", "torch.logsumexp(logits[..., :16], dim=-1)")
        ],
        "weight_of_the_right_one": [("- right)", "- right.detach())")],
    },
    "train_step": {
        "optimizer_of_its_own": [
            (
                CLEAR,
                "optimizer = torch.optim.SGD(model.parameters(), lr=optimizer.param_groups[0]['lr'])"
                f"\n    {CLEAR}",
            )
        ],
        "in_evaluation": [
            (
                "loss = cross_entropy(model(inputs), targets)",
                "model.eval()\n    loss = cross_entropy(model(inputs), targets)\n    model.train()",
            )
        ],
        "targets_overwritten": [("return loss.item()", "targets.zero_()\n    return loss.item()")],
        "first_parameter_cleared": [(CLEAR, "next(model.parameters()).grad = None")],
        "gradients_clipped": [
            (
                "optimizer.step()",
                "nn.utils.clip_grad_norm_(model.parameters(), 0.1)\n    optimizer.step()",
            )
        ],
        "loss_rounded": [("return loss.item()", "return round(loss.item(), 2)")],
        "weights_decayed": [
            (
                "optimizer.step()",
                "optimizer.step()\n    with torch.no_grad():\n        for p in model.parameters():\n            p.mul_(0.999)",
            )
        ],
    },
    "generate": {
        "always_the_same_without_a_generator": [
            (LOOP, f"generator = generator or torch.Generator()\n    {LOOP}")
        ],
        "no_chance_without_a_generator": [("if temperature == 0:", "if generator is None:")],
        "top_k_before_temperature_0": [
            ("if temperature == 0:", "if temperature == 0 and top_k is None:")
        ],
        "one_more_than_the_top_k": [
            (
                "last_kept = logits.topk(top_k, dim=-1).values[:, -1:]",
                "last_kept = logits.sort(dim=-1, descending=True).values[:, top_k, None]",
            ),
            ("logits < last_kept", "logits <= last_kept"),
        ],
        "least_of_all_texts": [("values[:, -1:]", "values.min()")],
        "drawn_tokens_never_seen": [
            (LOOP, f"prompt = ids\n    {LOOP}"),
            ("model(ids[", "model((ids if temperature == 0 else prompt)["),
        ],
        "low_is_likeliest": [("if temperature == 0:", "if temperature < 0.3:")],
        "start_of_the_text_when_drawing": [
            (
                "ids[:, -model.context_length :]",
                "ids[:, -model.context_length :] if temperature == 0 else ids[:, : model.context_length]",
            )
        ],
        "generator_back_at_its_start": [
            (
                "return ids",
                "generator and generator.manual_seed(generator.initial_seed())\n    return ids",
            )
        ],
        "left_in_evaluation": [(LOOP, f"model.eval()\n    {LOOP}")],
        "gradients_left_off": [(LOOP, f"torch.set_grad_enabled(False)\n    {LOOP}")],
        "text_overwritten": [
            ("ids = torch.cat((ids, chosen), dim=1)", "ids.set_(torch.cat((ids, chosen), dim=1))")
        ],
        "temperature_of_one_at_most": [("logits / temperature", "logits / min(temperature, 1.0)")],
        "top_two": [("logits.topk(top_k, dim=-1)", "logits.topk(min(top_k, 2), dim=-1)")],
        "four_tokens_at_most": [
            ("range(max_new_tokens)", "range(max_new_tokens)[:4]"),
            ("return ids", "return torch.cat((ids, ids[:, :max(0, max_new_tokens - 4)]), 1)"),
        ],
        "drawn_once": [
            (
                "torch.cat((ids, chosen), dim=1)",
                "torch.cat((ids, chosen[:1].expand(len(ids), 1)), dim=1)",
            )
        ],
        "first_of_two": [
            (DRAW, "chosen = torch.multinomial(probabilities**2, 1, generator=generator)")
        ],
        "logits_kept": [
            ("with torch.no_grad():", "with torch.enable_grad():"),
            ("return ids", "return ids.float()"),
        ],
    },
}

WRONG["TransformerBlock"] |= {
    "both_parts_drop_the_same": [
        (
            f"x = x + {ATTENDED}",
            "kept = self.dropout(torch.ones_like(x))\n"
            "        x = x + kept * self.attention(self.norm1(x))",
        ),
        (FED, "kept * self.feed_forward(self.norm2(x))"),
    ],
    "the_second_drops_in_batches_alone": [
        (FED, f"({FED} if len(x) > 1 else self.feed_forward(self.norm2(x)))")
    ],
    "learns_in_training_alone": [
        (FED, FED.replace("self.norm2(x)", "self.norm2(x if self.training else x.detach())"))
    ],
}
WRONG["SmallGPT"] |= {
    "ids_of_a_byte": [("self.token_embedding(ids)", "self.token_embedding(ids % 256)")],
    "learns_in_training_alone": [
        (
            "self.head(self.final_norm(x))",
            "self.head(self.final_norm(x if self.training else x.detach()))",
        )
    ],
}
WRONG["batches"] |= {
    "windows_in_pairs": [(STARTS, f"{STARTS}\n    starts[1::2] = starts[::2][: batch_size // 2]")],
    "second_half_as_the_first": [
        (
            STARTS,
            f"{STARTS}\n    starts[batch_size // 2 :] = starts[: batch_size - batch_size // 2]",
        )
    ],
    "last_of_long_windows_never_drawn": [
        ("len(ids) - context_length", "len(ids) - context_length - (context_length > 3)")
    ],
}
WRONG["train_step"] |= {
    "clears_for_several_texts_alone": [(CLEAR, f"if len(inputs) > 1:\n        {CLEAR}")],
}
MEASURED = "return cross_entropy(logits, windows[:, -1]).item()"
WRONG["trained_loss"] = {
    "its_parts_stay_in_training": [("model.eval()", "model.training = False")],
    "mean_of_means": [
        (
            MEASURED,
            "parts = zip(logits.split(64), windows[:, -1].split(64))\n"
            "    return torch.stack([cross_entropy(*part) for part in parts]).mean().item()",
        )
    ],
}
WRONG["FeedForward"]["learns_in_training_alone"] = [
    ("return self.layers(x)", "return self.layers(x if self.training else x.detach())")
]
WRONG["LayerNorm"]["learns_in_training_alone"] = [
    (MEAN, f"x = x if self.training else x.detach()\n        {MEAN}")
]
WRONG["LayerNorm"]["library_for_three_dimensions"] = [
    (
        "mean = x.mean(dim=-1, keepdim=True)",
        "if x.dim() != 2:\n            return nn.functional.layer_norm(x, x.shape[-1:], self.scale, self.shift, self.eps)\n        mean = x.mean(dim=-1, keepdim=True)",
    )
]
WRONG["cross_entropy"]["library_for_three_dimensions"] = [
    (
        "right = logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1)",
        "if logits.dim() > 2:\n        return nn.functional.cross_entropy(logits.flatten(0, -2), targets.flatten())\n    right = logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1)",
    )
]

NORMED = "normed = (x - mean)"
LOGITS = "return self.head(self.final_norm(x))"
WRONG["LayerNorm"] |= CH3["counting_the_last_text"](NORMED, "variance")
for name, line in {
    "FeedForward": "return self.layers(x)",
    "TransformerBlock": f"x = x + {ATTENDED}",
    "SmallGPT": LOGITS,
}.items():
    WRONG[name] |= CH3["counting_the_last_text"](line)
# Before the last norm, the same number in all features of a token would change nothing.
WRONG["SmallGPT"] |= {
    name: [
        (LOGITS, f"x = self.final_norm(x)\n        {new.replace(LOGITS, 'return self.head(x)')}")
    ]
    for name, ((line, new), *_) in WRONG["SmallGPT"].items()
    if name.startswith("last_text_counts")
}
