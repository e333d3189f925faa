"""Explain the verdict on an exercise. Explainers are tried in order, and the first answer counts.

Each is a function in a module of its own: it returns an explanation, or None if it has nothing to
say. To add one, write a module and put its function into the list in `attempts/pipeline.py`.
"""
