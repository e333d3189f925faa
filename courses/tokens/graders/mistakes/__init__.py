"""Mistakes that happen in several exercises."""

from tensorgrade.author import mistake, on

MISTAKES = [
    mistake(
        "letters_for_bytes",
        "It starts with the code points of the letters instead of the bytes. In UTF-8 a letter may "
        "have several bytes.",
        on("train_bpe encode", ('list(text.encode("utf-8"))', "[ord(letter) for letter in text]")),
    ),
]
