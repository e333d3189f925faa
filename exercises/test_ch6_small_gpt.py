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
    """As it is made, rows come to mean 0 and variance 1."""
    attempt.LayerNorm.agrees("plain")


@exercise("LayerNorm", points=3.5)
def test_LayerNorm_values(attempt):
    """Then each column is scaled and shifted, in evaluation too."""
    attempt.LayerNorm.agrees("values")


@exercise("LayerNorm", points=1)
def test_LayerNorm_spread(attempt):
    """Whatever the rows' spread is."""
    attempt.LayerNorm.agrees("spread")


@exercise("LayerNorm", points=1)
def test_LayerNorm_eps(attempt):
    """The eps that was passed in is added to the variance."""
    attempt.LayerNorm.agrees("eps")


@exercise("LayerNorm", points=1.5)
def test_LayerNorm_gradients(attempt):
    """Gradients reach x, the scale and the shift, in training and in evaluation."""
    attempt.LayerNorm.agrees("gradients", only="gradient")


@exercise("LayerNorm", points=0.5)
def test_LayerNorm_parameters(attempt):
    """A scale and a shift, and no more."""
    attempt.LayerNorm.has_parameters("parameters")


@exercise("LayerNorm", points=0.25)
def test_LayerNorm_is_your_own(attempt):
    """It is written, not called."""
    attempt.LayerNorm.agrees("own")
    attempt.LayerNorm.avoids_norms("own")


@exercise("LayerNorm", points=0.25)
def test_LayerNorm_inputs(attempt):
    """What is passed in stays as it was; a copy, and what its state is loaded into, do the same."""
    attempt.LayerNorm.keeps_inputs("values", "plain")
    attempt.LayerNorm.gives_the_same("same")


@exercise("FeedForward", points=3)
def test_FeedForward_values(attempt):
    """Up to four times the width, a GELU, back down."""
    attempt.FeedForward.agrees("values")


@exercise("FeedForward", points=1)
def test_FeedForward_gradients(attempt):
    """Gradients reach x and all weights."""
    attempt.FeedForward.agrees("gradients", only="gradient")


@exercise("FeedForward", points=0.5)
def test_FeedForward_parameters(attempt):
    """Two linear layers with their biases, and no more."""
    attempt.FeedForward.has_parameters("parameters")
    attempt.FeedForward.starts_alive("start")


@exercise("FeedForward", points=0.5)
def test_FeedForward_copies(attempt):
    """A copy, and what its state is loaded into, do the same."""
    attempt.FeedForward.gives_the_same("same")


@exercise("TransformerBlock", points=7.6)
def test_TransformerBlock_values(attempt):
    """Normalised, computed, added; twice."""
    attempt.TransformerBlock.agrees("values")


@exercise("TransformerBlock", points=2)
def test_TransformerBlock_arguments(attempt):
    """Attention gets the context_length, the dropout and the heads that were passed in."""
    attempt.TransformerBlock.agrees("arguments")


@exercise("TransformerBlock", points=2)
def test_TransformerBlock_dropout(attempt):
    """In training what the two parts add is thinned out, in evaluation nothing is."""
    attempt.TransformerBlock.agrees("dropout", only="plain")
    attempt.TransformerBlock.drops_what_is_added("dropout")
    attempt.TransformerBlock.drops_parts_apart("both")


@exercise("TransformerBlock", points=2)
def test_TransformerBlock_gradients(attempt):
    """Gradients reach x and all weights, in training without dropout and in evaluation."""
    attempt.TransformerBlock.agrees("gradients", only="gradient")


@exercise("TransformerBlock", points=0.9)
def test_TransformerBlock_parameters(attempt):
    """Two norms, attention and a feed-forward part, and no more."""
    attempt.TransformerBlock.has_parameters("parameters")


@exercise("TransformerBlock", points=0.5)
def test_TransformerBlock_inputs(attempt):
    """What is passed in stays as it was; a copy, and what its state is loaded into, do the same."""
    attempt.TransformerBlock.keeps_inputs("values", "arguments")
    attempt.TransformerBlock.gives_the_same("same")


