"""Cases, checks and known mistakes of the exercise Vocabulary."""

from tensorgrade.author import call, case, check, construct, it, read, shown

from ..texts import some_words

SPECIAL = ["<unk>", "<end>"]


def cases(draw):
    """Return cases with repeated words, with unknown ones, and with special tokens in the text."""
    text = some_words(draw.chance(), 30)
    words = sorted(set(text.split()))
    new = f"{words[2]} x{words[0]} {words[0]} {words[2]}"
    made = construct(text=text, special=SPECIAL)
    plain = construct(text=text, special=["<end>"])
    both = construct(text=f"{text} <end> {text}", special=SPECIAL)
    return [
        shown("ids/small", construct(text="the cat the dog", special=SPECIAL), read("ids")),
        case("ids/longer", made, read("ids")),
        case("ids/special in the text", both, read("ids")),
        case("encode/known", made, call(path="encode", text=" ".join(reversed(words)))),
        case("encode/with the end", made, call(path="encode", text=f"{words[1]} <end>")),
        case("unknown/one word", made, call(path="encode", text=new)),
        case("refused/one word", plain, call(path="encode", text=new), signature="error"),
        case("decode/words", made, call(path="decode", ids=[2, 4, 1, 4, 0])),
        case("decode/special", made, call(path="decode", ids=[0, len(words) + 1, len(words)])),
        case("same/twice", made, call(path="encode", text=new), call(path="encode", text=text)),
    ]


CHECKS = [
    check(4, "Sorted words from 0 on, followed by the special tokens.", it.agrees("ids")),
    check(2, "The ids of a text, including its special tokens.", it.agrees("encode")),
    check(2, "An unknown word gets the id of `<unk>`.", it.agrees("unknown")),
    check(
        1,
        "Without `<unk>`, an unknown word raises an error.",
        it.refuses("refused", "an unknown word raises no error"),
    ),
    check(2, "Ids become tokens again, separated by one space.", it.agrees("decode")),
    check(
        1,
        "Encoding does not change the vocabulary.",
        it.agrees("same"),
        it.keeps_inputs("same", objects=True),
    ),
]

MISTAKES = """
special_first: The special tokens come first, so each of them shifts the ids of all words.
    [*words, *special] -> [*special, *words]
ids_from_one: The first id is 1. Start at 0, like the rows of a table.
    enumerate([*words, *special]) -> enumerate([*words, *special], 1)
order_of_the_text: The words are in the order of the text; they should be sorted.
    - sorted(set(text.split()) - set(special))
    + [w for w in dict.fromkeys(text.split()) if w not in special]
words_repeated: A word that occurs twice gets two ids. Each different word should get one.
    sorted(set(text.split()) - set(special)) -> sorted(w for w in text.split() if w not in special)
special_twice: A special token that is also a word of the text gets two ids.
    - - set(special)
letters_for_words: The text is split into letters. A token should be a word.
    text.split()) - set(special) -> text) - set(special)
unknown_left_out: Unknown words are left out. Each of them should get the id of `<unk>`.
    - [self.ids.get(token, unknown) for token in text.split()]
    + [self.ids[token] for token in text.split() if token in self.ids]
unknown_as_none: Without `<unk>`, an unknown word becomes None instead of raising an error.
    if None in ids -> if False
words_learned_while_encoding: Encoding gives an unknown word a new id. A vocabulary should not grow
  later.
    - unknown = self.ids.get("<unk>")
    + unknown = self.ids.get("<unk>")
    + for token in text.split():
    +     self.ids.setdefault(token, len(self.ids))
joined_without_spaces: There is no space between the tokens.
    " ".join -> "".join
tokens_in_a_list: A list of tokens is returned instead of one text.
    " ".join(tokens[number] for number in ids) -> [tokens[number] for number in ids]
"""
