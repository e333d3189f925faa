"""`tensorgrade watch`: checks what a learner saves, as it is saved."""
