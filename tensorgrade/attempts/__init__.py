"""One learner's version of a chapter behind a backend, up to its verdicts."""
