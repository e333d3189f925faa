"""What definitions are made of, in a file no part of which can act on another: read, never run.

Of such a file every definition does the same as in any other one, so what is known of it from
there holds here. A file is taken for one only if every word in it is known to be harmless; most
short answers are made of nothing else.
"""

import ast
import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from hashlib import blake2b
from symtable import SymbolTable, symtable
from typing import TypeGuard

from .source import UNPARSABLE

MODULES = {"math", "torch", "torch.nn", "torch.nn.functional"}
BUILTINS = set(
    "AssertionError NotImplementedError TypeError ValueError abs all any bool dict enumerate float "
    "int isinstance len list max min print range reversed round set slice sorted str sum super "
    "tuple zip"
    "".split()
)
# Of torch and its tensors and modules: what computes, and what holds or describes a value.
WORDS = set(
    "Adam AdamW Dropout Embedding GELU Generator LayerNorm Linear Module ModuleDict "
    "ModuleList Parameter ReLU SGD Sequential Softmax T Tensor abs add add_ all allclose amax "
    "amin any append arange argmax backward baddbmm bernoulli bernoulli_ bfloat16 bias bmm "
    "bool broadcast_to cat children chunk clamp clone contiguous copy_ cos cpu cross_entropy "
    "cumsum data decode detach device diag diagonal dim div div_ dot dropout dtype einsum "
    "embedding empty empty_like encode equal eval exp exp_ expand expand_as extend eye fill_ "
    "flatten flip float float16 float32 float64 floor forward full full_like functional "
    "gather ge gelu generator grad gt half in_features index inf int int32 int64 "
    "is_floating_point isfinite isinf isnan item items join keys layer_norm le linear "
    "linspace load_state_dict log log_softmax logical_and logical_not logical_or logsumexp "
    "long lt mT manual_seed masked_fill masked_fill_ matmul max maximum mean min minimum mm "
    "modules movedim mul mul_ multinomial named_parameters ndim ne neg new_full new_ones "
    "new_tensor new_zeros nn no_grad norm normal normal_ numel ones ones_like optim "
    "out_features outer p parameters permute pi pow prod rand rand_like randint randn "
    "randn_like register_buffer register_parameter relu remainder repeat repeat_interleave "
    "requires_grad requires_grad_ reshape roll round rsqrt scaled_dot_product_attention "
    "scatter select shape sigmoid sin size softmax sort split sqrt square squeeze stack "
    "state_dict std std_mean step sub sub_ sum swapaxes swapdims t tanh tensor to tolist topk "
    "train training transpose tril tril_ tril_indices triu triu_ triu_indices type_as unbind "
    "unflatten unfold uniform_ unsqueeze update values var var_mean view weight where zero_ "
    "zero_grad zeros zeros_like".split()
)
STATEMENTS: tuple[type[ast.AST], ...] = (
    ast.AnnAssign,
    ast.Assert,
    ast.Assign,
    ast.AugAssign,
    ast.Break,
    ast.Continue,
    ast.Expr,
    ast.For,
    ast.FunctionDef,
    ast.If,
    ast.Pass,
    ast.Raise,
    ast.Return,
    ast.While,
    ast.With,
)
EXPRESSIONS: tuple[type[ast.AST], ...] = (
    ast.Attribute,
    ast.BinOp,
    ast.BoolOp,
    ast.Call,
    ast.Compare,
    ast.Constant,
    ast.Dict,
    ast.FormattedValue,
    ast.GeneratorExp,
    ast.IfExp,
    ast.JoinedStr,
    ast.Lambda,
    ast.List,
    ast.ListComp,
    ast.Name,
    ast.Slice,
    ast.Starred,
    ast.Subscript,
    ast.Tuple,
    ast.UnaryOp,
)
SMALL: tuple[type[ast.AST], ...] = (
    ast.arg,
    ast.arguments,
    ast.boolop,
    ast.cmpop,
    ast.comprehension,
    ast.expr_context,
    ast.keyword,
    ast.operator,
    ast.unaryop,
    ast.withitem,
)
KNOWN = STATEMENTS + EXPRESSIONS + SMALL
PARTS = {"functional", "nn", "optim"}  # of torch, from which more is read
# Names of Python's own, and where its running code is kept: nobody's own attributes.
NOBODYS = re.compile(r"_|(?:ag|co|cr|f|gi|tb)_|mro$")


class NotPlain(Exception):
    """Something in a file may act on more than what it is given."""


