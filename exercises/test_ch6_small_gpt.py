"""Checks of chapter 6: run `pytest exercises/` as often as you like.

Each test's docstring is the line that you read when it fails. Your grade comes from other cases.
"""

from tensorgrade import exercise, for_learners


@for_learners("LayerNorm")
def test_LayerNorm_by_eye(attempt):
    """Two rows of four."""
    attempt.LayerNorm.agrees("sentence")


@exercise("LayerNorm", points=2)
def test_LayerNorm_plain(attempt):
    """A new module gives rows of mean 0 and variance 1."""
    attempt.LayerNorm.agrees("plain")


@exercise("LayerNorm", points=3.5)
def test_LayerNorm_values(attempt):
    """Each column is scaled and shifted afterwards, in evaluation too."""
    attempt.LayerNorm.agrees("values")


@exercise("LayerNorm", points=1)
def test_LayerNorm_spread(attempt):
    """Rows of any spread are normalised."""
    attempt.LayerNorm.agrees("spread")


@exercise("LayerNorm", points=1)
def test_LayerNorm_eps(attempt):
    """The eps that is passed in is added to the variance."""
    attempt.LayerNorm.agrees("eps")


@exercise("LayerNorm", points=1.5)
def test_LayerNorm_gradients(attempt):
    """Gradients reach x, the scale and the shift, in training and in evaluation."""
    attempt.LayerNorm.agrees("gradients", only="gradient")


@exercise("LayerNorm", points=0.5)
def test_LayerNorm_parameters(attempt):
    """A scale and a shift, and no other parameters."""
    attempt.LayerNorm.has_parameters("parameters")


@exercise("LayerNorm", points=0.25)
def test_LayerNorm_is_your_own(attempt):
    """It is your own code and does not call torch's norm."""
    attempt.LayerNorm.agrees("own")
    attempt.LayerNorm.avoids_norms("own")


@exercise("LayerNorm", points=0.25)
def test_LayerNorm_inputs(attempt):
    """The input stays unchanged; a copy, or a loaded `state_dict`, gives the same result."""
    attempt.LayerNorm.keeps_inputs("values", "plain")
    attempt.LayerNorm.gives_the_same("same")


@exercise("FeedForward", points=3)
def test_FeedForward_values(attempt):
    """Four times the width, a GELU, and back."""
    attempt.FeedForward.agrees("values")


@exercise("FeedForward", points=1)
def test_FeedForward_gradients(attempt):
    """Gradients reach x and all weights."""
    attempt.FeedForward.agrees("gradients", only="gradient")


@exercise("FeedForward", points=0.5)
def test_FeedForward_parameters(attempt):
    """Two linear layers with their biases, and no other parameters."""
    attempt.FeedForward.has_parameters("parameters")
    attempt.FeedForward.starts_alive("start")


@exercise("FeedForward", points=0.5)
def test_FeedForward_copies(attempt):
    """A copy, or a loaded `state_dict`, gives the same result."""
    attempt.FeedForward.gives_the_same("same")


@exercise("TransformerBlock", points=7.6)
def test_TransformerBlock_values(attempt):
    """Normalise, compute, add; twice."""
    attempt.TransformerBlock.agrees("values")


@exercise("TransformerBlock", points=2)
def test_TransformerBlock_arguments(attempt):
    """Attention gets the context_length, the dropout and the heads that are passed in."""
    attempt.TransformerBlock.agrees("arguments")


@exercise("TransformerBlock", points=2)
def test_TransformerBlock_dropout(attempt):
    """In training, entries of both parts' results are dropped; in evaluation none."""
    attempt.TransformerBlock.agrees("dropout", only="plain")
    attempt.TransformerBlock.drops_what_is_added("dropout")
    attempt.TransformerBlock.drops_parts_apart("both")


@exercise("TransformerBlock", points=2)
def test_TransformerBlock_gradients(attempt):
    """Gradients reach x and all weights, in training without dropout and in evaluation."""
    attempt.TransformerBlock.agrees("gradients", only="gradient")


@exercise("TransformerBlock", points=0.9)
def test_TransformerBlock_parameters(attempt):
    """Two norms, attention and a feed-forward part, and no other parameters."""
    attempt.TransformerBlock.has_parameters("parameters")


@exercise("TransformerBlock", points=0.5)
def test_TransformerBlock_inputs(attempt):
    """The input stays unchanged; a copy, or a loaded `state_dict`, gives the same result."""
    attempt.TransformerBlock.keeps_inputs("values", "arguments")
    attempt.TransformerBlock.gives_the_same("same")


@exercise("SmallGPT", points=6)
def test_SmallGPT_one_block(attempt):
    """Token and position, one block, the last norm, the head."""
    attempt.SmallGPT.agrees("one block")


@exercise("SmallGPT", points=4)
def test_SmallGPT_blocks(attempt):
    """Several blocks, one after another."""
    attempt.SmallGPT.agrees("blocks")


