"""Tries to run code on the trusted side: an object whose unpickling calls a function."""

import os


class Bomb:
    def __reduce__(self):
        return os.mkdir, ("/tmp/TOKEN-unpickled",)


def attention_scores(query, inputs):
    return Bomb()


def softmax(x, dim=-1):
    return {"value": Bomb()}