def contents(
    text: str, modules: Collection[str] = (), replaced: Collection[str] = ()
) -> dict[str, str]:
    """By the name of each definition: a digest of it and of all in the text that it can reach.

    What comments, docstrings, type hints and local variables are called makes no difference.
    modules: those of the course, which may be imported. replaced: names that are given another
    definition after the file is loaded. Nothing where the text is not plain.

    >>> one = contents("import torch\\ndef f(x):\\n    y = x.exp()\\n    return y / y.sum()")
    >>> one == contents("import torch\\ndef f(x):\\n    z = x.exp()  # e\\n    return z / z.sum()")
    True
    >>> contents("import torch\\ndef f(x):\\n    torch.exp = x")
    {}
    """
    try:
        file = PlainFile(text, {*MODULES, *modules})
        return file.contents() if file.bound.keys() >= set(replaced) else {}
    except (NotPlain, *UNPARSABLE):
        return {}


class PlainFile:
    """A file whose statements have all been looked at. Raises NotPlain."""

    def __init__(self, text: str, modules: set[str]):
        self.modules, tree = modules, ast.parse(text)
        WithoutHints().visit(tree)
        self.bound: dict[str, ast.stmt] = {}  # what each name of the file is that never changes
        self.imported: set[str] = set()  # modules, by the names that they have here
        self.own = own_attributes(tree)
        loose = [statement for statement in tree.body if not self.bind(statement)]
        # What other code leaves behind, no definition may speak of.
        self.values = set().union(*map(local_names, loose))
        own = {name for name in self.values if name.startswith("__")}
        if own or not self.values.isdisjoint(BUILTINS | self.bound.keys()):
            raise NotPlain(self.values)
        for statement in loose:
            if not is_only_for_programs(statement):
                self.look_within(statement, self.values)
        for statement in self.bound.values():
            self.look_at(statement)
        for scope in symtable(text, "", "exec").get_children():
            self.must_be_for_good(globals_of(scope))

    def bind(self, statement: ast.stmt) -> bool:
        """Note the names that a statement binds for good, if it does; none of them twice."""
        names = self.names_bound(statement)
        if not BUILTINS.isdisjoint(names) or not self.bound.keys().isdisjoint(names):
            raise NotPlain(names)
        if any(name.startswith("__") for name in names):
            raise NotPlain(names)
        self.bound |= dict.fromkeys(names, statement)
        return bool(names)

    def names_bound(self, statement: ast.stmt) -> list[str]:
        """The names of an import, a definition or a constant; none for any other statement."""
        if isinstance(statement, ast.Import):
            given = {one.asname or one.name.partition(".")[0]: one.name for one in statement.names}
            self.imported |= given.keys()
            self.must_be_known(given.values())
            return list(given)
        if isinstance(statement, ast.ImportFrom) and not statement.level:
            module = statement.module or ""
            parts = {one.asname or one.name: f"{module}.{one.name}" for one in statement.names}
            self.imported |= {name for name, whole in parts.items() if whole in self.modules}
            self.must_be_known([module])
            self.must_be_words(module, [one.name for one in statement.names])
            return list(parts)
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            return [statement.name]
        if isinstance(statement, ast.Assign) and is_constant(statement.value):
            names = [one.id for one in statement.targets if isinstance(one, ast.Name)]
            return names if len(names) == len(statement.targets) else []
        return []

    def must_be_for_good(self, names: set[str]) -> None:
        """Raises NotPlain where one of the names may come to be something else."""
        if not names <= BUILTINS | self.bound.keys():
            raise NotPlain(names)

    def must_be_known(self, modules: Collection[str]) -> None:
        """Raises NotPlain for a module that nothing is known of."""
        if not self.modules.issuperset(modules):
            raise NotPlain(modules)

    def must_be_words(self, module: str, names: list[str]) -> None:
        """Raises NotPlain for what a library has that is not known to be harmless."""
        if "*" in names or (module in MODULES and not WORDS.issuperset(names)):
            raise NotPlain(names)

    def look_at(self, statement: ast.stmt) -> None:
        """Raises NotPlain where a definition may act on more than what it is given."""
        if isinstance(statement, ast.FunctionDef):
            self.look_at_function(statement)
        if isinstance(statement, ast.ClassDef):
            if statement.decorator_list or statement.keywords:
                raise NotPlain(statement)
            for base in statement.bases:
                self.look_within(ast.Call(base, [], []), set())
            for part in statement.body:
                if isinstance(part, ast.FunctionDef) and is_fit(part.name):
                    self.look_at_function(part, first_of(part))
                elif not is_text(part) and not isinstance(part, ast.Pass):
                    raise NotPlain(part)

    def look_at_function(self, function: ast.FunctionDef, owner: str = "") -> None:
        """The same of a function, with all that stands within it. owner: `self`, in a method."""
        local = local_names(function) | names_taken(function)
        if owner and (owner in local_names(function) or times_taken(function, owner) > 1):
            raise NotPlain(function)
        if not local.isdisjoint(BUILTINS | self.bound.keys()):
            raise NotPlain(function)
        self.look_within(function, local, owner)

    def look_within(self, part: ast.AST, local: set[str], owner: str = "") -> None:
        """Every word of it is known, and in its place."""
        nodes = within(part)
        called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
        called |= {id(node.args[0]) for node in nodes if is_super_of(node, owner)}
        bases = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
        for node in nodes:
            if not isinstance(node, KNOWN):
                raise NotPlain(node)
            if isinstance(node, ast.Name) and node.id not in local:
                self.look_at_name(node, id(node) in called, id(node) in bases)
            elif isinstance(node, ast.Attribute):
                self.look_at_attribute(node, id(node) in called, owner)
            elif isinstance(node, ast.FunctionDef):
                defaults = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
                if node.decorator_list or not all(map(is_constant, defaults)):
                    raise NotPlain(node)

    def look_at_name(self, node: ast.Name, called: bool, base: bool) -> None:
        """What can be changed is only called: a definition, a class. A module is only read from."""
        name, bound = node.id, self.bound.get(node.id)
        if name in self.imported:
            fits = base
        elif isinstance(bound, (ast.FunctionDef, ast.ClassDef, ast.ImportFrom)):
            fits = called or (isinstance(bound, ast.ImportFrom) and name.islower() and not base)
        else:
            fits = bound is not None or name in BUILTINS
        if not fits:
            raise NotPlain(name)

    def look_at_attribute(self, node: ast.Attribute, called: bool, owner: str) -> None:
        """It is set on `self` alone; of a module, a known word is read, and a class called."""
        base, name = node.value, node.attr
        if not isinstance(node.ctx, ast.Load):
            its_own = isinstance(base, ast.Name) and base.id == owner
            fits = its_own and isinstance(node.ctx, ast.Store) and is_fit(name)
        elif root_of(base) in self.imported:
            within = isinstance(base, ast.Name) or getattr(base, "attr", "") in PARTS
            fits = within and name in WORDS and (called or not name[0].isupper())
        elif is_super(base):
            fits = called and name in ("__init__", "forward")
        else:
            fits = name in WORDS or name in self.own
        if not fits:
            raise NotPlain(name)

    def contents(self) -> dict[str, str]:
        """A digest for each definition."""
        spoken = {
            name: {n.id for n in within(one) if isinstance(n, ast.Name)} & self.bound.keys()
            for name, one in self.bound.items()
        }
        dumps = {name: dump_of(statement) for name, statement in self.bound.items()}
        definitions = (ast.FunctionDef, ast.ClassDef)
        return {
            name: digest(sorted((one, dumps[one]) for one in reached(name, spoken)))
            for name, statement in self.bound.items()
            if isinstance(statement, definitions)
        }


