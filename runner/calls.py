"""What a call runs, computed here from the policy and the arguments: the one place that decides it.

`execution` is what the manifest binds. The sandbox's call is built from that same value, so what was
compared with the approved manifest is what runs: argv, working folder, environment, image.

| in the sandbox | what it is |
|---|---|
| `/work/src/<path>` | the source, at its repository path; the steps start in the tool's own source folder |
| `/work` | where the steps start without a source |
| `/state/terraform.tfstate` | the state, for tools that use it |
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from policy import argv, canonical, manifest
from policy.canonical import Json
from policy.source import SourceArchive
from policy.tools import StateAccess, Tool
from runner import terraform_module
from runner.sandbox import interface
from runner.sandbox.interface import SandboxCall, StateMount, StepCall, TakeOut

_SOURCE = "src"


def module_folder(source: SourceArchive | None) -> str:
    """The folder that the steps start in, below the work folder; empty without a source."""
    return f"{_SOURCE}/{source.path}" if source else ""


def in_module(source: SourceArchive | None, name: str) -> str:
    """A file of that folder, below the work folder."""
    folder = module_folder(source)
    return f"{folder}/{name}" if folder else name


def uses_terraform(tool: Tool) -> bool:
    """Whether a tool's steps are Terraform's: they use a state, or make or carry out a plan of it."""
    return tool.state is not StateAccess.NONE or tool.preview is not None


def environment(tool: Tool) -> Mapping[str, str]:
    """The whole environment that the manifest binds, beside the image's own."""
    fixed = terraform_module.ENVIRONMENT if uses_terraform(tool) else {}
    return MappingProxyType({**tool.environment, **fixed})


def execution(
    tool: Tool, arguments: Mapping[str, Json], *, source: SourceArchive | None, image_sha256: str
) -> manifest.Execution:
    """What a call of a tool runs.

    Args:
        tool: the tool.
        arguments: its validated arguments.
        source: its source; None for a tool without one.
        image_sha256: the digest of the tool's image as it is now.

    Raises:
        Refused: `argv_invalid`.
    """
    cwd = "/".join(filter(None, (interface.WORK, module_folder(source))))
    steps = tuple(
        manifest.Step(
            argv=step.argv,
            cwd=cwd,
            environment=environment(tool),
            network=step.network.value,
            lease=step.credential,
        )
        for step in argv.render(tool, arguments)
    )
    return manifest.Execution(
        image=tool.image,
        image_sha256=image_sha256,
        steps=steps,
        timeout_seconds=tool.limits.timeout_seconds,
        grace_seconds=tool.limits.grace_seconds,
        providers_lock=_providers_lock(source),
    )


def work_files(tool: Tool, source: SourceArchive | None, extra: Mapping[str, bytes]) -> dict[str, bytes]:
    """The content of the work folder.

    Args:
        tool: the tool.
        source: its source.
        extra: further files of the module's folder, by name: the saved plan.

    Raises:
        Refused: `source_invalid`, when the source holds a name that is the runner's or Terraform's.
    """
    files: dict[str, bytes] = {}
    if source is not None:
        files |= {f"{_SOURCE}/{file.path}": file.content for file in source.files}
        inside = f"{source.path}/"
        terraform_module.check_names(
            [file.path.removeprefix(inside) for file in source.files if file.path.startswith(inside)]
        )
        if tool.state is not StateAccess.NONE:
            override = in_module(source, terraform_module.OVERRIDE_FILE)
            files[override] = terraform_module.override()
    return files | {in_module(source, name): content for name, content in extra.items()}


def sandbox_call(
    tool: Tool,
    call_id: str,
    what: manifest.Execution,
    *,
    files: Mapping[str, bytes],
    take_out: tuple[TakeOut, ...],
    state: StateMount | None,
) -> SandboxCall:
    """The call for the sandbox, still without a credential."""
    return SandboxCall(
        id=call_id,
        image=what.image,
        steps=tuple(
            StepCall(argv=step.argv, cwd=step.cwd, environment=step.environment, credential=step.lease)
            for step in what.steps
        ),
        limits=tool.limits,
        files=files,
        take_out=take_out,
        state=state,
        credential=None,
    )


def _providers_lock(source: SourceArchive | None) -> str | None:
    if source is None:
        return None
    path = f"{source.path}/{terraform_module.LOCK_FILE}"
    return next(
        (canonical.sha256_bytes(file.content) for file in source.files if file.path == path),
        None,
    )
