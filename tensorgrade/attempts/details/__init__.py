"""Additions to the diagnosis of a failed check, from the text or another run of public cases.

Each module has one function that returns the diagnosis with an addition, or unchanged. These
functions never run for hidden cases, whose messages are redacted. `plain_facts` reads only
the text.
"""
