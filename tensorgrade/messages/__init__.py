"""Every message that a learner reads about an answer, as data: one class for each message."""
