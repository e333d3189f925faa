"""Run code that nobody trusts: a process that can read Python and torch, compute, and answer.

The folder imports nothing else of tensorgrade but the format of messages, limits and errors.
"""
