"""A parser for expressions of free sizes in exported PyTorch programs.

SymPy evaluates such text as Python, and computes what it says: ``9**9**9`` takes the machine. So it
is parsed here, bounded, and written anew. The grammar is that of ``sympy.srepr``: nested calls.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

#: Divisions, whose last operands are what they divide by.
_DIVISIONS = (
    *("FloorDiv", "CleanDiv", "CeilDiv", "IntTrueDiv", "FloatTrueDiv"),
    *("Mod", "PythonMod", "ModularIndexing"),
)
#: Functions, and how many operands each takes at least and at most.
_FUNCTIONS: dict[str, tuple[int, int]] = {
    **dict.fromkeys(("Add", "Mul"), (1, 64)),
    **dict.fromkeys(("Max", "Min", "And", "Or"), (1, 4)),
    **dict.fromkeys(_DIVISIONS, (2, 2)),
    **dict.fromkeys(("PowByNatural", "Pow"), (2, 2)),
    **dict.fromkeys(("Equality", "Unequality", "GreaterThan", "LessThan"), (2, 2)),
    **dict.fromkeys(("StrictGreaterThan", "StrictLessThan"), (2, 2)),
    **dict.fromkeys(("CeilToInt", "FloorToInt", "TruncToInt", "RoundToInt", "ToFloat"), (1, 1)),
    **dict.fromkeys(("Not", "Identity"), (1, 1)),
    **dict.fromkeys(("ModularIndexing", "Where"), (3, 3)),
}
_CONSTANTS = ("true", "false", "oo", "int_oo")
_POWERS = ("Pow", "PowByNatural")
_CHOICES = ("Max", "Min", "And", "Or")
#: What PyTorch states of a symbol: all of these hold.
_ASSUMPTIONS = ("integer", "positive", "nonnegative", "real")

#: Bounds: characters, nested calls, factors of a product, summands of it when multiplied out, and
#: operands of a maximum with those of the maxima in it, each pair of which SymPy compares.
_LONGEST, _DEEPEST, _HIGHEST, _WIDEST, _MOST_CHOICES = 4000, 24, 12, 64, 8
#: What reading costs, in tenths of milliseconds as measured: a call at least, and for each summand,
#: the first time and again, when SymPy remembers it; each operand of a maximum but one; and for the
#: first time a division by more than a number, for each factor and each such division inside.
_NEW, _AGAIN, _CHOICE, _DIVISION = (10, 1.2), (1, 0.3), 20, 50
_LARGEST_POWER = 4
_INTEGERS = range(-(2**63), 2**63)

_TOKEN = re.compile(r"\s*([A-Za-z_]\w*|-?\d{1,40}(?:\.\d*)?(?:e[+-]?\d{1,4})?|'[^']*'|.)", re.ASCII)


class ExpressionTerm(NamedTuple):
    """A part of an expression, and what tells how long SymPy reads it.

    Attributes:
        text: as it is written.
        calls: of functions.
        factors, summands: of the largest product in it, and of that once it is multiplied out.
        choices, compared: operands of the largest maximum, with those of the maxima in it; and of
            all maxima together, but one of each.
        divisions, divided: divisions by more than a number inside each other; and all of these,
            each as often as it has factors and others inside.
    """

    text: str
    calls: int = 1
    factors: int = 1
    summands: int = 1
    choices: int = 1
    compared: int = 0
    divisions: int = 0
    divided: int = 0

    def cost(self, *, new: bool) -> float:
        """What SymPy takes to read it, in tenths of milliseconds.

        Args:
            new: whether it is read for the first time.
        """
        least, for_each = _NEW if new else _AGAIN
        calls = self.calls * max(least, for_each * self.summands)
        return calls + self.compared * _CHOICE + (self.divided * _DIVISION if new else 0)


def size_expression(text: str, symbol: Callable[[str], str]) -> ExpressionTerm:
    """An expression of sizes, written anew.

    Args:
        text: as the file holds it.
        symbol: gives a name of ours for a symbol's; raises ValueError where it is none.

    Raises:
        ValueError: it is not of the grammar, or too large.
    """
    if len(text) > _LONGEST:
        raise ValueError("an expression of a size is too long")
    parser = _Parser(_TOKEN.findall(text.strip()), symbol)
    term = parser.expression(0)
    parser.expect("")
    return term


class _Parser:
    def __init__(self, tokens: list[str], symbol: Callable[[str], str]) -> None:
        self._tokens: Iterator[str] = iter(tokens)
        self._symbol = symbol
        self._next = next(self._tokens, "")

    def _taken(self) -> str:
        token, self._next = self._next, next(self._tokens, "")
        return token

    def expect(self, token: str) -> None:
        """Take this token; "" is the end."""
        if self._taken() != token:
            raise ValueError("an expression of a size is not one that PyTorch writes")

    def expression(self, depth: int) -> ExpressionTerm:
        """One constant, symbol, number or call."""
        name = self._taken()
        if depth > _DEEPEST:
            raise ValueError("an expression of a size is nested too deeply")
        if name in _CONSTANTS:
            return ExpressionTerm(name)
        self.expect("(")
        if name in _LEAVES:
            term = ExpressionTerm(_LEAVES[name](self))
            self.expect(")")
            return term
        fewest, most = _FUNCTIONS.get(name, (1, 0))
        given = [self.expression(depth + 1)]
        while self._next == "," and len(given) < most:
            self._taken()
            given.append(self.expression(depth + 1))
        self.expect(")")
        if len(given) not in range(fewest, most + 1):
            raise ValueError("an expression of a size calls a function that sizes do not need")
        return _called(name, given)

    def symbol(self) -> str:
        """The rest of ``Symbol('s0', positive=True, integer=True)``."""
        stated = [repr(self._symbol(self._taken().strip("'")))]
        while self._next == ",":
            self._taken()
            assumption = self._taken()
            self.expect("=")
            self.expect("True")
            if assumption not in _ASSUMPTIONS:
                raise ValueError("a symbol of a size has an assumption that sizes do not need")
            stated.append(f"{assumption}=True")
        return f"Symbol({', '.join(stated)})"

    def integer(self) -> str:
        """The rest of ``Integer(2)``."""
        return f"Integer({self._number()})"

    def rational(self) -> str:
        """The rest of ``Rational(1, 2)``."""
        above = self._number()
        self.expect(",")
        if not (below := self._number()):
            raise ValueError("an expression of a size divides by zero")
        return f"Rational({above}, {below})"

    def floating(self) -> str:
        """The rest of ``Float('0.5', precision=53)``."""
        number = float(self._taken().strip("'"))
        for token in (",", "precision", "=", "53"):
            self.expect(token)
        if not math.isfinite(number):
            raise ValueError("an expression of a size holds a number that is not finite")
        return f"Float('{number!r}', precision=53)"

    def _number(self) -> int:
        number = int(self._taken())
        if number not in _INTEGERS:
            raise ValueError("an expression of a size holds a number of more than 64 bits")
        return number


_LEAVES: dict[str, Callable[[_Parser], str]] = {
    "Symbol": _Parser.symbol,
    "Integer": _Parser.integer,
    "Rational": _Parser.rational,
    "Float": _Parser.floating,
}


def _called(name: str, given: list[ExpressionTerm]) -> ExpressionTerm:
    factors, summands = max(t.factors for t in given), max(t.summands for t in given)
    choices, compared = max(t.choices for t in given), sum(t.compared for t in given)
    divisions, divided = max(t.divisions for t in given), sum(t.divided for t in given)
    if name == "Add":
        summands = sum(t.summands for t in given)
    elif name == "Mul":
        factors, summands = sum(t.factors for t in given), math.prod(t.summands for t in given)
    elif name in _CHOICES:
        choices = sum(t.choices for t in given)
        compared += choices - 1
    elif name in _DIVISIONS and not all(t.text.startswith("Integer(") for t in given[1:]):
        divisions += 1
        divided += divisions * factors
    elif name in _POWERS:
        power = re.fullmatch(r"Integer\((\d)\)", given[1].text)
        if power is None or not 0 < int(power[1]) <= _LARGEST_POWER:
            raise ValueError("an expression of a size holds a power that sizes do not need")
        factors, summands = factors * int(power[1]), summands ** int(power[1])
    if factors > _HIGHEST or summands > _WIDEST or choices > _MOST_CHOICES:
        raise ValueError("an expression of a size is too large")
    text, calls = f"{name}({', '.join(t.text for t in given)})", 1 + sum(t.calls for t in given)
    return ExpressionTerm(text, calls, factors, summands, choices, compared, divisions, divided)
