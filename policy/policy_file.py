"""Loads `policy.yaml`: all of its tools, or all of its mistakes."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from policy import canonical, policy_document, policy_rules, policy_shape, policy_yaml, tool_build, tool_rules
from policy.policy_document import Document, nearest
from policy.policy_errors import Mistake, PolicyError, PolicyErrors
from policy.policy_schema import SCHEMA
from policy.tools import Policy, Target, Tool

__all__ = ["SCHEMA", "PolicyError", "PolicyErrors", "load"]


def load(text: str | bytes, *, name: str = "policy.yaml") -> Policy:
    """Loads one policy file.

    Args:
        text: the file's content, UTF-8 when bytes.
        name: how to name the file in errors.

    Raises:
        PolicyErrors: with every mistake that can be seen; nothing of such a file is used. A tool or
            target whose shape is wrong is left out of the checks that need its content.
    """
    root = policy_yaml.read(text, name=name)
    document = Document(name=name, root=root, content=policy_yaml.plain(root))
    errors = policy_shape.mistakes(document)
    loader = _Loader(document, errors)
    tools = loader.tools()
    if loader.errors:
        raise PolicyErrors(loader.errors)
    return Policy(
        tools=MappingProxyType(tools),
        targets=MappingProxyType(loader.targets),
        sha256=canonical.sha256(document.content),
    )


class _Loader:
    """Builds what can be built and collects the mistakes."""

    def __init__(self, document: Document, errors: list[PolicyError]) -> None:
        self.document = document
        self.errors = list(errors)
        self.content: dict[str, Any] = document.content if isinstance(document.content, dict) else {}
        self._broken = [error.path for error in errors]
        self.targets = self._targets()

    def tools(self) -> dict[str, Tool]:
        """The tools, finished when no mistake was found."""
        built: dict[str, Tool] = {}
        if self._is_broken("defaults") or self._is_broken("version"):
            return built
        for name, content in self._section("tools").items():
            if self._is_broken("tools", name):
                continue
            self._check_plan_name(name, content)
            target = self._target_of(name, content)
            if target is None:
                continue
            tool = tool_build.tool(name, content, self.content.get("defaults", {}), target)
            for wrong in tool_rules.mistakes(tool, content):
                self._add(wrong._replace(where=("tools", name, *wrong.where)))
            built[name] = tool
        for wrong in (*policy_rules.plans(built), *policy_rules.roles(built)):
            self._add(wrong)
        if self.errors:
            return built
        return {
            name: tool_build.resolve(tool, None if tool.plan is None else built[tool.plan])
            for name, tool in built.items()
        }

    def _targets(self) -> dict[str, Target]:
        found = {
            name: tool_build.target(name, content)
            for name, content in self._section("targets").items()
            if not self._is_broken("targets", name)
        }
        for wrong in policy_rules.targets(found):
            self._add(wrong)
        return found

    def _section(self, key: str) -> dict[str, Any]:
        section = self.content.get(key)
        return section if isinstance(section, dict) else {}

    def _target_of(self, name: str, content: dict[str, Any]) -> Target | None:
        wanted = content["target"]
        known = self._section("targets")
        if known and wanted not in known:
            what = f"the target {wanted} is unknown"
            self._add(Mistake(("tools", name, "target"), what, ", ".join(known), nearest(wanted, known)))
        return self.targets.get(wanted)

    def _check_plan_name(self, name: str, content: dict[str, Any]) -> None:
        wanted = content.get("plan")
        known = self._section("tools")
        if wanted is not None and wanted not in known:
            what = f"the tool {wanted} is unknown"
            near = nearest(wanted, known)
            self._add(Mistake(("tools", name, "plan"), what, "a planning tool of this file", near))

    def _is_broken(self, *path: str) -> bool:
        """Whether a mistake of shape lies at or below a path, so that it can't be built."""
        shown = policy_document.show(path)
        return any(at == shown or at.startswith((f"{shown}.", f"{shown}[")) for at in self._broken)

    def _add(self, wrong: Mistake) -> None:
        at_key = len(wrong.where) <= 2
        self.errors.append(
            self.document.error(wrong.where, wrong.what, wrong.allowed, nearest=wrong.nearest, key=at_key)
        )
