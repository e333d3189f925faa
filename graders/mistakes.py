"""Mistakes of several exercises: each applies where a solution has its text exactly once."""

MISTAKES = """
# --- The scale of the scores ---

no_scale 30%: The scores go into the softmax unscaled. Think about how dot products grow with the
  number of features of the keys.
    / d_k**0.5 ->
scaled_by_d_k 30%: The scores are divided by d_k itself. The spread of a dot product grows more
  slowly than its number of terms.
    / d_k**0.5 -> / d_k
scaled_by_d_k_and_2 30%: The scores are divided by d_k and then by 2. In `d_k**1 / 2` the power
  comes before the division; the root is `d_k**0.5`.
    / d_k**0.5 -> / d_k / 2
scaled_by_half_of_d_k 30%: The scores are divided by half of d_k. In `d_k**1 / 2` the power comes
  before the division; the root is `d_k**0.5`.
    / d_k**0.5 -> / (d_k / 2)
scaled_by_d_k_squared: The scores are divided by the square of d_k instead of its square root.
    / d_k**0.5 -> / d_k**2
scaled_by_the_fourth_root 30%: The scores are divided by the fourth root of d_k; it should be the
  square root.
    / d_k**0.5 -> / d_k**0.25
scaled_by_a_twentieth_power: The exponent of d_k is 0.05; a square root has the exponent 0.5.
    / d_k**0.5 -> / d_k**0.05
multiplied_by_sqrt_d_k 30%: The scores are multiplied by the scale, which makes the softmax sharper,
  not softer.
    / d_k**0.5 -> * d_k**0.5
scaled_by_tokens 30%: The scale depends on the number of tokens. Dot products become large because
  vectors have many features, not because the text is long.
    / d_k**0.5, dim -> / attn_scores.shape[-1] ** 0.5, dim
scaled_by_a_constant 30%: The scale is a fixed number: right for one size of keys (64) and wrong for
  all others.
    / d_k**0.5 -> / 8
scaled_after_softmax 40%: The scale is applied after the softmax, so the rows of the weights no
  longer sum to 1. It is meant to soften the scores before the softmax.
    torch.softmax( -> 1 / d_k**0.5 * torch.softmax(
    / d_k**0.5, -> ,
scaled_by_sqrt_d_in 30%: The scale comes from the width of the inputs. The dot products are between
  projected vectors, which may have another width.
    self.W_query = nn. -> self.W_query = nn.
    / d_k**0.5 -> / x.shape[-1] ** 0.5
scaled_by_sqrt_d_out 30%: The scale comes from all of d_out. Each head computes dot products of its
  own, shorter vectors.
    self.out_proj( -> self.out_proj(
    / d_k**0.5 -> / self.out_proj.in_features ** 0.5
scaled_by_sqrt_num_heads 30%: The scale comes from the number of heads. Over how many features does
  the dot product of one head run?
    self.out_proj( -> self.out_proj(
    / d_k**0.5 -> / self.num_heads ** 0.5
scaled_by_number_of_queries: The scale depends on the number of queries. Dot products become large
  because vectors have many features, not because the text is long.
    queries @ keys -> queries @ keys
    / d_k**0.5 -> / queries.shape[-2] ** 0.5
scaled_by_width_of_values 30%: The scale comes from the width of the values. The dot products are
  between queries and keys.
    attn_weights @ values -> attn_weights @ values
    / d_k**0.5 -> / values.shape[-1] ** 0.5
scaled_by_dimension_0: The scale comes from the first dimension, which counts keys or texts; the
  width of the keys is their last dimension.
    queries @ keys -> queries @ keys
    / d_k**0.5 -> / keys.shape[0] ** 0.5
scaled_by_dimension_1 40%: The scale comes from dimension 1, which is the width of the keys only
  if there is no batch. Counted from the end, the width is always last.
    queries @ keys -> queries @ keys
    / d_k**0.5 -> / keys.shape[1] ** 0.5

# --- Softmax over the wrong entries, twice, or not at all ---

softmax_over_columns 40%: The softmax runs over the wrong axis: columns sum to 1 and rows do not.
  Each query should distribute its attention over the tokens that it looks at.
    d_k = keys.shape[-1] -> d_k = keys.shape[-1]
    , dim=-1) -> , dim=-2)
    or
    masked_scores = -> masked_scores =
    , dim=-1) -> , dim=-2)
    or
    inputs @ inputs.T -> inputs @ inputs.T
    , dim=-1) -> , dim=-2)
log_softmax_for_softmax: log_softmax gives the logarithms of the weights. Use softmax itself.
    torch.softmax( -> torch.log_softmax(
exponentials_for_softmax: The exponentials of the scores are used as weights without dividing them
  by their sum, so nothing is normalised.
    torch.softmax( -> torch.exp(
    , dim=-1) -> )
softmax_over_dimension_1 40%: The softmax runs over dimension 1, which is the keys' dimension only
  if there is no batch. Counted from the end, the keys are always in the same place.
    d_k = keys.shape[-1] -> d_k = keys.shape[-1]
    , dim=-1) -> , dim=1)
softmax_over_dimension_0: The softmax runs over dimension 0. It should run over the keys, which are
  in the last dimension, with a batch and without one.
    queries @ keys.transpose(-2, -1) -> queries @ keys.transpose(-2, -1)
    , dim=-1) -> , dim=0)
    or
    masked_scores / d_k**0.5, dim=-1) -> masked_scores / d_k**0.5, dim=0)
softmax_over_everything 40%: One softmax runs over all scores at once. Each query needs its own
  weights that sum to 1.
    torch.softmax( -> torch.softmax((
    , dim=-1) -> ).flatten(), dim=0).reshape(attn_scores.shape)
no_softmax: The scores are used as weights without a softmax, so they can be negative and do not sum
  to 1.
    torch.softmax( -> (
    , dim=-1) -> )
softmax_twice 40%: The weights go through a second softmax, which makes them almost equal.
    torch.softmax( -> torch.softmax(torch.softmax(
    , dim=-1) -> , dim=-1), dim=-1)
divided_by_sum: The scores are divided by their sum without an exponential. Weights can then be
  negative, even the best match's, and a sum near zero makes them huge.
    torch.softmax(attn_scores, dim=-1) -> attn_scores / attn_scores.sum(dim=-1, keepdim=True)
softmax_over_batch 40%: The softmax runs over the batch, so independent texts share one
  distribution.
    d_k = keys.shape[-1] -> d_k = keys.shape[-1]
    , dim=-1) -> , dim=0)
detached_weights: No gradient flows back through the weights (detach, no_grad, .data or a new
  tensor), so nothing before them can learn.
    torch.softmax( -> torch.softmax(
    , dim=-1) -> , dim=-1).detach()

# --- Scores between the wrong vectors, or weights applied to the wrong ones ---

scores_transposed 40%: Queries and keys are swapped, in the product or in their projections. Row i
  should contain the scores of token i's query with all keys.
    queries @ keys.transpose( -> keys @ queries.transpose(
scores_from_queries_alone 40%: The scores compare queries with queries; the keys have no effect. Is
  one projection used twice?
    queries @ keys.transpose( -> queries @ queries.transpose(
scores_from_keys_alone 40%: The scores compare keys with keys; the queries have no effect. Is one
  projection used twice?
    queries @ keys.transpose( -> keys @ keys.transpose(
scores_from_values 40%: The scores compare queries with values. Values are what a token passes on,
  not what is compared.
    attn_weights @ values -> attn_weights @ values
    queries @ keys.transpose( -> queries @ values.transpose(
keys_instead_of_values 40%: The weights mix the keys, or values that are projected like the keys. A
  token passes on its value.
    attn_weights @ values -> attn_weights @ keys
queries_instead_of_values 40%: The weights mix the queries, or values that are projected like the
  queries. A token passes on its value.
    attn_weights @ values -> attn_weights @ queries
weights_transposed 40%: The weights are transposed before they are applied: each result is mixed by
  a column of the weights instead of its own row.
    attn_weights @ values -> attn_weights.transpose(-2, -1) @ values
    or
    attn_weights @ inputs -> attn_weights.T @ inputs
weights_returned_transposed: The returned weights are transposed. Row i should hold the weights with
  which token i mixes all tokens, so each row sums to 1.
    context_vecs, attn_weights -> context_vecs, attn_weights.T
    or
    - return torch.softmax(attn_scores / d_k**0.5, dim=-1)
    + return torch.softmax(attn_scores / d_k**0.5, dim=-1).transpose(-2, -1)
scores_instead_of_weights: The raw scores are applied instead of the weights that the softmax makes
  of them.
    attn_weights @ values -> attn_scores @ values
    or
    attn_weights @ inputs -> attn_scores @ inputs
first_row_for_all_keys: The keys of the first text are used for the whole batch. The texts of a
  batch must not see each other.
    d_in = x.shape -> d_in = x.shape
    queries @ keys.transpose( -> queries @ keys[:1].transpose(
first_row_for_all_values: The values of the first text are used for the whole batch. The texts of a
  batch must not see each other.
    d_in = x.shape -> d_in = x.shape
    attn_weights @ values -> attn_weights @ values[:1]
t_on_a_batch 40%: The batch dimension is swapped too, as with `.T`, which reverses all dimensions.
  Only the last two should be swapped.
    queries @ keys.transpose(1, 2) -> queries @ keys.T
    or
    queries @ keys.transpose(2, 3) -> queries @ keys.T
    or
    queries @ keys.transpose(-2, -1) -> queries @ keys.T
keys_not_transposed: The two factors are multiplied without a transpose. For dot products of rows
  with rows, swap the last two dimensions of the second factor first.
    queries @ keys.transpose(1, 2) -> queries @ keys
    or
    queries @ keys.transpose(-2, -1) -> queries @ keys
    or
    inputs @ inputs.T -> inputs @ inputs
batch_transposed 40%: In the keys, the batch is swapped with another dimension. Swap the last
  two instead.
    queries @ keys.transpose(1, 2) -> queries @ keys.transpose(0, 1)
    or
    queries @ keys.transpose(2, 3) -> queries @ keys.transpose(0, 1)
    or
    queries @ keys.transpose(-2, -1) -> queries @ keys.transpose(0, 1)
heads_and_tokens_transposed: In the product, heads and tokens of the keys are swapped. Swap the last
  two dimensions instead.
    queries @ keys.transpose(2, 3) -> queries @ keys.transpose(1, 2)

# --- Masks ---

mask_inverted 40%: The past and the token itself are hidden, and the future is visible. The hidden
  places belong above the diagonal.
    torch.triu( -> torch.tril(
    , diagonal=1) -> )
    or
    torch.tril( -> torch.triu(
    torch.ones_like(attn_weights) -> torch.ones_like(attn_weights), diagonal=1
mask_hides_the_past 40%: The mask is on the wrong side of the diagonal: tokens see themselves and
  the future.
    torch.triu( -> torch.tril(
    diagonal=1 -> diagonal=-1
    or
    torch.tril( -> torch.triu(
mask_on_the_diagonal 40%: The mask also hides the diagonal, so the first token sees nothing; each
  token should see itself.
    , diagonal=1) -> )
    or
    torch.ones_like(attn_weights) -> torch.ones_like(attn_weights), diagonal=-1
mask_one_too_late 40%: The mask starts one place too late: each token still sees the next one.
    diagonal=1 -> diagonal=2
    or
    torch.ones_like(attn_weights) -> torch.ones_like(attn_weights), diagonal=1
mask_thrown_away: Nothing is masked: every token sees the future. If you do fill the hidden places,
  is the result used? Without an underscore, `masked_fill` returns a new tensor.
    attn_scores = attn_scores.masked_fill(future, -> attn_scores.masked_fill(future,
    or
    attn_scores.masked_fill(future, -torch.inf) -> attn_scores
    or 100%
    attn_weights * visible -> attn_weights
mask_only_in_evaluation 40%: Nothing is masked in training, so a model learns from the very tokens
  that it should predict. The mask is needed in both modes.
    - attn_scores = attn_scores.masked_fill(future, -torch.inf)
    + attn_scores = attn_scores.masked_fill(future & (not self.training), -torch.inf)
mask_only_without_dropout 40%: Nothing is masked while dropout is active, so a model learns from the
  very tokens that it should predict. The mask does not depend on dropout.
    nn.Dropout(dropout) -> nn.Dropout(dropout)
    masked_fill(future, -> masked_fill(future & (not self.training or self.dropout.p == 0),
mask_filled_with_zero: Hidden scores are set to 0 or nearly 0. The softmax gives a score of 0 a
  weight like any other.
    attn_scores.masked_fill(future, -torch.inf) -> attn_scores.masked_fill(future, 0.0)
mask_filled_with_minus_one: Hidden scores are set to a number that is not low enough: the softmax
  still gives them a weight.
    attn_scores.masked_fill(future, -torch.inf) -> attn_scores.masked_fill(future, -1.0)
mask_fill_not_low_enough 30%: Hidden scores are set to a number that is not below all ordinary
  scores, so hidden tokens can win. Only minus infinity is lower than all of them.
    attn_scores.masked_fill(future, -torch.inf) -> attn_scores.masked_fill(future, -100.0)
    or
    masked_fill(hidden, -torch.inf) -> masked_fill(hidden, -100.0)
mask_filled_with_plus_inf: Hidden scores are plus infinity or NaN, and the softmax of a row with one
  of them is NaN. Use minus infinity to hide a score.
    attn_scores.masked_fill(future, -torch.inf) -> attn_scores.masked_fill(future, torch.inf)
mask_times_minus_inf: A mask is multiplied by -inf, and 0 times infinity is NaN. Fill the hidden
  places instead of multiplying.
    attn_scores.masked_fill(future, -torch.inf) -> attn_scores + future.float() * -torch.inf
masked_without_renormalizing 40%: The future is set to zero after the softmax, and the rest no
  longer sums to 1. What is missing still reveals something about the future.
    attn_scores.masked_fill(future, -torch.inf) -> attn_scores
    , dim=-1) -> , dim=-1).masked_fill(future, 0.0)
    or
    masked / masked.sum(dim=-1, keepdim=True) -> masked
masked_after_the_softmax: The future is set to zero after the softmax. If it attracts all attention,
  what remains is 0 divided by 0. Hide the scores before the softmax.
    attn_scores = attn_scores.masked_fill(future, -torch.inf) -> pass
    - torch.softmax(attn_scores / d_k**0.5, dim=-1)
    + torch.softmax(attn_scores / d_k**0.5, dim=-1).masked_fill(future, 0.0)
    + attn_weights = attn_weights / attn_weights.sum(dim=-1, keepdim=True)
    or
    attn_scores.masked_fill(future, -torch.inf) -> attn_scores
    - return torch.softmax(masked_scores / d_k**0.5, dim=-1)
    + weights = torch.softmax(masked_scores / d_k**0.5, dim=-1).masked_fill(future, 0.0)
    + return weights / weights.sum(dim=-1, keepdim=True)
minus_inf_after_softmax: The -inf is filled in after the softmax. It belongs before the exponential,
  which turns it into 0.
    attn_scores.masked_fill(future, -torch.inf) -> attn_scores
    , dim=-1) -> , dim=-1).masked_fill(future, -torch.inf)
zeros_taken_for_hidden 30%: Every score that is 0 is hidden, wherever it is. A token may have a
  score of 0 and be visible.
    attn_scores.masked_fill(future, -> attn_scores.tril().masked_fill(attn_scores.tril() == 0,
mask_cut_for_good: The module's own mask is cut to the length of one text, and is then too small for
  a longer text.
    - self.mask[:num_tokens, :num_tokens]
    + self.mask[:num_tokens, :num_tokens]
    + self.mask = future
mask_inverted_and_shifted: The past, the token itself and the next one are hidden, and the rest of
  the future is visible. The hidden places belong above the diagonal.
    torch.triu( -> torch.tril(
mask_not_cut 30%: The mask is too large for a text that is shorter than context_length: use only its
  first num_tokens rows and columns.
    self.mask[:num_tokens, :num_tokens] -> self.mask
mask_as_plain_attribute: The mask is a plain attribute, so torch neither moves it with the module to
  another device nor saves it with the module's state.
    self.register_buffer("mask", future.bool()) -> self.mask = future.bool()
mask_as_parameter: The mask is a Parameter, so an optimizer would treat it as something to learn.
    register_buffer("mask", future.bool()) -> mask = nn.Parameter(future, requires_grad=False)
    self.mask[:num_tokens, :num_tokens] -> self.mask[:num_tokens, :num_tokens].bool()
changes_scores_in_place: A tensor that was passed in is overwritten. The caller still needs its old
  values.
    attn_scores.masked_fill(future, -torch.inf) -> attn_scores.masked_fill_(future, -torch.inf)
    or
    attn_weights * visible -> attn_weights.mul_(visible)
mask_for_six_tokens: Six, the number of tokens of the example, is written into the code. The mask
  needs as many rows and columns as `context_length` says.
    self.mask[:num_tokens, :num_tokens] -> self.mask[:6, :6]
    or
    torch.ones(context_length, context_length) -> torch.ones(6, 6)
mask_made_for_six_tokens: The mask is made for six tokens, whatever `context_length` says, so longer
  texts fail. It needs as many rows and columns as `context_length` says.
    torch.ones(context_length, context_length) -> torch.ones(6, 6)
mask_in_the_other_sense: The mask is passed to scaled_dot_product_attention unchanged. That function
  expects True for visible tokens, the opposite of masked_fill.
    nn.Dropout(dropout) -> nn.Dropout(dropout)
    future = self.mask[ -> future = self.mask[
    - attn_weights @ values
    + nn.functional.scaled_dot_product_attention(
    +     queries, keys, values, attn_mask=future,
    +     dropout_p=self.dropout.p if self.training else 0.0,
    + )
    or
    future = self.mask[ -> future = self.mask[
    - attn_weights @ values
    + nn.functional.scaled_dot_product_attention(queries, keys, values, attn_mask=future)
mask_in_the_other_sense_without_dropout: The mask is passed to scaled_dot_product_attention
  unchanged. That function expects True for visible tokens, the opposite of masked_fill.
    future = self.mask[ -> future = self.mask[
    - attn_weights @ values
    + nn.functional.scaled_dot_product_attention(queries, keys, values, attn_mask=future)

causal_here_too: The future is hidden, as in causal attention. Here every query sees all keys.
    - attn_scores = queries @ keys.transpose(-2, -1)
    - d_k = keys.shape[-1]
    + attn_scores = queries @ keys.transpose(-2, -1)
    + future = torch.ones_like(attn_scores).triu(1).bool()
    + attn_scores = attn_scores.masked_fill(future, -torch.inf)
    + d_k = keys.shape[-1]
    or
    - d_k = keys.shape[-1]
    + future = torch.ones(n, m, device=x.device).triu(1).bool()
    + attn_scores = attn_scores.masked_fill(future, -torch.inf)
    + d_k = keys.shape[-1]

# --- Dropout ---

dropout_left_out: Nothing is dropped in training. Is dropout missing or switched off, or is its
  result not used?
    attn_weights = self.dropout(attn_weights) -> self.dropout(attn_weights)
    or 100%
    attn_weights * keep / (1 - p) -> attn_weights
dropout_on_scores: Dropout acts on the scores before the softmax, which gives a score of 0 a
  weight. Apply dropout to the weights.
    attn_weights = self.dropout(attn_weights) -> pass
    attn_scores / d_k**0.5 -> self.dropout(attn_scores / d_k**0.5)
dropout_on_output: Dropout acts after the weights have mixed the values, on the context vectors or
  the output. Here it should act on the attention weights.
    attn_weights = self.dropout(attn_weights) -> pass
    return attn_weights @ values -> return self.dropout(attn_weights @ values)
    or
    attn_weights = self.dropout(attn_weights) -> pass
    return self.out_proj(context_vec) -> return self.dropout(self.out_proj(context_vec))
dropout_on_values: Dropout acts on the values. Here it should act on the attention weights.
    attn_weights = self.dropout(attn_weights) -> pass
    attn_weights @ values -> attn_weights @ self.dropout(values)
dropout_always_on: Dropout stays on in evaluation, where every run should give the same result.
    self.dropout(attn_weights) -> nn.functional.dropout(attn_weights, self.dropout.p)
    or
    if not training: -> if False:
own_dropout_always_on: Dropout of your own acts in evaluation too. Pass it `self.training`.
    - self.dropout(attn_weights)
    + attn_weights * (torch.rand_like(attn_weights) >= self.dropout.p) / (1 - self.dropout.p)
dropout_not_rescaled: The remaining entries are not scaled up, so the expected weight shrinks.
  Inverted dropout corrects this in training.
    self.dropout(attn_weights) -> self.dropout(attn_weights) * (1 - self.dropout.p * self.training)
    or
    attn_weights * keep / (1 - p) -> attn_weights * keep
dropout_rescaled_twice: The remaining entries are scaled up twice. Dividing by 1 - p once keeps the
  mean, and nn.Dropout already does that.
    self.dropout(attn_weights) -> self.dropout(attn_weights) / (1 - self.dropout.p * self.training)
    or
    attn_weights * keep / (1 - p) -> attn_weights * keep / (1 - p) ** 2
dropout_rescaled_always: The weights are scaled up in addition to nn.Dropout, and in evaluation too.
  nn.Dropout already scales them, in training only.
    self.dropout(attn_weights) -> self.dropout(attn_weights) / (1 - self.dropout.p)
dropout_rate_fixed: The dropout rate is a fixed number; the one that was passed in is ignored.
    nn.Dropout(dropout) -> nn.Dropout(0.1)
dropout_rate_of_a_half: The dropout rate is always 0.5, whatever rate is passed in. 0.5 is the
  default of nn.Dropout.
    nn.Dropout(dropout) -> nn.Dropout()
dropout_keeps_p: p is used as the share that is kept. It is the share that is dropped.
    nn.Dropout(dropout) -> nn.Dropout(1 - dropout)
    or
    keep = torch.rand_like(attn_weights) >= p -> keep = torch.rand_like(attn_weights) < p
    attn_weights * keep / (1 - p) -> attn_weights * keep / p
dropout_renormalized: After dropout the rows are normalised to a sum of 1, which undoes the scaling
  of each row.
    - attn_weights = self.dropout(attn_weights)
    + attn_weights = self.dropout(attn_weights)
    + attn_weights = attn_weights / attn_weights.sum(-1, keepdim=True).clamp(min=1e-9)
    or
    * keep / (1 - p) -> * keep / (attn_weights * keep).sum(-1, keepdim=True)
dropout_seed_fixed: Every call drops the same entries. Is a seed set inside, or are the entries not
  random? Dropout draws new ones each time.
    - attn_weights = self.dropout(attn_weights)
    + torch.manual_seed(0)
    + attn_weights = self.dropout(attn_weights)
    or
    - keep = torch.rand_like(attn_weights) >= p
    + torch.manual_seed(0)
    + keep = torch.rand_like(attn_weights) >= p
dropout_pattern_shared: All rows, or all texts of a batch, drop the same entries. Each weight should
  be dropped independently.
    self.dropout(attn_weights) -> attn_weights * self.dropout(torch.ones_like(attn_weights[:1]))
    or
    keep = torch.rand_like(attn_weights) >= p -> keep = torch.rand(attn_weights.shape[-1]) >= p

# --- Projections to queries, keys and values, and their biases ---

matrices_of_keys_and_values_exchanged: Keys and values are swapped, either in their projections or
  in the scores and the result. What is compared comes from W_key, what is mixed from W_value.
    keys = x @ self.W_key -> keys = x @ self.W_value
    values = x @ self.W_value -> values = x @ self.W_key
    or
    keys = self.W_key(x) -> keys = self.W_value(x)
    values = self.W_value(x) -> values = self.W_key(x)
bias_always 30%: The projections have biases although `qkv_bias` is False.
    - self.W_query = nn.Linear(
    + qkv_bias = True
    + self.W_query = nn.Linear(
    self.W_key = nn. -> self.W_key = nn.
bias_never 20%: The projections have no biases although `qkv_bias` is True.
    - self.W_query = nn.Linear(
    + qkv_bias = False
    + self.W_query = nn.Linear(
    self.W_key = nn. -> self.W_key = nn.
biases_unused: The biases are never used: only the `weight` of each layer is multiplied. Call the
  layers themselves.
    self.W_query(x) -> (x @ self.W_query.weight.T)
    self.W_key(x) -> (x @ self.W_key.weight.T)
    self.W_value(x) -> (x @ self.W_value.weight.T)
value_without_bias 20%: Only some of the three projections have a bias when `qkv_bias` is True.
    W_value = nn.Linear(d_in, d_out, bias=qkv_bias) -> W_value = nn.Linear(d_in, d_out, bias=False)
one_projection_for_two 40%: Two of the projections are the same object, so they can never learn to
  differ.
    self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias) -> self.W_key = self.W_query
    or
    self.W_key = nn.Parameter(torch.rand(d_in, d_out)) -> self.W_key = self.W_query
projection_to_d_in: The projections return d_in features instead of d_out.
    self.W_query = nn.Linear(d_in, d_out, -> self.W_query = nn.Linear(d_in, d_in,
    self.W_key = nn.Linear(d_in, d_out, -> self.W_key = nn.Linear(d_in, d_in,
    self.W_value = nn.Linear(d_in, d_out, -> self.W_value = nn.Linear(d_in, d_in,
    or
    W_query = nn.Parameter(torch.rand(d_in, d_out) -> W_query = nn.Parameter(torch.rand(d_in, d_in)
    W_key = nn.Parameter(torch.rand(d_in, d_out) -> W_key = nn.Parameter(torch.rand(d_in, d_in)
    W_value = nn.Parameter(torch.rand(d_in, d_out) -> W_value = nn.Parameter(torch.rand(d_in, d_in)
square_projection_of_d_out: The projections expect d_out features, but the inputs have d_in.
    self.W_query = nn.Linear(d_in, d_out, -> self.W_query = nn.Linear(d_out, d_out,
    self.W_key = nn.Linear(d_in, d_out, -> self.W_key = nn.Linear(d_out, d_out,
    self.W_value = nn.Linear(d_in, d_out, -> self.W_value = nn.Linear(d_out, d_out,
values_not_projected: The values are the unchanged inputs; they need a projection too.
    x @ W_value -> x
    or
    self.W_value(x) -> x
    or
    x @ self.W_value -> x
query_bias_always 20%: W_query always has a bias. It should have one only if `qkv_bias` is True.
    self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias) -> self.W_query = nn.Linear(d_in, d_out)
value_bias_always 20%: W_value always has a bias. It should have one only if `qkv_bias` is True.
    self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias) -> self.W_value = nn.Linear(d_in, d_out)
    or
    W_value = nn.Linear(d_in, kv_width, bias=qkv_bias) -> W_value = nn.Linear(d_in, kv_width)
    or
    W_value = nn.Linear(d_context, d_out, bias=qkv_bias) -> W_value = nn.Linear(d_context, d_out)
output_without_bias 20%: The output projection has no bias; it should always have one.
    nn.Linear(d_out, d_out) -> nn.Linear(d_out, d_out, bias=False)

one_layer_for_all_three 30%: Queries, keys and values come from one layer. W_query, W_key and
  W_value should be three layers.
    - self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
    - self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
    - self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
    + self.qkv = nn.Linear(d_in, 3 * d_out, bias=qkv_bias)
    - queries = self.W_query(x)
    - keys = self.W_key(x)
    - values = self.W_value(x)
    + queries, keys, values = self.qkv(x).chunk(3, dim=-1)
one_layer_for_keys_and_values 30%: Keys and values come from one layer. W_key and W_value should be
  two layers.
    - self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
    - self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)
    + self.kv = nn.Linear(d_context, 2 * d_out, bias=qkv_bias)
    - keys = self.W_key(context)
    - values = self.W_value(context)
    + keys, values = self.kv(context).chunk(2, dim=-1)
    or
    - self.W_key = nn.Linear(d_in, kv_width, bias=qkv_bias)
    - self.W_value = nn.Linear(d_in, kv_width, bias=qkv_bias)
    + self.kv = nn.Linear(d_in, 2 * kv_width, bias=qkv_bias)
    - keys = self.W_key(x)
    - values = self.W_value(x)
    + keys, values = self.kv(x).chunk(2, dim=-1)
parameters_for_layers 20%: The projections are nn.Parameters. Each should be an nn.Linear, whose
  weight has the shape (d_out, d_in).
    - self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
    - self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
    - self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
    + self.W_query = nn.Parameter(torch.rand(d_in, d_out))
    + self.W_key = nn.Parameter(torch.rand(d_in, d_out))
    + self.W_value = nn.Parameter(torch.rand(d_in, d_out))
    self.W_query(x) -> x @ self.W_query
    self.W_key(x) -> x @ self.W_key
    self.W_value(x) -> x @ self.W_value

# --- Splitting and merging heads ---

split_without_transpose: The heads are split with a reshape alone, so a row of a head is a piece of
  some token instead of one token's features. Split the features first, then swap tokens and heads.
    - queries = queries.reshape(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)
    + queries = queries.reshape(b, self.num_heads, num_tokens, self.head_dim)
    - keys = keys.reshape(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)
    + keys = keys.reshape(b, self.num_heads, num_tokens, self.head_dim)
    - values = values.reshape(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)
    + values = values.reshape(b, self.num_heads, num_tokens, self.head_dim)
    or
    - x.reshape(b, num_tokens, num_heads, head_dim).transpose(1, 2)
    + x.reshape(b, num_heads, num_tokens, head_dim)
merged_without_transpose: The heads are joined with a reshape alone, so one row mixes features of
  different tokens. Swap tokens and heads first.
    .transpose(1, 2).reshape(b, num_tokens, -> .reshape(b, num_tokens,
heads_interleaved 40%: Each head takes features at regular intervals. A head should be a block of
  neighbouring features.
    - queries = queries.reshape(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)
    + queries = queries.reshape(b, num_tokens, self.head_dim, self.num_heads).permute(0, 3, 1, 2)
    - keys = keys.reshape(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)
    + keys = keys.reshape(b, num_tokens, self.head_dim, self.num_heads).permute(0, 3, 1, 2)
    - values = values.reshape(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)
    + values = values.reshape(b, num_tokens, self.head_dim, self.num_heads).permute(0, 3, 1, 2)
    or
    - x.reshape(b, num_tokens, num_heads, head_dim).transpose(1, 2)
    + x.reshape(b, num_tokens, head_dim, num_heads).permute(0, 3, 1, 2)
merged_interleaved 40%: Joining the heads interleaves their features. Each head's features should
  stay together.
    .transpose(1, 2).reshape(b, num_tokens, -> .permute(0, 2, 3, 1).reshape(b, num_tokens,
heads_left_beside_features: Tokens and heads are not swapped, so attention would run between heads
  instead of between tokens.
    - queries = queries.reshape(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)
    + queries = queries.reshape(b, num_tokens, self.num_heads, self.head_dim)
    - keys = keys.reshape(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)
    + keys = keys.reshape(b, num_tokens, self.num_heads, self.head_dim)
    - values = values.reshape(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)
    + values = values.reshape(b, num_tokens, self.num_heads, self.head_dim)
    or
    - x.reshape(b, num_tokens, num_heads, head_dim).transpose(1, 2)
    + x.reshape(b, num_tokens, num_heads, head_dim)
one_big_head: The heads are not split: one head uses all features.
    self.num_heads = num_heads -> self.num_heads = 1
    self.head_dim = d_out // num_heads -> self.head_dim = d_out
    or
    x.reshape(b, num_tokens, num_heads, head_dim).transpose(1, 2) -> x.unsqueeze(1)
heads_in_reverse 40%: The heads are joined in the wrong order.
    .transpose(1, 2).reshape(b, num_tokens, -> .flip(1).transpose(1, 2).reshape(b, num_tokens,
heads_averaged: The heads are averaged. Each head should keep its own part of the output.
    - context_heads.transpose(1, 2).reshape(b, num_tokens, -1)
    + context_heads.mean(dim=1).repeat(1, 1, self.num_heads)
    or
    x.transpose(1, 2).reshape(b, num_tokens, num_heads * head_dim) -> x.mean(dim=1)
split_detached: No gradient flows back through the result.
    num_heads, head_dim).transpose(1, 2) -> num_heads, head_dim).transpose(1, 2).detach()
    or
    num_heads * head_dim) -> num_heads * head_dim).detach()
first_head_only: The result contains only the first head.
    num_heads, head_dim).transpose(1, 2) -> num_heads, head_dim).transpose(1, 2)[:, :1]
    or
    x.transpose(1, 2).reshape(b, num_tokens, num_heads * head_dim) -> x[:, 0]
view_on_transposed: `view` cannot change the shape of a transposed tensor: its numbers have a
  different order in memory.
    .transpose(1, 2).reshape(b, num_tokens, -> .transpose(1, 2).view(b, num_tokens,

# --- Softmax by hand, and weighted sums of the inputs ---

no_exponential: The numbers are divided by their sum without an exponential. Such weights can be
  negative, or largest for the smallest number; exponentials are positive and keep the order.
    torch.exp( -> (
exponential_not_normalized: The exponentials are not divided by their sum, so they do not add up to
  1.
    exponentials / exponentials.sum() -> exponentials
    or
    exponentials / exponentials.sum(dim=dim, keepdim=True) -> exponentials
divided_by_mean: The exponentials are divided by their mean, so they sum to the number of entries.
    / exponentials.sum( -> / exponentials.mean(
divided_by_sum_of_inputs: The exponentials are divided by the sum of the inputs instead of their own
  sum.
    / exponentials.sum( -> / x.sum(
base_two 30%: The exponential does not have the base e. Which function of torch computes e to the x?
    torch.exp( -> torch.exp2(
sigmoid: Each entry goes through a sigmoid on its own; the entries should share one sum.
    exponentials / exponentials.sum() -> torch.sigmoid(x)
    or
    exponentials / exponentials.sum(dim=dim, keepdim=True) -> torch.sigmoid(x)
log_softmax: The result contains the logarithms of the weights, not the weights.
    exponentials / exponentials.sum() -> x - exponentials.sum().log()
    or
    - exponentials / exponentials.sum(dim=dim, keepdim=True)
    + shifted - exponentials.sum(dim=dim, keepdim=True).log()
exponential_of_negative: The sign is reversed: the smallest score gets the largest weight.
    torch.exp( -> torch.exp(-
softmax_detached: No gradient flows back through the result.
    exponentials / exponentials.sum() -> (exponentials / exponentials.sum()).detach()
    or
    - exponentials / exponentials.sum(dim=dim, keepdim=True)
    + (exponentials / exponentials.sum(dim=dim, keepdim=True)).detach()
library_softmax 10%: It calls torch's own softmax or a related function (log_softmax,
  logsumexp); the exercise is to write it yourself.
    exponentials / exponentials.sum() -> torch.softmax(x, dim=0)
    or
    exponentials / exponentials.sum(dim=dim, keepdim=True) -> torch.softmax(x, dim=dim)
plain_average: All rows count equally; the weights have no effect.
    return attn_weights @ inputs -> return inputs.mean(dim=0)
    or
    attn_weights @ inputs -> inputs.mean(dim=0, keepdim=True).expand_as(inputs)
scaled_too_early 30%: The scores are divided by a scale; this chapter does not use one yet.
    torch.softmax(attn_scores, -> torch.softmax(attn_scores / inputs.shape[-1] ** 0.5,

# --- Overwritten inputs, and inputs of the example ---

input_overwritten: A tensor that was passed in is overwritten. The caller still needs its old
  values.
    return attn_weights @ inputs -> return inputs.mul_(attn_weights[:, None]).sum(dim=0)
    or
    inputs @ query -> inputs.mul_(query).sum(dim=-1)
    or
    queries @ keys.transpose(-2, -1) -> queries.div_(keys.shape[-1] ** 0.5) @ keys.transpose(-2, -1)
    torch.softmax(attn_scores / d_k**0.5, dim=-1) -> torch.softmax(attn_scores, dim=-1)
    or
    attn_weights * keep / (1 - p) -> attn_weights.mul_(keep).div_(1 - p)
    or
    - return positions
    + lengths += 1
    + return positions + 1
    or
    - torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
    + x.copy_(torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1))
    or
    = mask.expand -> = ~mask.logical_not_().expand
    or
    - n, d_k = queries.shape
    + n, d_k = queries.shape
    + queries.div_(d_k**0.5)
    keys[block].T / d_k**0.5 -> keys[block].T
second_token_as_query: The second row of the inputs is used as the query, as in the example. Use the
  query that is passed in.
    inputs @ query -> inputs @ inputs[1]

# --- A loss that grows with the batch ---

loss_summed: The losses are summed. Use their mean, which does not grow with the batch.
    dim=-1) - right).mean() -> dim=-1) - right).sum()
    or
    (inputs), targets) -> (inputs), targets) * targets.numel()

# --- Modules that cannot be created ---

super_without_brackets: The parentheses after `super` are missing. Write `super().__init__()`.
    - self.W_query = nn.
    + super.__init__()
    + self.W_query = nn.
    or
    - self.heads = nn.ModuleList(
    + super.__init__()
    + self.heads = nn.ModuleList(
    or
    - self.eps = eps
    + super.__init__()
    + self.eps = eps
    or
    - self.layers = nn.Sequential(
    + super.__init__()
    + self.layers = nn.Sequential(
    or
    - self.dropout = nn.Dropout(
    + super.__init__()
    + self.dropout = nn.Dropout(
super_init_not_called: A part is assigned before nn.Module's own `__init__` has run. Call
  `super().__init__()` first, with both pairs of parentheses.
    - self.W_query = nn.
    + self.__dict__.clear()
    + self.W_query = nn.
    or
    - self.heads = nn.ModuleList(
    + self.__dict__.clear()
    + self.heads = nn.ModuleList(
    or
    - self.eps = eps
    + self.__dict__.clear()
    + self.eps = eps
    or
    - self.layers = nn.Sequential(
    + self.__dict__.clear()
    + self.layers = nn.Sequential(
    or
    - self.dropout = nn.Dropout(
    + self.__dict__.clear()
    + self.dropout = nn.Dropout(
module_called: A Python module is called like a class or a function. Did you mean `nn.Parameter`
  instead of `nn.parameter`?
    self.W_query = nn.Parameter( -> self.W_query = nn.parameter(
    or
    self.scale = nn.Parameter( -> self.scale = nn.parameter(
"""
