"""What a request would change, whatever kind of tool computed it.

A `Plan` holds only what people and rules need: which resources change, how, why, and attribute by
attribute from what to what. Values that the plan calls sensitive are already gone: `Masked` says
that there is one, never what it is. Readers of one format (`terraform_plan`) build these; the
rendering, `expect` and the conditions of the policy read nothing else.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TypeAlias

from policy.canonical import Json


class Action(StrEnum):
    """What happens to one resource or output, worst first: the order of this list is the table's."""

    DELETE = "delete"
    REPLACE = "replace"
    FORGET = "forget"
    UPDATE = "update"
    CREATE = "create"
    IMPORT = "import"
    MOVE = "move"
    READ = "read"
    NO_OP = "no_op"

    @property
    def severity(self) -> int:
        """The place in the order worst first; 0 is the worst."""
        return tuple(Action).index(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A number as the plan writes it, where canonical JSON has no exact form for it (`1e400`)."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Masked:
    """A sensitive value that was taken out.

    Attributes:
        ordinal: within one change, equal ordinals stand for equal values, so that "changed" can be
            told from "unchanged". Between changes it says nothing.
    """

    ordinal: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartlyMasked:
    """A text of which some stretches were sensitive: the rest, in order, with `Masked` between."""

    parts: tuple[str | Masked, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """A value that is known only after the change was made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Absent:
    """No value on this side: the attribute is new, or goes away."""


Value: TypeAlias = "Json | Number | Masked | PartlyMasked | Unknown | Absent"
"""One leaf: a scalar, an empty list or object, or one of the markers. Never a filled container."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeChange:
    """One attribute that differs.

    Attributes:
        path: from the resource to the leaf, as Terraform writes it: `tags["Name"]`, `disk[0].size`.
        forces_replacement: this difference is why the resource is destroyed and made anew.
        sensitive: the plan calls the attribute, before or after, sensitive.
    """

    path: str
    before: Value
    after: Value
    forces_replacement: bool
    sensitive: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceChange:
    """One resource that something happens to.

    Attributes:
        address: as Terraform names it, instance key included.
        previous_address: where it was before a move; None when it stays.
        deposed: the key of a left-over object of an unfinished replacement; None for the current one.
        reason: why the engine chose the action, in its own word (`replace_because_tainted`).
        imported: the id under which an existing object is taken over; None when it is not imported.
        attributes: in the order of their paths; empty where no attribute changes.
        create_before_destroy: for a replacement, that the new one exists before the old one goes.
    """

    address: str
    previous_address: str | None
    deposed: str | None
    type: str
    provider: str
    action: Action
    reason: str | None
    imported: Value | None
    attributes: tuple[AttributeChange, ...]
    create_before_destroy: bool

    @property
    def causes(self) -> tuple[str, ...]:
        """The paths that force the replacement, in order; empty for any other action."""
        return tuple(change.path for change in self.attributes if change.forces_replacement)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputChange:
    """One root output that differs; `attributes` hold its leaves, with paths that start at its name."""

    name: str
    action: Action
    attributes: tuple[AttributeChange, ...]
    sensitive: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """One input of the plan, leaf by leaf: (path from the variable's name, value)."""

    name: str
    leaves: tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """One check of the configuration that did not pass.

    Attributes:
        status: `fail`, `error` or `unknown`, the engine's word.
        problems: the messages of the configuration's author; may be empty.
    """

    address: str
    status: str
    problems: tuple[Value, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """How many of what. A resource that moves and is updated counts in both."""

    creates: int = 0
    updates: int = 0
    deletes: int = 0
    replaces: int = 0
    reads: int = 0
    moves: int = 0
    forgets: int = 0
    imports: int = 0
    outputs: int = 0
    drifted: int = 0

    @property
    def changes_anything(self) -> bool:
        """Whether carrying the plan out would change objects, state or outputs. Drift alone does not."""
        return any(count for name, count in asdict(self).items() if name != "drifted")

    def as_json(self) -> dict[str, Json]:
        """The counts by name, for the manifest and for the policy's conditions."""
        return dict(asdict(self))

    def verdict(self) -> str:
        """The counts as a phrase, worst first, what destroys in capitals: `REPLACES 1, updates 2`."""
        words = (
            ("DELETES", self.deletes),
            ("REPLACES", self.replaces),
            ("FORGETS", self.forgets),
            ("updates", self.updates),
            ("creates", self.creates),
            ("imports", self.imports),
            ("moves", self.moves),
            ("reads", self.reads),
        )
        phrases = [f"{word} {count}" for word, count in words if count]
        if self.outputs:
            phrases.append(f"changes {self.outputs} output{'' if self.outputs == 1 else 's'}")
        return ", ".join(phrases) or "changes nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One plan, read whole.

    Attributes:
        kind: which reader made it; `terraform`.
        resources: those that something happens to, worst first, then by address.
        drift: what was found changed outside since the state was written, worst first.
        outputs: root outputs that change, by name.
        variables: the inputs, by name.
        checks: the checks that did not pass, by address.
        engine_version: the version of the engine that planned.
        planned_at: the moment of planning as the plan states it, RFC 3339; empty when it says nothing.
        masked: how many values were taken out as sensitive.
    """

    kind: str
    summary: Summary
    resources: tuple[ResourceChange, ...]
    drift: tuple[ResourceChange, ...]
    outputs: tuple[OutputChange, ...]
    variables: tuple[Variable, ...]
    checks: tuple[CheckResult, ...]
    engine_version: str
    planned_at: str
    masked: int
