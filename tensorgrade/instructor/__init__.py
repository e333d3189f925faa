"""Grading a class: hand-ins in, rows, a report and a gradebook out."""
