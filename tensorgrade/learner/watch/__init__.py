"""`tensorgrade watch`: check a learner's files each time they are saved."""
