"""A learner's file as Python text: finding it, choosing it, reading it, notebooks too."""
