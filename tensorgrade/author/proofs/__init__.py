"""Prove that a course is correct: errors in its files, known mistakes, synthetic learners."""
