"""What each kind of state assertion needs: the one table that loader, lint and evaluator share.

An assertion with a field that its kind does not read, or without one that it needs, would hold
without looking at anything. Such an assertion is refused when it is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from arh.errors import Problem
from arh.harness.authoring.authoring import shown
from arh.records.control.scenario import Assertion

_ALWAYS: Final = frozenset({"kind", "collection", "where", "id"})
_MAY_BE_NULL: Final = frozenset({"expected", "before"})


@dataclass(frozen=True, slots=True)
class KindRule:
    """The fields of one kind: all of `required`, at least one of `some_of`, no others.

    `meaning` says when the assertion holds, over the rows of `collection` whose fields equal
    `where`. `needs_where` marks kinds that speak of one row. `check` looks at the values.
    """

    meaning: str
    required: tuple[str, ...] = ()
    some_of: tuple[str, ...] = ()
    needs_where: bool = False
    check: Callable[[Assertion], Iterator[Problem]] | None = None

    @property
    def fields(self) -> frozenset[str]:
        """Every field that this kind reads, those of all kinds left out."""
        return frozenset((*self.required, *self.some_of))


def assertion_problems(assertion: Assertion) -> Iterator[Problem]:
    """Yield what keeps an assertion from meaning something; the fields are relative to it."""
    rule = KINDS[assertion.kind]
    given = _given(assertion)
    for field in sorted(given - rule.fields):
        yield Problem(
            f"`{assertion.kind}` does not read this field",
            field=field,
            hint=f"it reads {', '.join(sorted(rule.fields)) or 'collection and where only'}",
        )
    missing = [field for field in rule.required if field not in given]
    for field in missing:
        yield Problem("", f"a value, which `{assertion.kind}` needs", field=field)
    if rule.some_of and not given & set(rule.some_of):
        yield Problem("", "a value, or one of " + ", ".join(rule.some_of), field=rule.some_of[0])
    if rule.needs_where and not assertion.where:
        yield Problem(
            "", f"fields that name the row, which `{assertion.kind}` needs", field="where"
        )
    if rule.check is not None and not missing:
        yield from rule.check(assertion)


def _given(assertion: Assertion) -> frozenset[str]:
    """Return the fields that the author wrote; null counts where it can be meant as a value."""
    return frozenset(
        field
        for field in assertion.model_fields_set - _ALWAYS
        if field in _MAY_BE_NULL or getattr(assertion, field) is not None
    )


def _whole_number(assertion: Assertion) -> Iterator[Problem]:
    expected = assertion.expected
    if type(expected) is not int or expected < 0:
        yield Problem(shown(expected), "a whole number from 0", field="expected")


def _members(assertion: Assertion) -> Iterator[Problem]:
    if not isinstance(assertion.expected, list):
        yield Problem(shown(assertion.expected), "a list of values", field="expected")
    elif not assertion.expected and assertion.kind == "set_contains":
        yield Problem("every set contains the empty one", field="expected", hint="name a value")


def _bounds(assertion: Assertion) -> Iterator[Problem]:
    low, high = assertion.minimum, assertion.maximum
    if low is not None and high is not None and low > high:
        yield Problem(str(high), f"at least the minimum, {low}", field="maximum")


def _sum(assertion: Assertion) -> Iterator[Problem]:
    if "expected" in assertion.model_fields_set:
        if type(assertion.expected) is not int:
            yield Problem(shown(assertion.expected), "a whole number", field="expected")
        if assertion.minimum is not None or assertion.maximum is not None:
            yield Problem("a total is either expected or bounded", field="expected")
    yield from _bounds(assertion)


def _moves(assertion: Assertion) -> Iterator[Problem]:
    if assertion.before == assertion.expected:
        yield Problem("a transition ends where it began", field="expected")


def _elsewhere(assertion: Assertion) -> Iterator[Problem]:
    same = (assertion.collection, assertion.field)
    if same == (assertion.other_collection, assertion.other_field):
        yield Problem("a field always matches itself", field="other_field")


KINDS: Final[Mapping[str, KindRule]] = MappingProxyType(
    {
        "count": KindRule("exactly `expected` rows", ("expected",), check=_whole_number),
        "present": KindRule("at least one row"),
        "absent": KindRule("no row"),
        "field_match": KindRule(
            "at least one row, and `field` equals `expected` in each", ("field", "expected")
        ),
        "range": KindRule(
            "at least one row, and `field` is a number within the bounds in each",
            ("field",),
            ("minimum", "maximum"),
            check=_bounds,
        ),
        "set_equals": KindRule(
            "the values of `field` are exactly those of `expected`",
            ("field", "expected"),
            check=_members,
        ),
        "set_contains": KindRule(
            "every value of `expected` is among those of `field`",
            ("field", "expected"),
            check=_members,
        ),
        "cross_match": KindRule(
            "at least one row, and each value of `field` is an `other_field` of `other_collection`",
            ("field", "other_collection", "other_field"),
            check=_elsewhere,
        ),
        "total": KindRule(
            "the sum of `field` is `expected` or within the bounds",
            ("field",),
            ("expected", "minimum", "maximum"),
            check=_sum,
        ),
        "transition": KindRule(
            "at least one row, and `field` went from `before` to `expected` in each",
            ("field", "before", "expected"),
            check=_moves,
        ),
        "revision": KindRule(
            "the row is at revision `expected`; 0 means that it is absent",
            ("expected",),
            needs_where=True,
            check=_whole_number,
        ),
        "tenant_isolated": KindRule("no row of another tenant changed"),
        "ever_committed": KindRule("a commit wrote such a row, even if it is gone since"),
        "never_committed": KindRule("no commit ever wrote such a row"),
    }
)
