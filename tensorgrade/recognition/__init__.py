"""Fingerprints: how a mistake shows on the cases, and which mistake an attempt made."""
