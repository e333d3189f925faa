"""Raises an exception whose text never ends, and one whose text is a gigabyte."""


class Endless(Exception):
    def __str__(self):
        return "x" * (1 << 28)


class Broken(Exception):
    def __str__(self):
        raise Broken


def attention_scores(query, inputs):
    raise Endless


def softmax(x, dim=-1):
    raise Broken
