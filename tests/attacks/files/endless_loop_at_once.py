"""Loops for ever while the file is being loaded; the definitions below are never reached."""

while True:
    pass
