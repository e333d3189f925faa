"""Unusual but right answers that a check of modes, randomness or state could reject."""

PLACES = "torch.arange(ids.shape[1], device=ids.device)"

RIGHT = {
    "LayerNorm": {
        "square_of_the_mean_subtracted": [
            (
                "x.var(dim=-1, keepdim=True, unbiased=False)",
                "(x * x).mean(dim=-1, keepdim=True) - mean * mean",
            )
        ],
    },
    "TransformerBlock": {
        "functional_dropout": [
            (
                "self.dropout(self.attention(self.norm1(x)))",
                "nn.functional.dropout(self.attention(self.norm1(x)), self.dropout.p, self.training)",
            )
        ],
        "a_dropout_for_each_part": [
            (
                "self.dropout = nn.Dropout(dropout)",
                "self.dropout = self.late = nn.Dropout(dropout)",
            ),
            ("self.dropout(self.feed_forward", "self.late(self.feed_forward"),
        ],
    },
    "SmallGPT": {
        "dropout_by_hand": [
            (
                "x = self.dropout(x)",
                "p = self.dropout.p\n"
                "        x = x * (torch.rand_like(x) >= p) / (1 - p) if self.training and p else x",
            )
        ],
        "places_of_the_mask": [(PLACES, "torch.ones_like(ids[0]).cumsum(0) - 1")],
        "places_brought_along": [
            (PLACES, "torch.arange(ids.shape[1]).to(self.head.weight.device)")
        ],
        "places_beside_the_ids": [(PLACES, "ids.new_tensor(list(range(ids.shape[1])))")],
        "start_of_the_table": [
            ("self.position_embedding(places)", "self.position_embedding.weight[: ids.shape[1]]")
        ],
        "weights_drawn_by_hand": [
            (
                "self.final_norm = LayerNorm(d)",
                "self.final_norm = LayerNorm(d)\n"
                "        for table in (self.token_embedding, self.position_embedding):\n"
                "            nn.init.normal_(table.weight, std=0.02)",
            )
        ],
    },
    "train_step": {
        "into_training_first": [
            ("optimizer.zero_grad()", "model.train()\n    optimizer.zero_grad()")
        ],
    },
    "generate": {
        "in_evaluation_and_back": [
            (
                "for _ in range(max_new_tokens):",
                "training = model.training\n    model.eval()\n    for _ in range(max_new_tokens):",
            ),
            ("return ids", "model.train(training)\n    return ids"),
        ],
        "in_inference_mode": [
            ("torch.no_grad()", "torch.inference_mode()"),
            ("return ids", "return ids.clone()"),
        ],
        "drawn_by_noise": [
            (
                "torch.multinomial(probabilities, 1, generator=generator)",
                "(probabilities / torch.empty_like(probabilities)"
                ".exponential_(generator=generator)).argmax(-1, keepdim=True)",
            )
        ],
    },
    "trained_loss": {
        "torchs_own_loss": [
            (
                "return cross_entropy(logits, windows[:, -1]).item()",
                "return float(nn.functional.cross_entropy(logits, windows[:, -1]))",
            )
        ],
        "one_window_after_another": [
            (
                "logits = model(windows[:, :-1])[:, -1]",
                "logits = torch.cat([model(one[None, :-1])[:, -1] for one in windows])",
            )
        ],
    },
}
