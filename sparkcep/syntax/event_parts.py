"""Parser of what stands behind PATTERN: SEQ, AND, OR, components and negations (SASE+).

group     := (SEQ | AND | OR) "(" part ("," part)* ")" quantifier?
part      := (STRICT | NEXT | ANY)? component | negation | group
component := type quantifier? variable "[]"? (UNTIL "(" condition ")")? (WITHIN duration)?
negation  := "~" (type variable | "(" type variable ")") (WITHIN duration)?
quantifier:= "+" | "*" | "?" | "{" n "}" | "{" n "," "}" | "{" n "," m "}"
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn, cast

from sparkcep.errors import PatternSyntaxError, Span, did_you_mean
from sparkcep.syntax.clause import Fragment, Within
from sparkcep.syntax.durations import parse_within
from sparkcep.syntax.event_pattern import (
    EVENT_WORDS,
    Component,
    EventNode,
    Group,
    GroupOperator,
    Negation,
    Quantifier,
    StepStrategy,
    Variable,
    components_of,
    walk,
)
from sparkcep.syntax.fragments import fragment_of
from sparkcep.syntax.lexer import Token, unquoted
from sparkcep.syntax.token_reader import TokenReader

_OPERATORS = ("SEQ", "AND", "OR")
_STEP_STRATEGIES = ("STRICT", "NEXT", "ANY")
_QUANTIFIERS = ("+", "*", "?", "{")
_NEGATION_PLACE = "a negation stands in a SEQ: SEQ(A a, ~(B b), C c)"


def variable_of(token: Token, *, text: str, clause: str) -> Variable:
    """Return the variable that a name token speaks of; unquoted names fold to upper case.

    Raises
    ------
    PatternSyntaxError
        EMPTY_NAME, RESERVED_NAME.
    """
    label = _name(token, text, clause)
    return Variable(label.upper() if token.kind == "word" else label, label, token.span)


def _name(token: Token, text: str, clause: str) -> str:
    name = unquoted(token)
    if name and token.keyword not in EVENT_WORDS:
        return name
    raise PatternSyntaxError(
        "RESERVED_NAME" if name else "EMPTY_NAME",
        f"{token.keyword} is a word of the pattern language." if name else "A name needs at least one character.",
        clause=clause,
        text=text,
        span=token.span,
        found=token.text,
        hint=f'quote it: "{token.text}"' if name else None,
    )


class PartReader(TokenReader):
    """Recursive descent over the parts of a pattern; `variables` are those read so far, by name.

    Parameters
    ----------
    pairs
        Index of every opening bracket to that of the closing one.
    """

    def __init__(self, tokens: tuple[Token, ...], pairs: Mapping[int, int], text: str, end: int) -> None:
        super().__init__(tokens, "PATTERN", text, end)
        self._pairs = pairs
        self.variables: dict[str, Variable] = {}

    def root(self) -> tuple[Group, int]:
        """Read the outermost group, and return it with the index of the token behind it."""
        if self._next.keyword == "PATTERN":
            self._advance()
        if not self._at_group():
            self._fail_root()
        group = self._group()
        if self._at_quantifier():
            self._fail(
                "UNEXPECTED_TOKEN",
                "The outermost group has no quantifier.",
                allowed="WHERE, WITHIN, RETURN",
                hint=f"put it into another one: SEQ({group.operator}( … ){self._next.text.replace('{', '{…}')})",
            )
        self._check_negations(group)
        return group, self._index

    # The grammar.

    def _group(self) -> Group:
        word = self._next
        self._advance()
        self._open(self._next)
        self._advance()
        if self._next.is_symbol(")"):
            span = Span(word.start, self._next.end)
            self._fail("EMPTY_GROUP", f"{word.keyword} holds no part.", span=span, allowed="a part")
        parts = [self._part()]
        while self._accept(","):
            parts.append(self._part())
        if not self._accept(")"):
            self._stop_behind_part()
        self._openers.pop()
        is_root = not self._openers
        operator = cast(GroupOperator, word.keyword)
        quantifier = None if is_root else self._bounds_of_part()
        return Group(operator, tuple(parts), quantifier, self._span_from(word.start))

    def _part(self) -> EventNode:
        token = self._next
        if self._at_group():
            return self._group()
        if token.is_symbol("~"):
            return self._negation()
        if token.is_symbol("!") or token.keyword == "NOT":
            self._fail("UNEXPECTED_TOKEN", "No part begins so.", allowed="~", hint="a negation is written ~(Type name)")
        if token.is_symbol(",") or token.is_symbol(")"):
            self._allow_part()
            self._fail("MISSING_PART", "A part is missing here.")
        if token.keyword not in _STEP_STRATEGIES:
            return self._component(token.start, None)
        self._advance()
        if self._next.is_symbol("~") or self._at_group():
            what = "negation" if self._next.is_symbol("~") else "group"
            self._fail(
                "MISPLACED_STRATEGY",
                f"A {what} has no strategy of its own.",
                span=token.span,
                allowed=f"{token.keyword} in front of the type of a positive component",
            )
        return self._component(token.start, cast(StepStrategy, token.keyword))

    def _component(self, start: int, strategy: StepStrategy | None) -> Component:
        type_token = self._next
        type_name = self._type_name()
        self._allow("a quantifier")
        quantifier = self._bounds_of_part()
        variable = self._variable(type_token)
        is_loop = self._brackets(type_token, variable, quantifier)
        until = self._until(variable, is_loop)
        within = self._within(variable)
        if self._next.keyword == "UNTIL":
            self._fail("CLAUSE_OUT_OF_ORDER", "UNTIL must stand before WITHIN, and only once.", allowed="',', ')'")
        return Component(
            type_name, variable, quantifier, is_loop, strategy, until, within, self._span_from(start), type_token.span
        )

    def _negation(self) -> Negation:
        start = self._next.start
        self._advance()
        bracketed = self._accept("(")
        self._refuse_in_negation()
        type_token = self._next
        type_name = self._type_name()
        self._refuse_quantified_negation()
        variable = self._variable(type_token)
        if self._next.is_symbol("["):
            self._fail("QUANTIFIED_NEGATION", "A negation speaks of one event: it is no array.", allowed="')', WITHIN")
        if bracketed and not self._accept(")"):
            hint = "WITHIN stands behind the bracket" if self._next.keyword == "WITHIN" else None
            self._fail("UNEXPECTED_TOKEN", "A negation holds one type and one name.", hint=hint)
        self._refuse_quantified_negation()
        if self._next.keyword == "UNTIL":
            self._fail("MISPLACED_UNTIL", "UNTIL ends loops; a negation is none.", allowed="WITHIN, ',', ')'")
        within = self._within(variable)
        return Negation(type_name, variable, within, self._span_from(start), type_token.span)

    def _refuse_in_negation(self) -> None:
        token = self._next
        if self._at_group():
            self._fail(
                "NEGATED_GROUP",
                f"~{token.keyword} is no negation: only a single event can be absent.",
                allowed="~(Type name)",
                hint="several negations side by side share their gap: ~(A a), ~(B b)",
            )
        if token.keyword in _STEP_STRATEGIES:
            self._fail("MISPLACED_STRATEGY", "A negation has no strategy of its own.", allowed="~(Type name)")
        if token.is_symbol("~"):
            self._fail("UNEXPECTED_TOKEN", "A negation cannot be negated.", allowed="~(Type name)")

    def _refuse_quantified_negation(self) -> None:
        if self._at_quantifier():
            self._fail(
                "QUANTIFIED_NEGATION",
                "A negation has no quantifier: one such event is enough to break the match.",
                allowed="~(Type name)",
            )

    # Pieces of a component.

    def _type_name(self) -> str:
        token = self._next
        self._allow_part()
        if not token.is_name:
            hint = f'type names are quoted so: "{token.text[1:-1]}"' if token.kind == "string" else None
            self._fail("UNEXPECTED_TOKEN", "An event type belongs here.", hint=hint or self._strategy_hint(0))
        name = _name(token, self._text, self._clause)
        self._advance()
        return name

    def _variable(self, type_token: Token) -> Variable:
        token = self._next
        self._allow("a name")
        if not token.is_name or (token.keyword in EVENT_WORDS and token.keyword in ("UNTIL", "WITHIN")):
            self._fail(
                "MISSING_VARIABLE",
                "The event has no name.",
                hint=self._strategy_hint(1) or f"write its type and a name for it: {type_token.text} x",
            )
        variable = variable_of(token, text=self._text, clause=self._clause)
        name = variable.name
        if name in self.variables:
            self._fail(
                "DUPLICATE_VARIABLE",
                f"{variable.label} stands here twice: a name means one component.",
                allowed="a name that is not yet taken",
                hint=f"taken: {', '.join(known.label for known in self.variables.values())}",
            )
        self.variables[name] = variable
        self._advance()
        return variable

    def _brackets(self, type_token: Token, variable: Variable, quantifier: Quantifier | None) -> bool:
        opener = self._next
        is_loop = self._accept("[")
        if is_loop and not self._accept("]"):
            self._fail("UNEXPECTED_TOKEN", "Elements are named in conditions, not here.", allowed="[]")
        if self._at_quantifier():
            self._fail(
                "DOUBLE_QUANTIFIER" if quantifier else "MISPLACED_QUANTIFIER",
                "A component has one quantifier, behind its type.",
                hint=f"{type_token.text}{quantifier or self._next.text.replace('{', '{…}')} {variable}[]",
            )
        shown = f"{type_token.text}{quantifier or '+'} {variable}[]"
        if is_loop and quantifier is None:
            span = Span(opener.start, self._previous.end)
            self._fail(
                "ARRAY_WITHOUT_LOOP",
                "Only a component with a quantifier is an array.",
                span=span,
                allowed="a name without []",
                hint=shown,
            )
        if quantifier is not None and quantifier.repeats and not is_loop:
            self._fail(
                "LOOP_WITHOUT_BRACKETS",
                f"{variable} is a loop: its name is followed by [].",
                span=variable.span,
                allowed="name[]",
                hint=shown,
            )
        return is_loop

    def _until(self, variable: Variable, is_loop: bool) -> Fragment | None:
        self._allow("UNTIL")
        if self._next.keyword != "UNTIL":
            return None
        if not is_loop:
            self._fail(
                "MISPLACED_UNTIL",
                f"UNTIL ends loops; {variable} is none.",
                allowed="WITHIN, ',', ')'",
                hint=f"Type+ {variable}[] UNTIL ( … )",
            )
        self._advance()
        opening = self._index
        if not self._accept("("):
            self._fail("UNEXPECTED_TOKEN", "The condition of UNTIL stands in brackets.")
        closing = self._pairs[opening]
        if closing == self._index:
            self._fail("MISSING_CONDITION", "UNTIL needs a condition.", allowed="UNTIL (condition)")
        condition = fragment_of(self._tokens, self._index, closing, self._text)
        self._jump(closing + 1)
        return condition

    def _within(self, variable: Variable) -> Within | None:
        self._allow("WITHIN")
        if self._next.keyword != "WITHIN":
            return None
        self._advance()
        first = self._index
        end = first
        while end < len(self._tokens) and not self._ends_duration(self._tokens[end]):
            end = self._pairs.get(end, end) + 1
        if end == first:
            self._fail("MISSING_DURATION", "WITHIN needs a distance.", allowed="INTERVAL '5' MINUTE, 5, 5 EVENTS")
        place = fragment_of(self._tokens, first, end, self._text)
        within = parse_within(
            place.text, clause=f"WITHIN of {variable.label}", source=self._text, offset=place.span.start
        )
        self._jump(end)
        return within

    def _ends_duration(self, token: Token) -> bool:
        return (token.kind == "operator" and token.text in (",", ")")) or token.keyword in ("UNTIL", "WITHIN")

    def _bounds_of_part(self) -> Quantifier | None:
        if not self._at_quantifier():
            return None
        opener = self._next
        following = self._tokens[self._index + 1] if self._index + 1 < len(self._tokens) else self._end
        if opener.is_symbol("{") and following.is_symbol(","):
            self._fail(
                "INVALID_QUANTIFIER", "The quantifier has no lower bound.", hint="{0,m}", allowed="{n}, {n,}, {n,m}"
            )
        bounds = self._quantifier()
        assert bounds is not None
        if self._at_quantifier():
            reluctant = self._next.is_symbol("?")
            self._fail(
                "RELUCTANT_QUANTIFIER" if reluctant else "DOUBLE_QUANTIFIER",
                "Only row patterns have reluctant quantifiers: here the strategy decides."
                if reluctant
                else "A part can have one quantifier only.",
                allowed="a name",
            )
        return Quantifier(*bounds, self._span_from(opener.start))

    # Rules about the whole.

    def _check_negations(self, root: Group) -> None:
        """Refuse a negation that has no place among positive components (semantics §3.3.4)."""
        if not components_of(root):
            self._refuse(root, "NO_POSITIVE_COMPONENT", "A pattern needs an event that happens, not absences only.")
        for group in walk(root):
            if not isinstance(group, Group):
                continue
            if group.quantifier is not None and not components_of(group):
                self._refuse(group, "NO_POSITIVE_COMPONENT", "A repeated group needs an event that happens.")
            for part in group.parts if group.operator != "SEQ" else ():
                if isinstance(part, Negation):
                    self._refuse(part, "MISPLACED_NEGATION", f"In {group.operator} a negation has no neighbours.")
                elif not components_of(part):
                    self._refuse(
                        part, "NO_POSITIVE_COMPONENT", f"A part of {group.operator} needs an event that happens."
                    )

    def _refuse(self, node: EventNode, code: str, message: str) -> NoReturn:
        self._fail(code, message, span=node.span, allowed=_NEGATION_PLACE)

    # The position.

    def _jump(self, index: int) -> None:
        self._index = index
        self._allowed.clear()

    def _at_group(self) -> bool:
        following = self._tokens[self._index + 1] if self._index + 1 < len(self._tokens) else self._end
        return self._next.keyword in _OPERATORS and following.is_symbol("(")

    def _at_quantifier(self) -> bool:
        return self._next.kind == "operator" and self._next.text in _QUANTIFIERS

    def _allow_part(self) -> None:
        self._allow("a type", *_OPERATORS, "'~'", *_STEP_STRATEGIES)

    # Failing.

    def _strategy_hint(self, back: int) -> str | None:
        """Return a hint if a word was read as a strategy where a type may be meant."""
        word = self._tokens[self._index - 1 - back] if self._index > back else self._end
        if word.keyword not in _STEP_STRATEGIES:
            return None
        return f'{word.keyword} is a strategy here; quote it if it is a type: "{word.text}"'

    def _fail_root(self) -> NoReturn:
        token = self._next
        hint = None
        if token.is_symbol("("):
            hint = "PATTERN ( … ) is a row pattern and stands in MATCH_RECOGNIZE ( … )"
        elif token.keyword:
            hint = did_you_mean(token.keyword, _OPERATORS) or "put SEQ( … ) around the parts"
        is_empty = token is self._end
        code = "EMPTY_PATTERN" if is_empty else "UNEXPECTED_TOKEN"
        message = "The pattern is empty." if is_empty else "An event pattern opens with SEQ, AND or OR."
        self._fail(code, message, allowed="SEQ( … ), AND( … ), OR( … )", hint=hint)

    def _stop_behind_part(self) -> NoReturn:
        token = self._next
        if token.keyword in ("UNTIL", "WITHIN"):
            self._fail(
                "UNEXPECTED_TOKEN",
                f"{token.keyword} belongs to a component, once, not to a group.",
                hint="write it behind the name of the component, or behind the whole pattern",
            )
        if self._at_quantifier():
            self._fail("DOUBLE_QUANTIFIER", "A part can have one quantifier only.")
        self._fail("UNEXPECTED_TOKEN", "This cannot stand here.", hint="parts are separated by commas")
