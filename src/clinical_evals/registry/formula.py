"""Formulas by which a task says how a metric follows from a sample's counts, so that anyone can recount.

A formula is arithmetic over counts and other metrics by name: `ratio(grounded + 0.5 * partial, claims)`.
What is undefined is None and stays so through arithmetic.
"""

import ast
import math
from collections.abc import Callable, Mapping
from functools import lru_cache

Value = float | None


class FormulaError(ValueError):
    """A formula that cannot be read, or names what is neither a count nor a metric."""


def evaluate(metric: str, formulas: Mapping[str, str], counts: Mapping[str, int]) -> Value:
    """Compute a metric of one sample.

    Args:
        metric: Its name, a key of `formulas`.
        formulas: Formulas by metric.
        counts: The sample's counts. A count that is not there is 0.

    Returns:
        The value; None where it is undefined.

    Raises:
        FormulaError: If a formula cannot be read or refers to itself.
    """
    return _Evaluation(formulas, counts).metric(metric)


def _ratio(part: Value, whole: Value) -> Value:
    return part / whole if part is not None and whole else None


def _first(*values: Value) -> Value:
    return next((value for value in values if value is not None), None)


def _zero_if(value: Value) -> Value:
    return 0.0 if value else None


def _harmonic(one: Value, other: Value) -> Value:
    if one is None or other is None:
        return None
    return 2 * one * other / (one + other) if one + other else 0.0


def _floor(value: Value) -> Value:
    return None if value is None else float(math.floor(value))


def _least(*values: Value) -> Value:
    known = [value for value in values if value is not None]
    return min(known) if len(known) == len(values) else None


def _greatest(*values: Value) -> Value:
    known = [value for value in values if value is not None]
    return max(known) if len(known) == len(values) else None


def _mean(*values: Value) -> Value:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


FUNCTIONS: dict[str, Callable[..., Value]] = {
    "ratio": _ratio,
    "first": _first,
    "zero_if": _zero_if,
    "harmonic": _harmonic,
    "floor": _floor,
    "min": _least,
    "max": _greatest,
    "mean": _mean,
}
"""`ratio(a, b)`: a / b, undefined for b = 0. `first(a, …)`: the first that is defined. `zero_if(a)`: 0 if
a is not 0, else undefined. `harmonic(a, b)`: harmonic mean, 0 for two zeros. `mean(…)`: of those defined."""

_ARITHMETIC: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
}


@lru_cache(maxsize=1024)
def _parse(formula: str) -> ast.expr:
    try:
        tree = ast.parse(formula, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise FormulaError(f"formula {formula[:80]!r} cannot be read") from None
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            fits = isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS and not node.keywords
        elif isinstance(node, ast.Constant):
            fits = type(node.value) in (int, float)
        else:
            fits = isinstance(node, (ast.BinOp, ast.Name, ast.Load, *_ARITHMETIC))
        if not fits:
            raise FormulaError(
                f"formula {formula[:80]!r}: only names, numbers, + - * and {', '.join(FUNCTIONS)} are allowed"
            )
    return tree


class _Evaluation:
    def __init__(self, formulas: Mapping[str, str], counts: Mapping[str, int]) -> None:
        self._formulas = formulas
        self._counts = counts
        self._open: list[str] = []

    def metric(self, name: str) -> Value:
        if name in self._open:
            raise FormulaError(f"the formula of {name!r} refers to itself")
        self._open.append(name)
        value = self._value(_parse(self._formulas[name]))
        self._open.pop()
        return value

    def _value(self, node: ast.expr) -> Value:
        if isinstance(node, ast.Constant):
            return float(node.value)  # type: ignore[arg-type]  # _parse lets only numbers through
        if isinstance(node, ast.Name):
            # A count comes first: a metric may be named as the count it is, such as a rating.
            if node.id in self._formulas and node.id not in self._counts:
                return self.metric(node.id)
            return float(self._counts.get(node.id, 0))
        if isinstance(node, ast.BinOp):
            left, right = self._value(node.left), self._value(node.right)
            return None if left is None or right is None else _ARITHMETIC[type(node.op)](left, right)
        assert isinstance(node, ast.Call)
        assert isinstance(node.func, ast.Name)
        return FUNCTIONS[node.func.id](*(self._value(argument) for argument in node.args))
