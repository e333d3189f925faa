"""Additions to the diagnosis of a failed check, from the text or another run of public cases.

Each function returns the diagnosis with an addition, or unchanged. `plain_fact` returns a message
of its own. None of them runs for hidden cases, which learners read nothing about.
"""
