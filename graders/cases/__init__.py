"""Cases of every chapter: the inputs, weights and calls on which attempts are judged."""
