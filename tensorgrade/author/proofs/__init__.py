"""Prove that a course is correct: checks of files, kill matrix, figures, synthetic learners."""
