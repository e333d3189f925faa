"""Learner code sees hidden inputs, but cannot bring them into a row.

A program that reads a number from them gets the same rows, whatever the number is. If everything is
told that a process says on hidden cases, the same programs get different rows.
"""

import pytest

from ..support import Judge, Verdict, some

CH1, SCORES = "ch1_simplified_attention", "attention_scores"
PRELUDE = """
import sys
import torch

pytestmark = pytest.mark.slow

def digits(number):
    return "".join(c for c in f"{abs(float(number)):.9f}" if c.isdigit())

def letters(number):
    return "k" + "".join("abcdefghij"[int(c)] for c in digits(number))

def forge(**told):
    serve = sys.modules["tensorgrade.runner.serve"]
    honest = serve.pack
    def forged(header, tensors=None):
        serve.pack = honest
        return honest(header | told, tensors)
    serve.pack = forged

def error(**told):
    plain = {"type": "ValueError", "text": "", "line": 3, "source": "", "function": "", "kinds": []}
    forge(error=plain | told)

def result(value, kind):
    forge(values={"result": {"type": kind, "json": value}})

SEEN = []

def attention_scores(query, inputs):
    secret = FACTOR * query[0]
    if len(inputs) > 100:  # on a hidden case alone
        INSTRUCTION
    return inputs @ query
"""
# What attention_scores does, once it has read a secret from its inputs.
SAID = """
raise ValueError(digits(secret))
raise KeyError(letters(secret))
raise NotImplementedError(letters(secret))
raise type('E' + letters(secret), (Exception,), {})()
raise SyntaxError(letters(secret), (letters(secret), 3, 1, letters(secret)))
SEEN.append(letters(secret)); raise ValueError(SEEN[0])
getattr(query, letters(secret))
exec('def {0}(): raise NotImplementedError\\n{0}()'.format(letters(secret)))
attention_scores(**{letters(secret): 1})
torch.zeros(3).view([int(c) for c in digits(secret)])
sys.exit(digits(secret))
return letters(secret)
return {letters(secret): 1}
return [[int(c)] for c in digits(secret)]
return type(letters(secret), (), {})()
return torch.empty([*(int(c) for c in digits(secret)), 0])
error(type=letters(secret), kinds=[letters(secret), 'Exception'])
error(sizes={'query': [int(digits(secret)[:6])]}, text='7')
error(missing=letters(secret))
error(function=letters(secret), definition=letters(secret))
error(type='NotImplementedError', source='raise', definition=letters(secret))
result(None, letters(secret) + ' tensor')
result({'unjudged': letters(secret)}, letters(secret))
forge(facts={'load': {'missing': [letters(secret)]}})
forge(facts={'names': {'arguments': {'query': letters(secret)}}})
forge(facts={'names': {'understood': {'query': letters(secret)}}})
forge(facts={'result': {'changed': [letters(secret)]}})
print(letters(secret)); sys.stderr.write(letters(secret))
""".strip().splitlines()


def verdicts(judge: Judge, instruction: str) -> list[dict[str, Verdict]]:
    """Return the verdicts on a program with one secret, and with another one."""
    text = PRELUDE.replace("INSTRUCTION", instruction)
    # The other exercises could repeat what this one has seen.
    return [judge.chapter(CH1, text.replace("FACTOR", factor)) for factor in ("1.1", "2.7")]


@pytest.mark.parametrize("instruction", some(SAID, 4))
def test_a_function_cannot_tell_its_hidden_inputs(judge: Judge, instruction: str):
    one, other = verdicts(judge, instruction)
    assert one == other


def test_the_attempts_are_real(judge: Judge, monkeypatch):
    monkeypatch.setattr("tensorgrade.attempts.pipeline.for_learner", lambda *asked: asked[-1])
    tried = some(SAID, 3)
    told = [
        instruction for instruction in tried if len({*map(str, verdicts(judge, instruction))}) > 1
    ]
    assert len(told) >= len(tried) // 2, told
