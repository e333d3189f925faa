"""Additions to the diagnosis of a failed check, from the text or another run of public cases.

The function `add` of a module returns the diagnosis with an addition, or unchanged. `plain_facts`
returns a message of its own, from the text alone. None of them runs for hidden cases, whose
messages are redacted.
"""
