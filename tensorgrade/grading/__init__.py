"""Grading a folder of submissions: found, graded on warm processes, written as they come."""
