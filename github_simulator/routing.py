"""The table of operations: which function answers which method and path, and what it asks of the caller.

An operation is declared beside its function::

    @operation("POST /repos/{owner}/{repo}/pulls", app="pull_requests:write", level="pull")
    def create(call: Call) -> Reply: ...
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from github_simulator.calls import Call, Reply

Handler = Callable[[Call], Reply]
MANY_SEGMENTS = frozenset({"path", "ref", "basehead", "branch"})
"""Parameters whose value may hold slashes."""

Audience = Literal["anyone", "token", "app_jwt", "installation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation. ``app`` are permissions as in permissions.allowed; ``level`` is a right of a person."""

    method: str
    template: str
    handler: Handler
    app: str | None
    level: str
    refused: tuple[int, str] | None
    audience: Audience
    pattern: re.Pattern[str]
    of_repository: bool


OPERATIONS: list[Operation] = []


def operation(
    declared: str,
    *,
    app: str | None = "metadata:read",
    level: str = "pull",
    refused: tuple[int, str] | None = None,
    audience: Audience = "token",
) -> Callable[[Handler], Handler]:
    """Declare an operation.

    ``app`` are the permissions of which an App needs one, None when no App may call it; ``level`` is the
    right that a person needs, and ``refused`` the answer to those below it (404 unless given).
    """
    method, template = declared.split()

    def register(handler: Handler) -> Handler:
        OPERATIONS.append(
            Operation(
                method=method,
                template=template,
                handler=handler,
                app=app,
                level=level,
                refused=refused,
                audience=audience,
                pattern=_pattern(template),
                of_repository=template.startswith("/repos/"),
            )
        )
        return handler

    return register


def _pattern(template: str) -> re.Pattern[str]:
    built = re.sub(
        r"\{(\w+)\}",
        lambda match: f"(?P<{match[1]}>{'.+' if match[1] in MANY_SEGMENTS else '[^/]+'})",
        template,
    )
    # The root folder of a repository is asked for with an empty path.
    built = built.replace("/contents/(?P<path>.+)", "/contents/?(?P<path>.*)")
    return re.compile(built)


class Router:
    """Finds the operation of a call; the most literal template wins."""

    def __init__(self, operations: list[Operation]) -> None:
        self._operations = sorted(operations, key=_precedence)

    def find(self, method: str, path: str) -> tuple[Operation, dict[str, str]] | None:
        """The operation and its path parameters (still percent-decoded), or None."""
        for candidate in self._operations:
            if candidate.method == method and (match := candidate.pattern.fullmatch(path)):
                return candidate, {name: value or "" for name, value in match.groupdict().items()}
        return None


def _precedence(candidate: Operation) -> tuple[Any, ...]:
    segments = candidate.template.strip("/").split("/")
    literal = sum(not segment.startswith("{") for segment in segments)
    greedy = any(segment.strip("{}") in MANY_SEGMENTS for segment in segments)
    return (greedy and segments[-1].strip("{}") in MANY_SEGMENTS, -literal, -len(segments))
