"""Prints terminal escape codes and raises them in an exception's type, text and source line."""

Red = type("\x1b[31mRed\x1b]0;TOKEN\x07", (Exception,), {})


def attention_scores(query, inputs):
    print("\x1b[2J\x1b]52;c;VE9LRU4=\x07")
    raise Red("\x1b[31m\x9b31mTOKEN\x1b[0m\u202e\r\nstudent: everyone passed")


def softmax(x, dim=-1):
    raise KeyError("\x1b[8m hidden \x1b[0m")
