"""Masking: the part of a plan that people are shown, with every sensitive value taken out.

The masked form is what leaves the runner, is stored, hashed into the manifest and rendered. It
keeps what an approval is about (inputs, resource changes, drift, output changes, failed checks) and
leaves out what nobody is shown (the whole state, the planned values, the configuration): what does
not leave can't leak. Names are Terraform's own; hidden, unknown and very large values are markers
(`terraform_markers`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from policy import canonical, terraform_format, terraform_markers, terraform_secrets
from policy.canonical import Json
from policy.plan import Number
from policy.terraform_json import Tree, invalid, items, record, text
from policy.terraform_secrets import Secrets

MASKED_FORMAT = 1
"""The version of the masked form."""

_INSTANCE_KEY = re.compile(r'\["(?:[^"\\]|\\.)*"\]')
_HIDDEN_KEY = '["(sensitive)"]'


def mask(document: bytes) -> bytes:
    """The masked form of one plan, as canonical JSON.

    Args:
        document: what `terraform show -json` printed for the saved plan.

    Raises:
        Refused: when the plan has parts that are not known, is too large, or when hiding a value
            would make two resources look like one.
    """
    plan = terraform_format.read(document)
    secrets = terraform_secrets.collect(plan)
    masked: dict[str, Json] = {
        "kind": "terraform",
        "masked_format": MASKED_FORMAT,
        "format_version": text(plan["format_version"]),
        "terraform_version": text(plan["terraform_version"]),
        "timestamp": text(plan.get("timestamp", "")),
        "applyable": plan["applyable"] is True,
        "complete": plan["complete"] is True,
        "errored": plan["errored"] is True,
        "variables": _variables(plan, secrets),
        "resource_changes": _resources(items(plan.get("resource_changes")), secrets),
        "resource_drift": _resources(items(plan.get("resource_drift")), secrets),
        "output_changes": _outputs(record(plan.get("output_changes")), secrets),
        "checks": _checks(items(plan.get("checks")), secrets),
    }
    return canonical.encode(masked)


class _Scope:
    """Masks the trees of one change, so that equal ordinals at one path mean equal values."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._seen: dict[tuple[str | int, ...], list[bytes]] = {}

    def value(self, value: Tree, marks: Tree, unknown: Tree, path: tuple[str | int, ...]) -> Json:
        """Masks one tree and writes the unknown parts into it."""
        if unknown is True:
            return terraform_markers.unknown()
        if marks is True or terraform_secrets.contradicts(value, marks):
            if value is not None:
                return terraform_markers.sensitive(self._ordinal(path, value))
            marks = None
        if isinstance(unknown, dict) and _holds_unknown(unknown) and value is None:
            value = {}
        if isinstance(value, dict):
            return self._object(value, marks, unknown, path)
        if isinstance(value, list):
            return self._list(value, marks, unknown, path)
        if isinstance(value, str):
            return self.text(value, path)
        if isinstance(value, Number):
            return terraform_markers.number(value)
        return value

    def text(self, value: str, path: tuple[str | int, ...]) -> Json:
        """A text without its sensitive stretches."""
        stretches = self._secrets.find(value)
        if not stretches:
            return value
        if stretches == ((0, len(value)),):
            return terraform_markers.sensitive(self._ordinal(path, value))
        parts: list[str | int] = []
        at = 0
        for start, end in stretches:
            parts += [value[at:start], self._ordinal(path, value[start:end])]
            at = end
        parts.append(value[at:])
        return terraform_markers.partly_sensitive([part for part in parts if part != ""])

    def name(self, name: str, path: tuple[str | int, ...]) -> str:
        """A name of an object, hidden when a sensitive value stands in it."""
        if self._secrets.find(name):
            return terraform_markers.hidden_name(self._ordinal((*path, "$name"), name))
        return name

    def path(self, steps: list[Tree]) -> list[Json]:
        """A path, with the names in it hidden as `name` hides them."""
        masked: list[Json] = []
        at: tuple[str | int, ...] = ()
        for step in steps:
            if not isinstance(step, str | int) or isinstance(step, bool):
                raise invalid("a path in replace_paths has a step that is neither a name nor an index")
            masked.append(self.name(step, at) if isinstance(step, str) else step)
            at = (*at, step)
        return masked

    def _object(
        self, value: dict[str, Tree], marks: Tree, unknown: Tree, path: tuple[str | int, ...]
    ) -> Json:
        result: dict[str, Json] = {}
        unknowns = unknown if isinstance(unknown, dict) else {}
        names = [*value, *(name for name in unknowns if name not in value and _holds_unknown(unknowns[name]))]
        for name in names:
            inner_marks = marks.get(name) if isinstance(marks, dict) else None
            result[self.name(name, path)] = self.value(
                value.get(name), inner_marks, unknowns.get(name), (*path, name)
            )
        return result

    def _list(self, value: list[Tree], marks: Tree, unknown: Tree, path: tuple[str | int, ...]) -> Json:
        unknowns = unknown if isinstance(unknown, list) else []
        if len(unknowns) > len(value) and _holds_unknown(unknowns[len(value) :]):
            raise invalid("a list has unknown elements beyond its end")
        return [
            self.value(
                item,
                marks[index] if isinstance(marks, list) and marks else None,
                unknowns[index] if index < len(unknowns) else None,
                (*path, index),
            )
            for index, item in enumerate(value)
        ]

    def _ordinal(self, path: tuple[str | int, ...], value: Tree) -> int:
        form = _form(value)
        seen = self._seen.setdefault(path, [])
        if form not in seen:
            seen.append(form)
        return seen.index(form) + 1


