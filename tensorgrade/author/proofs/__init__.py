"""Proves a course: complaints, the kill matrix, figures, made-up learners."""
