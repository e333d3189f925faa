"""What many exercises check, and what learners read about it."""

from tensorgrade.author import it

UNCHANGED = "The arguments stay unchanged, and need not be contiguous in memory."
COPIED = "The input stays unchanged; a copy, or a loaded `state_dict`, gives the same result."
GRADIENTS = it.agrees("gradients", only="gradient")
SAME = it.gives_the_same("same")
