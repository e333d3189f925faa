"""Requests to learner code, its replies, and the storage of both."""
