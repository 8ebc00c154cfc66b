"""The policy that the scenarios run under: this repository's own, and tools that behave badly on purpose."""

from __future__ import annotations

from pathlib import Path

from demo.stage_files import CLONE

_MODULE = """
    arguments: {module: {type: string, pattern: "^[a-z0-9-]+$", maxLength: 40}}
    source: terraform/{module}
"""
_INIT = "{argv: [terraform, init, -input=false, -lockfile=readonly, -no-color]}"
_PLAN = "{argv: [terraform, plan, -input=false, -lock=false, -no-color, -out=plan.bin], credential: true}"
_APPLY = "{argv: [terraform, apply, -input=false, -no-color, plan.bin], credential: true}"
_FLOOD = '{argv: [head, -c, "100000000", /dev/zero], credential: true}'
_SHORT = "{timeout: 2s, grace: 1s}"


def _read(name: str, *argv: str, sandbox: str = "{}") -> str:
    """A read tool of one step that sees its credential."""
    return f"""
  {name}:
    tier: read
    target: demo
    run:
      image: tools
      sandbox: {sandbox}
      steps: [{{argv: {list(argv)}, credential: true}}]
    credential: {{role: {name.replace("_", "-")}, ttl: 5m}}
"""


def _planned(name: str, *planning: str, sandbox: str = "{}", wait: str = "24h") -> str:
    """A planning tool with these steps, and the destructive tool that it plans for."""
    steps = "\n".join(f"        - {step}" for step in planning)
    return f"""
  {name}_plan:
    tier: read
    target: demo
{_MODULE}
    state: read
    plan_file: plan.bin
    preview: terraform
    run:
      image: tools
      sandbox: {sandbox}
      steps:
{steps}
    credential: {{role: {name}-plan, ttl: 5m}}
  {name}_apply:
    tier: destructive
    target: demo
{_MODULE}
    state: write
    plan: {name}_plan
    wait: {wait}
    run:
      image: tools
      steps:
        - {_INIT}
        - {_APPLY}
    credential: {{role: {name}-apply, ttl: 5m}}
    approval: {{via: pull_request, owned: "terraform/{{module}}/", required: 1}}
"""


def _unplanned(name: str, *steps: str, sandbox: str = "{}") -> str:
    """A destructive tool without a preview."""
    run = "\n".join(f"        - {step}" for step in steps)
    return f"""
  {name}:
    tier: destructive
    target: demo
{_MODULE}
    state: write
    run:
      image: tools
      sandbox: {sandbox}
      steps:
{run}
    credential: {{role: {name.replace("_", "-")}, ttl: 5m}}
    approval: {{via: pull_request, owned: "terraform/{{module}}/", required: 1}}
"""


_KEY = "/run/credential/key.pem"
_TOOLS = (
    _read("key_plain", "cat", _KEY),
    _read("key_base64", "base64", "-w0", _KEY),
    _read("key_hex", "od", "-An", "-v", "-tx1", _KEY),
    _read("flood", "head", "-c", "100000000", "/dev/zero"),
    _read("slow", "sleep", "60", sandbox=_SHORT),
    _read("patient", "sleep", "4"),
    _planned("flood", _INIT, _FLOOD, _PLAN),
    _planned("slow", _INIT, '{argv: [sleep, "60"], credential: true}', _PLAN, sandbox=_SHORT),
    _planned("hurried", _INIT, _PLAN, wait="15s"),
    _unplanned(
        "half_done",
        "{argv: [cp, main.tf, errored.tfstate], credential: true}",
        '{argv: [sleep, "60"], credential: true}',
        sandbox=_SHORT,
    ),
    _unplanned("lasting", '{argv: [sleep, "8"], credential: true}'),
)


def write(path: Path) -> Path:
    """Writes the policy file and returns its path."""
    path.write_text((CLONE / "policy" / "policy.yaml").read_text() + "".join(_TOOLS))
    return path