def _form(value: Tree) -> bytes:
    """Bytes that are equal for equal values only."""
    if isinstance(value, dict):
        return b"{" + b",".join(_form(name) + b":" + _form(value[name]) for name in sorted(value)) + b"}"
    if isinstance(value, list):
        return b"[" + b",".join(_form(item) for item in value) + b"]"
    if isinstance(value, Number):
        return b"number " + value.text.encode()
    return ascii(value).encode()


def _holds_unknown(unknown: Tree) -> bool:
    if isinstance(unknown, dict):
        return any(_holds_unknown(item) for item in unknown.values())
    if isinstance(unknown, list):
        return any(_holds_unknown(item) for item in unknown)
    return unknown is True


def _change(change: dict[str, Tree], secrets: Secrets) -> dict[str, Json]:
    scope = _Scope(secrets)
    masked: dict[str, Json] = {
        "actions": [text(action) for action in items(change["actions"])],
        "before": scope.value(change.get("before"), change.get("before_sensitive"), None, ()),
        "after": scope.value(
            change.get("after"), change.get("after_sensitive"), change.get("after_unknown"), ()
        ),
        "replace_paths": [scope.path(items(path)) for path in items(change.get("replace_paths"))],
    }
    importing = change.get("importing")
    if isinstance(importing, dict):
        identifier = importing.get("id")
        masked["importing"] = (
            terraform_markers.unknown() if identifier is None else scope.text(text(identifier), ("$import",))
        )
    return masked


def _resources(changes: list[Tree], secrets: Secrets) -> list[Json]:
    masked: list[Json] = []
    for change in map(record, changes):
        inner = record(change["change"])
        stays = "previous_address" not in change and "importing" not in inner
        if stays and items(inner["actions"]) == ["no-op"]:
            continue
        entry: dict[str, Json] = {
            "address": _address(text(change["address"]), secrets),
            "mode": text(change["mode"]),
            "type": text(change["type"]),
            "provider_name": text(change["provider_name"]),
            "change": _change(inner, secrets),
        }
        for name in ("previous_address", "deposed", "action_reason"):
            if name in change:
                entry[name] = _address(text(change[name]), secrets)
        masked.append(entry)
    _check_distinct(map(record, changes), secrets)
    return masked


def _check_distinct(changes: Iterable[dict[str, Tree]], secrets: Secrets) -> None:
    """Refuses when hiding values in instance keys makes two resources look like one."""
    plain = {(text(change["address"]), change.get("deposed")) for change in changes}
    if len({(_address(address, secrets), deposed) for address, deposed in plain}) != len(plain):
        raise invalid(
            "sensitive values stand in the instance keys of resources, which then can't be told apart"
        )


def _address(address: str, secrets: Secrets) -> str:
    """An address with sensitive values hidden in its instance keys; the rest of it is source code."""
    return _INSTANCE_KEY.sub(
        lambda key: _HIDDEN_KEY if secrets.find(key[0]) or secrets.find(_unquoted(key[0])) else key[0],
        address,
    )


def _unquoted(key: str) -> str:
    return re.sub(r"\\(.)", r"\1", key)


def _outputs(changes: dict[str, Tree], secrets: Secrets) -> dict[str, Json]:
    return {
        name: _change(record(change), secrets)
        for name, change in changes.items()
        if items(record(change)["actions"]) != ["no-op"]
    }


def _variables(plan: dict[str, Tree], secrets: Secrets) -> dict[str, Json]:
    declared = record(record(record(plan["configuration"]).get("root_module")).get("variables"))
    return {
        name: _Scope(secrets).value(
            record(variable).get("value"), record(declared.get(name)).get("sensitive"), None, ()
        )
        for name, variable in record(plan.get("variables")).items()
    }


def _checks(checks: list[Tree], secrets: Secrets) -> list[Json]:
    """The checks that did not pass, one entry for each instance, or for the check when it has none."""
    masked: list[Json] = []
    for check in map(record, checks):
        for result in [record(item) for item in items(check.get("instances"))] or [check]:
            status = text(result["status"])
            if status == "pass":
                continue
            scope = _Scope(secrets)
            masked.append(
                {
                    "address": _address(text(record(result["address"])["to_display"]), secrets),
                    "status": status,
                    "problems": [
                        scope.text(text(record(problem).get("message", "")), ())
                        for problem in items(result.get("problems"))
                    ],
                }
            )
    return masked