@exercise("SmallGPT", points=3)
def test_SmallGPT_short_texts(attempt):
    """Texts shorter than context_length."""
    attempt.SmallGPT.agrees("short")


@exercise("SmallGPT", points=1)
def test_SmallGPT_sees_no_future(attempt):
    """Later tokens and other texts do not change earlier logits."""
    attempt.SmallGPT.agrees("future")
    attempt.SmallGPT.keeps_what_is_earlier("future in training")


@exercise("SmallGPT", points=1)
def test_SmallGPT_dropout(attempt):
    """Dropout acts in the right places in training, and never in evaluation."""
    attempt.SmallGPT.agrees("evaluation")
    attempt.SmallGPT.agrees("dropout", only="plain")
    attempt.SmallGPT.drops_sums("dropout")


@exercise("SmallGPT", points=3)
def test_SmallGPT_gradients(attempt):
    """Gradients reach all weights, in training without dropout and in evaluation."""
    attempt.SmallGPT.agrees("gradients", only="gradient")


@exercise("SmallGPT", points=0.5, guard=True)
def test_SmallGPT_moves_as_a_whole(attempt):
    """It creates no tensors on another device after it has moved, for example to a GPU."""
    attempt.SmallGPT.answered("one block")
    attempt.SmallGPT.moves_as_a_whole("moved")


@exercise("SmallGPT", points=1)
def test_SmallGPT_parameters(attempt):
    """Two tables, the blocks, a norm and a head without a bias; it stores its context_length."""
    attempt.SmallGPT.has_parameters("parameters")
    attempt.SmallGPT.starts_alive("start")
    attempt.SmallGPT.agrees("parameters", only="context_length")


@exercise("SmallGPT", points=0.5)
def test_SmallGPT_inputs(attempt):
    """The ids stay unchanged."""
    attempt.SmallGPT.keeps_inputs("one block", "blocks", "short")


@exercise("batches", points=2.5)
def test_batches_windows(attempt):
    """Windows of the text, and the windows one token later."""
    attempt.batches.cuts_windows("windows")


@exercise("batches", points=0.5)
def test_batches_inputs(attempt):
    """The text stays unchanged, and the windows have the dtype of its ids."""
    attempt.batches.keeps_inputs("windows")
    attempt.batches.keeps_dtype("windows")


@exercise("batches", points=1)
def test_batches_everywhere(attempt):
    """All possible starts are equally likely, even if there is only one."""
    attempt.batches.cuts_windows("only place")
    attempt.batches.cuts_everywhere("everywhere")


@exercise("batches", points=1)
def test_batches_chance(attempt):
    """All randomness comes from the generator."""
    attempt.batches.draws_from_the_generator("chance")


@for_learners("cross_entropy")
def test_cross_entropy_by_eye(attempt):
    """Three rows of four logits."""
    attempt.cross_entropy.agrees("sentence")


@exercise("cross_entropy", points=3.2)
def test_cross_entropy_values(attempt):
    """The mean negative log probability of the right tokens."""
    attempt.cross_entropy.agrees("values")


@exercise("cross_entropy", points=1.5)
def test_cross_entropy_leading_dimensions(attempt):
    """It accepts batches of texts, and a single row."""
    attempt.cross_entropy.agrees("leading")


@exercise("cross_entropy", points=1.1)
def test_cross_entropy_large_logits(attempt):
    """Logits of a million do not overflow."""
    attempt.cross_entropy.agrees("large")


@exercise("cross_entropy", points=1.5)
def test_cross_entropy_gradients(attempt):
    """Gradients reach the logits."""
    attempt.cross_entropy.agrees("gradients", only="gradient")


@exercise("cross_entropy", points=0.35)
def test_cross_entropy_is_your_own(attempt):
    """It is your own code and does not call torch's loss."""
    attempt.cross_entropy.agrees("own")
    attempt.cross_entropy.avoids_losses("own")


@exercise("cross_entropy", points=0.35)
def test_cross_entropy_inputs(attempt):
    """The arguments stay unchanged, and need not be contiguous in memory."""
    attempt.cross_entropy.keeps_inputs("values", "leading")
    attempt.cross_entropy.gives_the_same("same")


@exercise("train_step", points=2)
def test_train_step_one(attempt):
    """After one step, the model's parameters have the expected values."""
    attempt.train_step.agrees("one step", only="module")


@exercise("train_step", points=2)
def test_train_step_loss(attempt):
    """The loss before the step is returned as a float."""
    attempt.train_step.agrees("one step", strict=True)


@exercise("train_step", points=2.5)
def test_train_step_more(attempt):
    """Steps do not reuse earlier gradients; the optimizer's own state stays."""
    attempt.train_step.agrees("steps")


@exercise("train_step", points=0.5)
def test_train_step_inputs(attempt):
    """The arguments stay unchanged."""
    attempt.train_step.keeps_inputs("one step", "steps")


