"""Random names for parameters and weights, as people really choose them.

A file stays as right or as wrong as it was: parameters and their uses get new names, and so do the
keywords of calls; weights get other names, in other places, in another order.
"""

import ast
import keyword
from random import Random

# Names of parameters in public code.
SYNONYMS = {
    "attn_scores": ["scores", "logits", "energy", "similarity"],
    "attn_weights": ["weights", "attention", "probs", "alpha"],
    "b": ["batch", "batch_size", "bsz"],
    "base": ["theta", "max_period"],
    "batch_size": ["n_batch", "bsz", "num_samples"],
    "block_size": ["chunk", "chunk_size", "tile"],
    "cache": ["past", "kv", "past_key_values", "memory"],
    "context": ["encoder_out", "source", "memory", "other"],
    "context_length": ["context_len", "block_size", "seq_len", "max_len", "n_ctx", "length"],
    "d": ["n_embd", "emb_dim", "d_model", "hidden_size", "width", "dim"],
    "d_context": ["context_dim", "kv_dim", "d_source"],
    "d_in": ["in_dim", "in_features", "input_dim", "emb_dim"],
    "d_k": ["head_dim", "key_dim", "width"],
    "d_latent": ["latent_dim", "rank", "bottleneck"],
    "d_out": ["out_dim", "out_features", "output_dim", "hidden"],
    "dim": ["axis", "along"],
    "dropout": ["drop", "p_drop", "droupout", "dropout_rate", "pdrop"],
    "eps": ["epsilon", "tiny", "variance_epsilon"],
    "generator": ["rng", "gen", "random_state"],
    "ids": ["tokens", "idx", "input_ids", "prompt"],
    "inputs": ["sentence", "embeddings", "x", "tokens", "xs"],
    "keys": ["k", "key", "ks"],
    "lengths": ["seq_lens", "lens", "sizes"],
    "logits": ["scores", "predictions", "outputs"],
    "max_new_tokens": ["n_new", "steps", "num_ids", "length"],
    "model": ["net", "gpt", "m", "transformer"],
    "new_keys": ["k_new", "fresh_keys"],
    "new_values": ["v_new", "fresh_values"],
    "num_heads": ["n_head", "heads", "n_heads", "nhead", "h"],
    "num_kv_heads": ["n_kv", "kv_heads", "groups"],
    "num_layers": ["n_layer", "depth", "n_blocks", "layers"],
    "num_tokens": ["seq_len", "n", "length", "max_len", "n_tokens"],
    "optimizer": ["opt", "optim", "sgd"],
    "p": ["rate", "drop_prob", "probability"],
    "positions": ["places", "pos", "position_ids"],
    "qkv_bias": ["bias", "use_bias", "with_bias"],
    "queries": ["q", "query", "qs"],
    "query": ["q", "token", "input_2", "x_i"],
    "targets": ["labels", "y", "expected"],
    "temperature": ["temp", "t", "tau"],
    "text": ["corpus", "data", "s"],
    "top_k": ["k", "topk", "n_best"],
    "training": ["train", "is_training", "mode"],
    "values": ["v", "value", "vs"],
    "vocab_size": ["n_vocab", "num_tokens", "vocab", "n_tokens"],
    "window": ["width", "span", "size"],
    "W_key": ["k", "w_k", "Wk", "key_matrix"],
    "W_query": ["q", "w_q", "Wq", "query_matrix"],
    "W_value": ["v", "w_v", "Wv", "value_matrix"],
    "x": ["w", "inp", "data", "t", "hidden_states", "features"],
}
LETTERS = list("abcdefghjkmnpqrstuvwxyz")
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
FORMS = ["plain", "list", "dict", "helper"]


def renamed(source: str, names: list[str], random: Random, exchange: bool = True) -> str:
    """Return a file with the parameters of these definitions renamed, each with its own style.

    exchange: True if names of the stub may change places, which is like another order.
    """
    tree = ast.parse(source)
    for node in tree.body:
        if getattr(node, "name", "") in names:
            for function in functions_of(node):
                rename(tree, node, function, new_names(function, random, exchange))
    return ast.unparse(tree)


def functions_of(node: ast.stmt) -> list[ast.FunctionDef]:
    """Return a function, or the methods of a class that its users call."""
    if isinstance(node, ast.FunctionDef):
        return [node]
    methods = [part for part in getattr(node, "body", []) if isinstance(part, ast.FunctionDef)]
    return [method for method in methods if method.name in ("__init__", "forward", "encode")]


def parameters(function: ast.FunctionDef) -> list[ast.arg]:
    """Return a function's parameters without `self`."""
    taken = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return [one for one in taken if one.arg != "self"]


def new_names(function: ast.FunctionDef, random: Random, exchange: bool) -> dict[str, str]:
    """Return a new name for each parameter, none of which the function uses for something else."""
    own = [one.arg for one in parameters(function)]
    uses = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)} - set(own)
    uses |= set(keyword.kwlist)
    uses |= {one.arg for inner in inner_functions(function) for one in parameters(inner)}
    style = random.choice(
        ["synonyms", "abbreviations", "letters", "some", "others"][: 4 + exchange]
    )
    if style == "others" and len(own) > 1:
        others = own[1:] + own[:1] if random.random() < 0.5 else random.sample(own, len(own))
        return dict(zip(own, others, strict=True))
    chosen: dict[str, str] = {}
    for name in own:
        keep = style == "some" and random.random() < 0.5
        choices = [name] if keep else [*choices_for(name, style, random), *LETTERS, name]
        taken = uses | set(chosen.values()) | (set(own) - {name})
        chosen[name] = next((one for one in choices if one not in taken), name)
    return chosen


def inner_functions(function: ast.FunctionDef) -> list[ast.FunctionDef]:
    """Return the functions that are defined within a function."""
    return [n for n in ast.walk(function) if isinstance(n, ast.FunctionDef) and n is not function]


def choices_for(name: str, style: str, random: Random) -> list[str]:
    """Return names to choose from, the best first."""
    words = name.split("_")
    if style == "abbreviations":
        short = ["".join(word[0] for word in words), "_".join(word[:3] for word in words)]
        return random.sample([*short, name[:4], name.replace("_", "")], 4)
    if style == "letters":
        return random.sample(LETTERS, len(LETTERS))
    return random.sample(SYNONYMS.get(name, []), len(SYNONYMS.get(name, [])))


def rename(
    tree: ast.Module, node: ast.stmt, function: ast.FunctionDef, names: dict[str, str]
) -> None:
    """Rename a function's parameters, their uses, and the keywords of calls in the file."""
    for one in parameters(function):
        one.arg = names[one.arg]
    for use in ast.walk(function):
        if isinstance(use, ast.Name) and use.id in names:
            use.id = names[use.id]
    for call in calls_of(tree, node, function):
        for one in call.keywords:
            one.arg = names.get(one.arg, one.arg)


def calls_of(tree: ast.Module, node: ast.stmt, function: ast.FunctionDef) -> list[ast.Call]:
    """Return the calls of a definition by its name; those of methods have no keywords here."""
    if function.name == "forward":
        return []
    calls = (call for call in ast.walk(tree) if isinstance(call, ast.Call))
    return [call for call in calls if getattr(call.func, "id", "") == node.name]


def own_weights(source: str, classes: list[str], style: str, form: str, random: Random) -> str:
    """Return a text with the weights of some classes under other names, made in another order.

    form: `plain` attributes, or parts of a `list`, a `dict` or a `helper` module.
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
    return [*begin, *(f"{place}{new[old]} = {values[old]}" for old in order)]


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