@exercise("SmallGPT", points=6)
def test_SmallGPT_one_block(attempt):
    """Token and place, a block, the last norm, the head."""
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
    """A later token changes no logits before it, nor does another text."""
    attempt.SmallGPT.agrees("future")
    attempt.SmallGPT.keeps_what_is_earlier("future in training")


@exercise("SmallGPT", points=1)
def test_SmallGPT_dropout(attempt):
    """In training it acts where it stands, in evaluation nowhere."""
    attempt.SmallGPT.agrees("evaluation")
    attempt.SmallGPT.agrees("dropout", only="plain")
    attempt.SmallGPT.drops_sums("dropout")


@exercise("SmallGPT", points=3)
def test_SmallGPT_gradients(attempt):
    """Gradients reach all weights, in training without dropout and in evaluation."""
    attempt.SmallGPT.agrees("gradients", only="gradient")


@exercise("SmallGPT", points=0.5, guard=True)
def test_SmallGPT_moves_as_a_whole(attempt):
    """Moved to another device, such as a GPU, it makes no tensor elsewhere."""
    attempt.SmallGPT.answered("one block")
    attempt.SmallGPT.moves_as_a_whole("moved")


@exercise("SmallGPT", points=1)
def test_SmallGPT_parameters(attempt):
    """Two tables, the blocks, a norm and a head without a bias; it says its context_length."""
    attempt.SmallGPT.has_parameters("parameters")
    attempt.SmallGPT.starts_alive("start")
    attempt.SmallGPT.agrees("parameters", only="context_length")


@exercise("SmallGPT", points=0.5)
def test_SmallGPT_inputs(attempt):
    """The ids stay as they were."""
    attempt.SmallGPT.keeps_inputs("one block", "blocks", "short")


@exercise("batches", points=2.5)
def test_batches_windows(attempt):
    """Windows of the text, and the same windows one token further on."""
    attempt.batches.cuts_windows("windows")


@exercise("batches", points=0.5)
def test_batches_inputs(attempt):
    """The text stays as it was, and what is cut out of it holds ids of the same kind."""
    attempt.batches.keeps_inputs("windows")
    attempt.batches.keeps_dtype("windows")


@exercise("batches", points=1)
def test_batches_everywhere(attempt):
    """Every place from which a window fits is as likely as any other, be it the only one."""
    attempt.batches.cuts_windows("only place")
    attempt.batches.cuts_everywhere("everywhere")


@exercise("batches", points=1)
def test_batches_chance(attempt):
    """All chance comes from the generator."""
    attempt.batches.draws_from_the_generator("chance")


@for_learners("cross_entropy")
def test_cross_entropy_by_eye(attempt):
    """Three rows of four logits."""
    attempt.cross_entropy.agrees("sentence")


@exercise("cross_entropy", points=3.2)
def test_cross_entropy_values(attempt):
    """Minus the logarithm of the right tokens' probabilities, on average."""
    attempt.cross_entropy.agrees("values")


@exercise("cross_entropy", points=1.5)
def test_cross_entropy_leading_dimensions(attempt):
    """For batches of texts too, and for a single row."""
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
    """It is written, not called."""
    attempt.cross_entropy.agrees("own")
    attempt.cross_entropy.avoids_losses("own")


@exercise("cross_entropy", points=0.35)
def test_cross_entropy_inputs(attempt):
    """What is passed in stays as it was, and may lie in memory in any order."""
    attempt.cross_entropy.keeps_inputs("values", "leading")
    attempt.cross_entropy.gives_the_same("same")


@exercise("train_step", points=2)
def test_train_step_one(attempt):
    """The model's parameters are where one step leads."""
    attempt.train_step.agrees("one step", only="module")


@exercise("train_step", points=2)
def test_train_step_loss(attempt):
    """The loss before the step comes back, as a float."""
    attempt.train_step.agrees("one step", strict=True)


@exercise("train_step", points=2.5)
def test_train_step_more(attempt):
    """No step remembers the gradients of one before; what the optimizer remembers stays."""
    attempt.train_step.agrees("steps")


@exercise("train_step", points=0.5)
def test_train_step_inputs(attempt):
    """What is passed in stays as it was."""
    attempt.train_step.keeps_inputs("one step", "steps")


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


