"""The types of a policy: targets and tools as `policy.yaml` declares them, with every default resolved.

`policy.policy_file.load` builds these and nothing else does outside tests. Durations are whole
seconds, sizes are bytes, CPU is thousandths of a core.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from policy.canonical import Json
from policy.refusal import Code, refuse
from policy.states import Tier


class Via(StrEnum):
    """The channel on GitHub in which people decide."""

    PULL_REQUEST = "pull_request"
    ISSUE = "issue"


class StateAccess(StrEnum):
    """What a tool may do with its target's Terraform state."""

    NONE = "none"
    READ = "read"
    WRITE = "write"


class Preview(StrEnum):
    """How the effect of a tool is computed before anyone is asked. No preview is `None`."""

    TERRAFORM = "terraform"


class Network(StrEnum):
    """What a step may reach. On one machine a sandbox has no network at all."""

    NONE = "none"


class Allowance(StrEnum):
    """What the text of one argument may hold although it is refused elsewhere."""

    LEADING_DASH = "leading_dash"
    NEWLINE = "newline"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one call may use.

    Attributes:
        cpu_millis: thousandths of a core.
        memory_bytes: memory of the whole sandbox.
        timeout_seconds: from the first step's start to SIGTERM, for all steps together.
        grace_seconds: from SIGTERM to the kill of the whole sandbox.
        output_bytes: output kept, all steps together; what was cut is named.
        work_bytes: size of the work folder, a tmpfs.
        processes: processes and threads at one time.
    """

    cpu_millis: int
    memory_bytes: int
    timeout_seconds: int
    grace_seconds: int
    output_bytes: int
    work_bytes: int
    processes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One program of a call.

    Attributes:
        argv: one template an element; see `policy.templates`. The first holds no placeholder.
        credential: whether the lease's files are there while this step runs.
        network: what the step may reach.
    """

    argv: tuple[str, ...]
    credential: bool
    network: Network


@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialRule:
    """The lease that a call gets.

    Attributes:
        role: role of the target's secrets engine; a destructive tool shares it with no other tool.
        ttl_seconds: life of the lease; never shorter than the timeout and its grace.
        parameters: what else is asked of the engine, templates; `namespace` is the only name.
    """

    role: str
    ttl_seconds: int
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RaiseRule:
    """More approvals when a condition holds: `when` is CEL over `plan`, `arguments` and `target`."""

    when: str
    required: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRule:
    """Who decides, where, and how many.

    Attributes:
        via: the channel.
        owned: template of the path whose owners decide, a folder when it ends in a slash.
        required: distinct owners at least, one or more.
        rules: conditions that raise `required`; the largest number counts.
        allow_self_approval: whether the person behind the agent may approve. Off unless declared.
    """

    via: Via
    owned: str
    required: int
    rules: tuple[RaiseRule, ...]
    allow_self_approval: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where tools act.

    Attributes:
        name: its name in the file.
        runner: the pool of runners that serves it.
        vault: mount of the secrets engine that its leases come from.
        cluster: uid of the Kubernetes cluster (of its `kube-system` namespace); None without one.
        state: name of the state backend, `folder` on one machine; None without state.
        base: branch whose tree is the source and whose CODEOWNERS decides, without `refs/heads/`.
        egress: what its sandboxes may reach; empty is nothing.
        providers: full addresses of the Terraform providers that may run; empty is none.
    """

    name: str
    runner: str
    vault: str
    cluster: str | None
    state: str | None
    base: str
    egress: tuple[str, ...]
    providers: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One named action, as the file declares it.

    Attributes:
        name: what agents call it by.
        title: a few words for people.
        description: what it does, for agents and people.
        tier: whether it may change anything.
        target: where it acts.
        arguments: JSON Schema 2020-12 of the arguments: one object, no additional properties.
        allowances: for each argument, what its text may hold beyond the rule.
        source: template of the folder in the repository that the call works on; None without one.
        state: what it may do with the target's state.
        plan: name of the tool that computes this tool's plan; None without one.
        plan_file: for a planning tool, the file in the work folder that is the plan.
        preview: for a planning tool and the tool that names it, how the plan is read; None is
            NO PREVIEW.
        image: name of the image that the steps run in.
        steps: the programs, in order; the first that fails ends the call.
        environment: fixed environment variables of every step.
        limits: what one call may use.
        credential: its lease; None for a tool that needs none.
        approval: who decides; None exactly for read tools.
        wait_seconds: how long people may take.
        plan_age_seconds: how old a plan may be when it is claimed.
        grant_seconds: from approval to claim.
        sha256: digest of all of the above, the target and the planning tool included.
    """

    name: str
    title: str
    description: str
    tier: Tier
    target: Target
    arguments: Mapping[str, Json]
    allowances: Mapping[str, frozenset[Allowance]]
    source: str | None
    state: StateAccess
    plan: str | None
    plan_file: str | None
    preview: Preview | None
    image: str
    steps: tuple[Step, ...]
    environment: Mapping[str, str]
    limits: Limits
    credential: CredentialRule | None
    approval: ApprovalRule | None
    wait_seconds: int
    plan_age_seconds: int
    grant_seconds: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """All tools and targets of one file.

    Attributes:
        tools: by name, in the order of the file.
        targets: by name, in the order of the file.
        sha256: digest of the file's content as canonical JSON: comments and layout don't count.
    """

    tools: Mapping[str, Tool]
    targets: Mapping[str, Target]
    sha256: str

    def tool(self, name: str) -> Tool:
        """The tool of that name.

        Raises:
            Refused: with code `tool_unknown`.
        """
        found = self.tools.get(name)
        if found is None:
            near = difflib.get_close_matches(name, self.tools, n=1)
            raise refuse(
                Code.TOOL_UNKNOWN,
                f"the tool {name[:80]!r}",
                rule="A tool exists only if policy.yaml declares it.",
                remedy=f"Did you mean {near[0]}?" if near else f"Declared tools: {', '.join(self.tools)}.",
            )
        return found

    def planning_tool(self, tool: Tool) -> Tool | None:
        """The tool that computes the plan of `tool`; None when it has no preview."""
        return None if tool.plan is None else self.tool(tool.plan)
