"""Mistakes of several exercises: each applies where a solution has its text exactly once."""

MISTAKES = """
letters_for_bytes: It starts with the code points of the letters instead of the bytes. In UTF-8 a
  letter may have several bytes.
    list(text.encode("utf-8")) -> [ord(letter) for letter in text]
"""
