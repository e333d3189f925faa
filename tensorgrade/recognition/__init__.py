"""Fingerprints: the effects of mistakes on the cases, used to recognize a mistake in an attempt."""
