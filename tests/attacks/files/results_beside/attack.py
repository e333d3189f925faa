"""Puts a results.jsonl, a graded.jsonl and a gradebook beside the submission."""