@exercise("generate", points=3)
def test_generate_the_likeliest(attempt):
    """At temperature 0 it always appends the most likely token."""
    attempt.generate.agrees("likeliest")
    attempt.generate.keeps_dtype("likeliest")


@exercise("generate", points=2)
def test_generate_long_texts(attempt):
    """The model sees its last context_length ids."""
    attempt.generate.agrees("long")


@exercise("generate", points=3)
def test_generate_draws(attempt):
    """Above 0 it draws from the top k, by temperature."""
    attempt.generate.draws_by("drawn")


@exercise("generate", points=0.25)
def test_generate_chance(attempt):
    """All randomness comes from the generator."""
    attempt.generate.draws_from_the_generator("chance")


@exercise("generate", points=0.25)
def test_generate_without_gradients(attempt):
    """The model is called inside `torch.no_grad()`."""
    attempt.generate.agrees("without gradients")
    attempt.generate.keeps_no_gradients("without gradients")


@exercise("generate", points=0.5)
def test_generate_inputs(attempt):
    """The text and the model stay unchanged, and the model can continue to learn."""
    attempt.generate.keeps_inputs("likeliest", "long", "chance", objects=True)
    attempt.generate.can_learn_afterwards("chance")


@exercise("trained_loss", points=3.5)
def test_trained_loss_values(attempt):
    """The mean loss at the last position, over all windows."""
    attempt.trained_loss.agrees("values", only="result", strict=True)


@exercise("trained_loss", points=1)
def test_trained_loss_in_evaluation(attempt):
    """The model runs in evaluation, whatever its mode was."""
    attempt.trained_loss.agrees("training", only="result")


@exercise("trained_loss", points=0.5)
def test_trained_loss_inputs(attempt):
    """Windows and model stay unchanged, and so does the model's mode."""
    attempt.trained_loss.keeps_inputs("values", "training", objects=True)
    attempt.trained_loss.agrees("values", only="next")
    attempt.trained_loss.agrees("training", only="next")


@for_learners("BugLayerNorm")
def test_BugLayerNorm_by_eye(attempt):
    """Two rows of four."""
    attempt.BugLayerNorm.agrees("sentence")


@exercise("BugLayerNorm", points=2)
def test_BugLayerNorm_plain(attempt):
    """A new module gives rows of mean 0 and variance 1."""
    attempt.BugLayerNorm.agrees("plain")


@exercise("BugLayerNorm", points=3.5)
def test_BugLayerNorm_values(attempt):
    """Each column is scaled and shifted afterwards, in evaluation too."""
    attempt.BugLayerNorm.agrees("values")


@exercise("BugLayerNorm", points=1)
def test_BugLayerNorm_spread(attempt):
    """Rows of any spread are normalised."""
    attempt.BugLayerNorm.agrees("spread")


@exercise("BugLayerNorm", points=1)
def test_BugLayerNorm_eps(attempt):
    """The eps that is passed in is added to the variance."""
    attempt.BugLayerNorm.agrees("eps")


@exercise("BugLayerNorm", points=1.5)
def test_BugLayerNorm_gradients(attempt):
    """Gradients reach x, the scale and the shift, in training and in evaluation."""
    attempt.BugLayerNorm.agrees("gradients", only="gradient")


@exercise("BugLayerNorm", points=0.5)
def test_BugLayerNorm_parameters(attempt):
    """A scale and a shift, and no other parameters."""
    attempt.BugLayerNorm.has_parameters("parameters")


@exercise("BugLayerNorm", points=0.25)
def test_BugLayerNorm_is_your_own(attempt):
    """It is your own code and does not call torch's norm."""
    attempt.BugLayerNorm.agrees("own")
    attempt.BugLayerNorm.avoids_norms("own")


@exercise("BugLayerNorm", points=0.25)
def test_BugLayerNorm_inputs(attempt):
    """The input stays unchanged; a copy, or a loaded `state_dict`, gives the same result."""
    attempt.BugLayerNorm.keeps_inputs("values", "plain")
    attempt.BugLayerNorm.gives_the_same("same")


@exercise("bug_batches", points=2.5)
def test_bug_batches_windows(attempt):
    """Windows of the text, and the windows one token later."""
    attempt.bug_batches.cuts_windows("windows")


@exercise("bug_batches", points=0.5)
def test_bug_batches_inputs(attempt):
    """The text stays unchanged, and the windows have the dtype of its ids."""
    attempt.bug_batches.keeps_inputs("windows")
    attempt.bug_batches.keeps_dtype("windows")


@exercise("bug_batches", points=1)
def test_bug_batches_everywhere(attempt):
    """All possible starts are equally likely, even if there is only one."""
    attempt.bug_batches.cuts_windows("only place")
    attempt.bug_batches.cuts_everywhere("everywhere")


@exercise("bug_batches", points=1)
def test_bug_batches_chance(attempt):
    """All randomness comes from the generator."""
    attempt.bug_batches.draws_from_the_generator("chance")
