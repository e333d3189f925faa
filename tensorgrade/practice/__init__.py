"""Practice made from a learner's own code: find-the-bug exercises and questions about it."""
