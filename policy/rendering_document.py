"""The committed document: one request and its plan, whole, as Markdown.

Everything that the plan or the agent can choose stands in fences. The manifest ends it as JSON, so
two different requests never have the same document.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable

from policy import canonical, plan_table, plan_values
from policy import manifest as manifests
from policy.inert_text import code, fence, visible_ascii, visible_lines
from policy.manifest import Manifest, Step
from policy.plan import OutputChange, Plan, ResourceChange

NO_PREVIEW = "NO PREVIEW"


def verdict(plan: Plan | None) -> str:
    """What happens, in a phrase: the plan's counts, or `NO PREVIEW`."""
    return plan.summary.verdict() if plan is not None else NO_PREVIEW


def write(manifest: Manifest, plan: Plan | None) -> str:
    """The whole document."""
    parts = [
        f"# {verdict(plan)}",
        (
            f"{code(manifest.tool)} on the target {code(manifest.target.name)}. "
            f"Digest {code(manifests.digest(manifest))}."
        ),
        (
            "Approving covers exactly what this file shows. ownergate wrote it from the request and its "
            "plan. Characters that would not show are written as their code points: `⟦U+202E⟧`."
        ),
        *(_plan(plan) if plan is not None else _no_preview()),
        "## What runs",
        fence(execution_lines(manifest), info="text"),
        "## The agent's own words, unverified",
        fence(visible_lines(manifest.reason), info="text"),
        "## The request",
        "The same as in the `.json` file beside this one, whose digest is approved.",
        fence(_manifest_lines(manifest), info="json"),
    ]
    return "\n\n".join(parts) + "\n"


def execution_lines(manifest: Manifest) -> list[str]:
    """Image, limits and every step: exact arguments, folder, whole environment, network, credential."""
    execution = manifest.execution
    lines = [
        f"image        {visible_ascii(execution.image)}",
        f"             sha256 {execution.image_sha256}",
        f"time limit   {execution.timeout_seconds} s, then {execution.grace_seconds} s to stop",
    ]
    for number, step in enumerate(execution.steps, start=1):
        lines += ["", f"step {number} of {len(execution.steps)}", *_step_lines(step)]
    return lines


def _step_lines(step: Step) -> list[str]:
    variables = [
        f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in sorted(step.environment.items())
    ]
    return [
        f"  run          {visible_ascii(shlex.join(step.argv))}",
        f"  in           {visible_ascii(step.cwd)}",
        f"  environment  {visible_ascii(variables[0]) if variables else '(empty)'}",
        *(f"               {visible_ascii(variable)}" for variable in variables[1:]),
        f"  network      {visible_ascii(step.network)}",
        f"  credential   {'yes' if step.lease else 'no'}",
    ]


def _no_preview() -> list[str]:
    return [
        (
            f"**{NO_PREVIEW}.** This tool can't say beforehand what it will change. "
            "Judge the exact command, its folder, environment and image."
        ),
    ]


def _plan(plan: Plan) -> list[str]:
    parts = [
        f"Planned with {code(plan.kind)} {code(plan.engine_version)}"
        + (f" at {code(plan.planned_at)}." if plan.planned_at else ".")
        + _hidden(plan),
    ]
    if plan.resources:
        parts += ["## Changes", "\n".join(plan_table.table(plan.resources))]
        parts += [_resource(resource) for resource in plan.resources]
    if plan.outputs:
        parts += ["## Outputs", fence(_output_lines(plan.outputs), info="text")]
    if plan.drift:
        parts += [
            "## Changed outside",
            (
                "These were found different from what the last apply left. This request does not change them "
                "unless they stand above."
            ),
            *(_resource(resource) for resource in plan.drift),
        ]
    if plan.checks:
        parts += ["## Checks that did not pass", fence(_check_lines(plan), info="text")]
    if plan.variables:
        parts += ["## Inputs", fence(_input_lines(plan), info="text")]
    return parts


def _hidden(plan: Plan) -> str:
    if not plan.masked:
        return " No value is hidden."
    values = "1 value is" if plan.masked == 1 else f"{plan.masked} values are"
    return f" {values} sensitive and hidden; what they do can't be judged from here."


def _resource(resource: ResourceChange) -> str:
    head = f"{resource.action.value} {visible_ascii(resource.address)}"
    facts = [
        ("type", resource.type),
        ("provider", resource.provider),
        ("reason", resource.reason),
        ("moved from", resource.previous_address),
        ("left-over object", resource.deposed),
        ("imported id", None if resource.imported is None else plan_values.write(resource.imported)),
    ]
    lines = [head, *(f"  {name}: {visible_ascii(value)}" for name, value in facts if value is not None)]
    if resource.create_before_destroy:
        lines.append("  the new one is made before the old one is destroyed")
    for change in resource.attributes:
        lines += plan_values.change_lines(change)
    return fence(lines, info="text")


def _output_lines(outputs: Iterable[OutputChange]) -> list[str]:
    lines: list[str] = []
    for output in outputs:
        lines.append(f"{output.action.value} {visible_ascii(output.name)}")
        for change in output.attributes:
            lines += plan_values.change_lines(change)
    return lines


def _check_lines(plan: Plan) -> list[str]:
    lines: list[str] = []
    for check in plan.checks:
        lines.append(f"{visible_ascii(check.status)} {visible_ascii(check.address)}")
        lines += [f"  {plan_values.write(problem)}" for problem in check.problems]
    return lines


def _input_lines(plan: Plan) -> list[str]:
    return [
        f"{visible_ascii(path)} = {plan_values.write(value)}"
        for variable in plan.variables
        for path, value in variable.leaves
    ]


def _manifest_lines(manifest: Manifest) -> list[str]:
    value = canonical.parse(manifests.encode(manifest), what="the manifest")
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=True).split("\n")
