"""Checks that several exercises share.

Each tuple holds a check's sentence and its conditions. The grader file adds the points.
"""

from tensorgrade.author import it

UNCHANGED = "The arguments stay unchanged, and need not be contiguous in memory."
COPIED = "The input stays unchanged; a copy, or a loaded `state_dict`, gives the same result."
GRADIENTS = it.agrees("gradients", only="gradient")
SAME = it.gives_the_same("same")

SEES_NO_FUTURE = (
    "Later tokens do not change earlier results, in training or in evaluation.",
    it.sees_no_future("future"),
    it.hides_in_training("dropout"),
)
KEEPS_ALL = (
    COPIED,
    it.mixes_tokens("future"),
    it.keeps_inputs("values", "bias", "gradients", "same"),
    SAME,
)
MOVES = (
    "All its tensors move with it to another device, such as a GPU.",
    it.mixes_tokens("future"),
    it.moves_as_a_whole("moved"),
)
LAYERS = (it.has_parameters("parameters"), it.starts_alive("start"))
THREE_LAYERS = (
    "Exactly the weights of three nn.Linear, with biases only if `qkv_bias` is True.",
    *LAYERS,
)
FOUR_LAYERS = (
    "Three input projections and an output projection, and no other parameters.",
    *LAYERS,
)
NO_SOFTMAX = (
    "It is your own code and does not call torch's softmax.",
    it.names_no_softmax(),
    it.agrees("own"),
    it.avoids_softmax("own"),
)
ANY_DTYPE = (
    "x stays unchanged; it may have any dtype, and need not be contiguous in memory.",
    it.keeps_inputs("values"),
    it.agrees("whole numbers"),
    it.keeps_dtype("whole numbers"),
    SAME,
)
RUNS = ("It runs on a batch that contains the sentence twice (seed 123).", it.answered("sentence"))
ATTENDS = (
    "Projections, attention weights and the weighted sum, with loaded weights.",
    it.agrees("values"),
)
