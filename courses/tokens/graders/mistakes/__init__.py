"""Mistakes that happen in several exercises."""

from tensorgrade.author import mistake, on

MISTAKES = [
    mistake(
        "letters_for_bytes",
        "It starts with the numbers of the letters. A letter may consist of several bytes of UTF-8.",
        on("train_bpe encode", ('list(text.encode("utf-8"))', "[ord(letter) for letter in text]")),
    ),
]
