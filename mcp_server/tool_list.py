"""The tools that an agent sees: the policy's, and four of ours to follow requests."""

from __future__ import annotations

from functools import cache
from typing import Any, cast

import mcp.types as wire
from pydantic import TypeAdapter

from mcp_server import call_arguments
from policy.agent_protocol import (
    LONGEST_WAIT_SECONDS,
    RequestList,
    RequestView,
    SandboxStatus,
    ToolList,
    ToolView,
)
from policy.canonical import Json
from policy.states import Tier

CHECK_REQUEST = "check_request"
CANCEL_REQUEST = "cancel_request"
LIST_REQUESTS = "list_requests"
SANDBOX_STATUS = "sandbox_status"

_REQUEST_ID: dict[str, Json] = {
    "type": "string",
    "pattern": "^og-[0-9a-z]{26}$",
    "description": "The request's id.",
}


def _schema(properties: dict[str, Json], required: list[Json]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


OWN_INPUTS: dict[str, dict[str, Any]] = {
    CHECK_REQUEST: _schema(
        {
            "request_id": _REQUEST_ID,
            "wait_seconds": {
                "type": "integer",
                "minimum": 0,
                "maximum": LONGEST_WAIT_SECONDS,
                "default": 25,
                "description": "How long to wait for a change of state, in seconds.",
            },
        },
        ["request_id"],
    ),
    CANCEL_REQUEST: _schema({"request_id": _REQUEST_ID}, ["request_id"]),
    LIST_REQUESTS: _schema({}, []),
    SANDBOX_STATUS: _schema({}, []),
}
"""Input schemas of our own tools, by name."""


@cache
def output_schema(kind: type[object]) -> dict[str, Any]:
    """The JSON Schema of what a tool answers, from the record itself."""
    return TypeAdapter(kind).json_schema(mode="serialization")


def own_tools() -> list[wire.Tool]:
    """The four tools that follow requests."""
    read_only = wire.ToolAnnotations(
        read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )
    return [
        wire.Tool(
            name=CHECK_REQUEST,
            title="Check a request",
            description=(
                "Says where a request stands and what to do next; waits up to wait_seconds for a change. "
                "It can't approve anything: people do that on GitHub."
            ),
            input_schema=OWN_INPUTS[CHECK_REQUEST],
            output_schema=output_schema(RequestView),
            annotations=read_only,
        ),
        wire.Tool(
            name=CANCEL_REQUEST,
            title="Cancel a request",
            description="Takes back one of your own requests that has not started yet.",
            input_schema=OWN_INPUTS[CANCEL_REQUEST],
            output_schema=output_schema(RequestView),
            annotations=wire.ToolAnnotations(
                read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
            ),
        ),
        wire.Tool(
            name=LIST_REQUESTS,
            title="List my requests",
            description="Lists your own requests, newest first.",
            input_schema=OWN_INPUTS[LIST_REQUESTS],
            output_schema=output_schema(RequestList),
            annotations=read_only,
        ),
        wire.Tool(
            name=SANDBOX_STATUS,
            title="Sandbox status",
            description="Says which runners are there and whether their isolation is proved.",
            input_schema=OWN_INPUTS[SANDBOX_STATUS],
            output_schema=output_schema(SandboxStatus),
            annotations=read_only,
        ),
    ]


def policy_tool(tool: ToolView) -> wire.Tool:
    """One tool of the policy as an agent sees it."""
    destructive = tool.tier is Tier.DESTRUCTIVE
    return wire.Tool(
        name=tool.name,
        title=tool.title,
        description=f"{tool.description.rstrip()} {_DESTRUCTIVE if destructive else _READ}",
        input_schema=input_schema(tool),
        output_schema=output_schema(RequestView),
        annotations=wire.ToolAnnotations(
            title=tool.title,
            read_only_hint=not destructive,
            destructive_hint=destructive,
            idempotent_hint=not destructive,
            open_world_hint=False,
        ),
    )


def input_schema(tool: ToolView) -> dict[str, Any]:
    """The closed schema of one tool's call."""
    own = cast("dict[str, Json]", dict(tool.arguments))
    if tool.tier is Tier.DESTRUCTIVE:
        return call_arguments.destructive_schema(own, with_source=tool.source)
    if tool.source:
        properties = cast("dict[str, Json]", own.get("properties", {}))
        extra = call_arguments.CALL_LEVEL[call_arguments.SOURCE]
        return {**own, "properties": {**properties, call_arguments.SOURCE: extra}}
    return own


def find(tools: ToolList, name: str) -> ToolView | None:
    """The policy's tool of that name."""
    return next((tool for tool in tools.tools if tool.name == name), None)


_READ = "Read-only: runs at once in a gVisor sandbox with a credential that dies before you see the output."
_DESTRUCTIVE = (
    "Changes real infrastructure: this only ASKS. It opens a pull request with the plan, and code owners "
    "decide on GitHub. It returns at once with state pending and a link for the user."
)