@exercise("trained_loss", points=1.5)
def test_trained_loss_values(attempt):
    """The mean loss at the last place, over all windows."""
    attempt.trained_loss.agrees("values", only="result", strict=True)


@exercise("trained_loss", points=1)
def test_trained_loss_in_evaluation(attempt):
    """The model is asked in evaluation, whatever mode it was in."""
    attempt.trained_loss.agrees("training", only="result")


@exercise("trained_loss", points=0.5)
def test_trained_loss_inputs(attempt):
    """Windows and model stay as they were, the mode too."""
    attempt.trained_loss.keeps_inputs("values", "training", objects=True)
    attempt.trained_loss.agrees("values", only="next")
    attempt.trained_loss.agrees("training", only="next")


@exercise("trained_loss", points=1)
def test_trained_loss_own(attempt):
    """Your own SmallGPT, with the weights that you hand in, comes to what the graders' comes to."""
    attempt.trained_loss.agrees_on_weights("own")


@exercise("trained_loss", points=6, guard=True)
def test_trained_loss_trained(attempt):
    """The weights that you hand in, from `tensorgrade train`, foresee text that they never saw."""
    attempt.trained_loss.foresees("text", below=2.1, by="own")


@for_learners("BugLayerNorm")
def test_BugLayerNorm_by_eye(attempt):
    """Two rows of four."""
    attempt.BugLayerNorm.agrees("sentence")


@exercise("BugLayerNorm", points=2)
def test_BugLayerNorm_plain(attempt):
    """As it is made, rows come to mean 0 and variance 1."""
    attempt.BugLayerNorm.agrees("plain")


@exercise("BugLayerNorm", points=3.5)
def test_BugLayerNorm_values(attempt):
    """Then each column is scaled and shifted, in evaluation too."""
    attempt.BugLayerNorm.agrees("values")


@exercise("BugLayerNorm", points=1)
def test_BugLayerNorm_spread(attempt):
    """Whatever the rows' spread is."""
    attempt.BugLayerNorm.agrees("spread")


@exercise("BugLayerNorm", points=1)
def test_BugLayerNorm_eps(attempt):
    """The eps that was passed in is added to the variance."""
    attempt.BugLayerNorm.agrees("eps")


@exercise("BugLayerNorm", points=1.5)
def test_BugLayerNorm_gradients(attempt):
    """Gradients reach x, the scale and the shift, in training and in evaluation."""
    attempt.BugLayerNorm.agrees("gradients", only="gradient")


@exercise("BugLayerNorm", points=0.5)
def test_BugLayerNorm_parameters(attempt):
    """A scale and a shift, and no more."""
    attempt.BugLayerNorm.has_parameters("parameters")


@exercise("BugLayerNorm", points=0.25)
def test_BugLayerNorm_is_your_own(attempt):
    """It is written, not called."""
    attempt.BugLayerNorm.agrees("own")
    attempt.BugLayerNorm.avoids_norms("own")


@exercise("BugLayerNorm", points=0.25)
def test_BugLayerNorm_inputs(attempt):
    """What is passed in stays as it was; a copy, and what its state is loaded into, do the same."""
    attempt.BugLayerNorm.keeps_inputs("values", "plain")
    attempt.BugLayerNorm.gives_the_same("same")


@exercise("bug_batches", points=2.5)
def test_bug_batches_windows(attempt):
    """Windows of the text, and the same windows one token further on."""
    attempt.bug_batches.cuts_windows("windows")


@exercise("bug_batches", points=0.5)
def test_bug_batches_inputs(attempt):
    """The text stays as it was, and what is cut out of it holds ids of the same kind."""
    attempt.bug_batches.keeps_inputs("windows")
    attempt.bug_batches.keeps_dtype("windows")


@exercise("bug_batches", points=1)
def test_bug_batches_everywhere(attempt):
    """Every place from which a window fits is as likely as any other, be it the only one."""
    attempt.bug_batches.cuts_windows("only place")
    attempt.bug_batches.cuts_everywhere("everywhere")


@exercise("bug_batches", points=1)
def test_bug_batches_chance(attempt):
    """All chance comes from the generator."""
    attempt.bug_batches.draws_from_the_generator("chance")
