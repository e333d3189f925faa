"""Wrong in one place that a fixed grid of sizes never visits: edits of the solution."""

PLACES = "places = torch.arange(ids.shape[1], device=ids.device)"
STARTS = "starts = torch.randint(0, last, (batch_size,), generator=generator)"
DRAW = "chosen = torch.multinomial(probabilities, 1, generator=generator)"

WRONG = {
    "LayerNorm": {
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
        "four_rows": [
            (
                "return self.layers(x)",
                "return torch.cat((self.layers(x[:60]), 0 * x[60:])) if x.dim() > 1 and len(x) > 4 else self.layers(x)",
            )
        ],
        "tokens_mixed": [("return self.layers(x)", "return self.layers(x) + 1e-2 * x.mean(0)")],
    },
    "TransformerBlock": {
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
        "four_blocks_at_most": [
            ("for block in self.blocks:", "for block in list(self.blocks)[:2]:")
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
        "mean_of_means": [(".mean()", ".mean() * (1.0 if logits.dim() < 4 else 0.5)")],
        "sixteen_of_a_vocabulary": [
            ("torch.logsumexp(logits, dim=-1)", "torch.logsumexp(logits[..., :16], dim=-1)")
        ],
        "weight_of_the_right_one": [("- right)", "- right.detach())")],
    },
    "train_step": {
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