@lru_cache(maxsize=500)
def within(part: ast.AST) -> tuple[ast.AST, ...]:
    """All nodes of a tree: each is walked through once, and looked at several times."""
    return tuple(ast.walk(part))


def globals_of(scope: SymbolTable) -> set[str]:
    """The names that a function or class reads from its file, or Python, as Python tells them."""
    inner = (globals_of(one) for one in scope.get_children())
    names = {one.get_name() for one in scope.get_symbols() if one.is_global()}
    return names.union(*inner)


def reached(name: str, spoken: dict[str, set[str]]) -> set[str]:
    """A name, and all that are spoken of from there, however indirectly."""
    found, left = set[str](), {name}
    while left:
        found |= left
        left = set().union(*(spoken[one] for one in left)) - found
    return found


def digest(parts: list[tuple[str, str]]) -> str:
    """A short text that stands for others."""
    return blake2b(repr(parts).encode(), digest_size=16).hexdigest()


class WithoutHints(ast.NodeTransformer):
    """Takes docstrings and type hints out of a tree. Raises NotPlain for a hint that computes."""

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.body = without_text(node.body)
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        must_be_hint(node.returns)
        node.body, node.returns = without_text(node.body), None
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        must_be_hint(node.annotation)
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        must_be_hint(node.annotation)
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)


