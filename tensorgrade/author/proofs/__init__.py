"""Prove that a course is correct: complaints, the kill matrix, figures, synthetic learners."""
