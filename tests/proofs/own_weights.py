"""Variants of right and wrong classes: other names of weights, in other places, in another order.

The text stays as right or as wrong as it was.
"""

import ast
from random import Random

MADE_OF = {"Linear", "Embedding", "Parameter", "ModuleList", "Sequential", "LayerNorm"}
MADE_OF |= {"MultiHeadAttention", "FeedForward", "CausalAttention"}
ENGLISH = {
    "W_query": ["q_proj", "Wq", "to_q", "query"],
    "W_key": ["k_proj", "Wk", "to_k", "key"],
    "W_value": ["v_proj", "Wv", "to_v", "value"],
    "W_down": ["down_proj", "Wd", "to_latent", "down"],
    "W_key_up": ["k_up", "Wk_up", "key_from_latent", "up_key"],
    "W_value_up": ["v_up", "Wv_up", "value_from_latent", "up_value"],
    "out_proj": ["o_proj", "Wo", "to_out", "output"],
    "scale": ["gamma", "weight", "gain", "g"],
    "shift": ["beta", "bias", "offset", "b"],
    "norm1": ["ln_1", "ln1", "attn_norm", "first_norm"],
    "norm2": ["ln_2", "ln2", "ffn_norm", "second_norm"],
    "attention": ["attn", "mha", "sa", "att"],
    "feed_forward": ["mlp", "ffn", "ff", "feedforward"],
    "token_embedding": ["wte", "tok_emb", "embed", "tokens"],
    "position_embedding": ["wpe", "pos_emb", "pos_embed", "places"],
    "blocks": ["h", "layers", "trf_blocks", "transformer"],
    "final_norm": ["ln_f", "norm", "last_norm", "ln"],
    "head": ["lm_head", "out_head", "output", "decoder"],
}
FOREIGN = ["chave", "valor", "pergunta", "saida", "capa", "norma", "posicion", "kopf", "schicht"]
INVENTED = ["apple", "river", "stone", "cloud", "tiger", "piano", "maple", "comet", "ember"]
STYLES = ["english", "foreign", "letters", "numbered", "invented", "exchanged", "some"]
FORMS = ["plain", "list", "dict", "helper", "alias"]


def own_weights(source: str, classes: list[str], style: str, form: str, random: Random) -> str:
    """Return a text with the weights of some classes under other names, made in another order.

    form: `plain` attributes, parts of a `list`, a `dict` or a `helper` module, or attributes with
    a list of them all as an `alias`.
    """
    nodes = {getattr(node, "name", ""): node for node in ast.parse(source).body}
    below = [ast.unparse(rebuilt(nodes[name], style, form, random)) for name in classes]
    return "\n\n\n".join([source, *below, ""])


def rebuilt(node: ast.ClassDef, style: str, form: str, random: Random) -> ast.ClassDef:
    """Return a class with other names for the parts that `__init__` makes."""
    start = next(one for one in node.body if getattr(one, "name", "") == "__init__")
    made = {one.targets[0].attr: one for one in start.body if is_part(one)}
    new = dict(zip(made, names_for(list(made), style, random), strict=True))
    holder = {"list": "parts[{at}]", "dict": "parts['{name}']", "helper": "parts.{name}"}
    order = random.sample(list(made), len(made))
    places = {
        old: holder.get(form, "{name}").format(at=order.index(old), name=new[old]) for old in made
    }
    rest = [one for one in start.body if one not in made.values()]
    values = {old: ast.unparse(one.value) for old, one in made.items()}
    start.body = [*rest, *ast.parse("\n".join(lines_of(form, order, new, values))).body]
    for one in ast.walk(node):
        if isinstance(one, ast.Attribute) and one.attr in places and is_self(one.value):
            one.attr = places[one.attr]
    return node


def lines_of(form: str, order: list[str], new: dict[str, str], values: dict[str, str]) -> list[str]:
    """Return the lines that make the parts."""
    made = [values[old] for old in order]
    single = all("Parameter(" in value for value in made)
    if form == "list":
        return [
            f"self.parts = nn.{'ParameterList' if single else 'ModuleList'}([{', '.join(made)}])"
        ]
    if form == "dict":
        named = ", ".join(f"'{new[old]}': {values[old]}" for old in order)
        return [f"self.parts = nn.{'ParameterDict' if single else 'ModuleDict'}({{{named}}})"]
    begin = ["self.parts = nn.Module()"] if form == "helper" else []
    place = "self.parts." if form == "helper" else "self."
    lines = [*begin, *(f"{place}{new[old]} = {values[old]}" for old in order)]
    if form == "alias" and not single:
        lines.append(
            f"self.everything = nn.ModuleList([{', '.join('self.' + new[o] for o in order)}])"
        )
    return lines


def is_self(node: ast.expr) -> bool:
    """Return True for the name `self`."""
    return isinstance(node, ast.Name) and node.id == "self"


def is_part(node: ast.stmt) -> bool:
    """Return True for a statement such as `self.out = nn.Linear(4, 4)`."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
        return False
    target, made = node.targets[0], node.value.func
    return (
        isinstance(target, ast.Attribute)
        and getattr(made, "attr", getattr(made, "id", "")) in MADE_OF
    )


def names_for(asked: list[str], style: str, random: Random) -> list[str]:
    """Return a new name for each part."""
    at = random.randrange(4)
    english = [ENGLISH.get(name, [name] * 4)[at] for name in asked]
    match style:
        case "foreign":
            return random.sample(FOREIGN, len(asked))
        case "invented":
            return random.sample(INVENTED, len(asked))
        case "letters":
            return random.sample("abcdefghjkmnopqrstuvw", len(asked))
        case "numbered":
            return [f"part{number}" for number in random.sample(range(20), len(asked))]
        case "exchanged":  # names that suggest another part
            return english[1:] + english[:1]
        case "some":
            return [random.choice(pair) for pair in zip(asked, english, strict=True)]
    return english