HINTS = (ast.Name, ast.Attribute, ast.Subscript, ast.Tuple, ast.List, ast.Constant, ast.BinOp)


def must_be_hint(hint: ast.expr | None) -> None:
    """Raises NotPlain where a hint is more than a type's name."""
    for node in ast.walk(hint) if hint else ():
        if isinstance(node, ast.expr) and not isinstance(node, HINTS):
            raise NotPlain(node)


def dump_of(statement: ast.stmt) -> str:
    """A statement's tree as text, with local variables numbered as they come."""
    functions = statement.body if isinstance(statement, ast.ClassDef) else [statement]
    for function in functions:
        if isinstance(function, ast.FunctionDef):
            number_locals(function)
    return ast.dump(statement)


def number_locals(function: ast.FunctionDef) -> None:
    """Call the variables of a function by numbers; what it takes keeps its name."""
    names = local_names(function) - names_taken(function)
    numbers: dict[str, str] = {}
    for node in within(function):
        if isinstance(node, ast.Name) and node.id in names:
            node.id = numbers.setdefault(node.id, f"<{len(numbers)}>")


def without_text(body: list[ast.stmt]) -> list[ast.stmt]:
    """A body without its docstring."""
    return [one for one in body if not is_text(one)] or [ast.Pass()]


def own_attributes(tree: ast.Module) -> set[str]:
    """The names that classes of a file set on `self` or have as methods, Python's own left out."""
    found = {
        node.attr
        for node in within(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    found |= {node.name for node in within(tree) if isinstance(node, ast.FunctionDef)}
    # What is registered by a text is an attribute from then on.
    found |= set(registered(tree))
    return {name for name in found if not NOBODYS.match(name)}


def registered(tree: ast.Module) -> Iterator[str]:
    """The names under which `register_…` keeps something."""
    for node in within(tree):
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Attribute) and called.attr.startswith("register_"):
            first = node.args[0] if node.args else None  # type: ignore[attr-defined]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield first.value


def is_fit(name: str) -> bool:
    """Whether an object may have something by that name, and be no other kind of object for it."""
    return name == "__init__" or not NOBODYS.match(name)


def is_text(statement: ast.stmt) -> bool:
    """Whether a statement is no more than a text."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def is_only_for_programs(statement: ast.stmt) -> bool:
    """Whether it is `if __name__ == "__main__":`, which no grader ever runs."""
    return isinstance(statement, ast.If) and (
        ast.unparse(statement.test) == "__name__ == '__main__'" and not statement.orelse
    )


def is_constant(value: ast.expr) -> bool:
    """Whether it is a number, a text, a truth, None or a tuple of them: nothing that can change."""
    if isinstance(value, ast.Tuple):
        return all(map(is_constant, value.elts))
    if isinstance(value, ast.UnaryOp):
        value = value.operand
    return isinstance(value, ast.Constant)


def is_super(value: ast.AST) -> TypeGuard[ast.Call]:
    """Whether it is a call of `super`."""
    called = value.func if isinstance(value, ast.Call) else None
    return isinstance(called, ast.Name) and called.id == "super"


def is_super_of(value: ast.AST, owner: str) -> TypeGuard[ast.Call]:
    """Whether it is `super(…, self)`."""
    if not is_super(value) or len(value.args) != 2:
        return False
    return isinstance(value.args[1], ast.Name) and value.args[1].id == owner != ""


def first_of(method: ast.FunctionDef) -> str:
    """What a method calls the object that it belongs to."""
    return method.args.args[0].arg if method.args.args else ""


def root_of(value: ast.expr) -> str:
    """`a` of `a.b.c`; empty where there is no name."""
    while isinstance(value, ast.Attribute):
        value = value.value
    return value.id if isinstance(value, ast.Name) else ""


def local_names(part: ast.stmt) -> set[str]:
    """The names that are given to something within a function, or another statement."""
    inner = within(part)
    names = {n.id for n in inner if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    return names | {n.name for n in inner if isinstance(n, ast.FunctionDef) and n is not part}


def times_taken(function: ast.FunctionDef, name: str) -> int:
    """How often a function, and those within it, take something by a name."""
    return sum(isinstance(node, ast.arg) and node.arg == name for node in within(function))


def names_taken(function: ast.FunctionDef) -> set[str]:
    """What a function, and those within it, take; and what those are called."""
    inner = [node for node in within(function) if node is not function]
    names = {node.name for node in inner if isinstance(node, ast.FunctionDef)}
    return names | {node.arg for node in inner if isinstance(node, ast.arg)}
