"""What a failed check says beyond its own problem, from another run of public cases.

Each module has one function that returns the diagnosis with more in it, or unchanged. They never
run for hidden cases, whose messages are redacted.
"""
