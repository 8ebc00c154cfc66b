"""Proof that sandboxes here isolate: by trying to get out, not by reading settings.

Each trial runs hostile code in a real sandbox and looks at what came of it from the outside. Where
"nothing arrived" is the good answer, the same thing is first done by the runner itself and must arrive
(a positive control), so that a broken trial can't look like a closed door.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from policy.refusal import Code, Refusal
from runner.sandbox import processes
from runner.sandbox.canary import listening
from runner.sandbox.interface import (
    Ended,
    Limits,
    NotIsolated,
    Proof,
    SandboxCall,
    SandboxOutcome,
    StepCall,
    Trial,
)
from runner.sandbox.runsc_program import RunscProgram
from runner.secret_bytes import SecretBytes

_MIB = 1024 * 1024
_LIMITS = Limits(
    cpu_millis=1000,
    memory_bytes=256 * _MIB,
    timeout_seconds=20,
    grace_seconds=1,
    output_bytes=64 * 1024,
    work_bytes=8 * _MIB,
    processes=16,
)


class Home(Protocol):
    """What is tried: the one-machine home."""

    runsc: RunscProgram
    rootless: bool

    def run(
        self, call: SandboxCall, *, started: Callable[[str], None], cancelled: threading.Event
    ) -> SandboxOutcome: ...

    def enforcement(self) -> Mapping[str, str]: ...


def prove(home: Home, image: str) -> Proof:
    """Runs all trials.

    Raises:
        NotIsolated: naming each trial that does not hold.
        Refused: when the image can't be used.
    """
    version = home.runsc.version()
    with ThreadPoolExecutor(max_workers=2) as pool:
        running = [
            pool.submit(trial, home, image)
            for trial in (_deadline, _inside, _outside, _network, _processes, _memory, _work)
        ]
        trials = tuple(trial for result in running for trial in result.result())
    failed = [trial for trial in trials if not trial.holds]
    if failed:
        raise NotIsolated(
            Refusal(
                code=Code.SANDBOX_NOT_ISOLATED,
                what="; ".join(f"{trial.name}: {trial.seen}" for trial in failed),
                rule="The runner takes work only when hostile code was seen to stay inside.",
                remedy="Use gVisor's runsc as packaged, on a host that lets it start, then run it again.",
            )
        )
    return Proof(
        home="runsc (rootless)" if home.rootless else "runsc",
        kernel=next(trial.seen for trial in trials if trial.name == "kernel"),
        version=version,
        trials=trials,
        enforcement=home.enforcement(),
        proved_at=datetime.now(UTC),
    )


def _try(
    home: Home,
    image: str,
    *scripts: str,
    limits: Limits = _LIMITS,
    credential: tuple[bool, ...] = (),
    started: Callable[[str, str], None] | None = None,
) -> SandboxOutcome:
    """Runs shell scripts as the steps of one call; `credential` says which of them get one."""
    call_id = f"proof-{uuid.uuid4().hex}"
    steps = tuple(
        StepCall(
            argv=("bash", "-c", script),
            cwd="/work",
            environment={},
            credential=number < len(credential) and credential[number],
        )
        for number, script in enumerate(scripts)
    )
    call = SandboxCall(
        id=call_id,
        image=image,
        steps=steps,
        limits=limits,
        files={},
        take_out=(),
        state=None,
        credential={"probe": SecretBytes(b"a probe, not a secret")} if credential else None,
    )
    report = (lambda kernel: started(call_id, kernel)) if started else (lambda kernel: None)
    return home.run(call, started=report, cancelled=threading.Event())


def _text(outcome: SandboxOutcome) -> str:
    return "".join(step.output.decode("utf-8", errors="replace") for step in outcome.steps)


def _inside(home: Home, image: str) -> Iterator[Trial]:
    """What hostile code finds inside: a read-only root, no capability, a credential only when asked."""
    outcome = _try(
        home,
        image,
        "(: >/probe) 2>/dev/null && echo root-writable\n"
        "(: >/usr/bin/probe) 2>/dev/null && echo image-writable\n"
        "while read -r name value; do [ $name = CapEff: ] && echo capabilities $value; done"
        " </proc/self/status\n"
        "[ -e /run/credential/probe ] && echo credential-unasked\n"
        "echo over >/work/over && echo work-writable",
        "[ -r /run/credential/probe ] && echo credential-readable\n"
        "(echo x >/run/credential/probe) 2>/dev/null && echo credential-writable\n"
        "(: >/run/credential/other) 2>/dev/null && echo credential-writable\n"
        "[ -r /work/over ] && echo work-shared",
        credential=(False, True),
    )
    said = _text(outcome)
    ran = outcome.ended is Ended.EXITED and "work-shared" in said
    writable = [word for word in ("root-writable", "image-writable", "credential-writable") if word in said]
    yield Trial(
        name="read-only root and credential",
        seen=", ".join(writable) or ("refused" if ran else _failure(outcome)),
        holds=ran and not writable,
    )
    yield Trial(
        name="no capabilities",
        seen=next((line for line in said.splitlines() if line.startswith("capabilities")), _failure(outcome)),
        holds=ran and "capabilities 0000000000000000" in said,
    )
    yield Trial(
        name="credential only where asked",
        seen="seen unasked" if "credential-unasked" in said else _failure(outcome) or "kept apart",
        holds=ran and "credential-unasked" not in said and "credential-readable" in said,
    )


def _outside(home: Home, image: str) -> Iterator[Trial]:
    """What the host sees of a sandbox while it runs: its process is the `runsc` that was named."""
    seen: dict[str, str] = {"kernel": "", "process": "runsc names no running sandbox"}

    def look(call_id: str, kernel: str) -> None:
        seen["kernel"] = kernel
        for container in home.runsc.containers():
            if container.id.startswith(f"{call_id}.") and processes.identify(container.pid):
                program = Path(f"/proc/{container.pid}/exe")
                same = program.exists() and program.samefile(home.runsc.path)
                seen["process"] = "runsc" if same else "another program"

    outcome = _try(home, image, ":", started=look)
    host = Path("/proc/version").read_text(encoding="utf-8").strip()
    kernel = seen["kernel"]
    yield Trial(name="kernel", seen=kernel or _failure(outcome), holds=bool(kernel) and kernel != host)
    yield Trial(name="sandbox process", seen=seen["process"], holds=seen["process"] == "runsc")


def _network(home: Home, image: str) -> Iterator[Trial]:
    """Nothing gets out: not to this host, not to its own address, not to the metadata address."""
    with listening() as canary:
        addresses = {"127.0.0.1", canary.own_address}
        for address in addresses:
            canary.reach(address)
        controlled = canary.settled(len(addresses))
        lines = [
            f"(exec 3<>/dev/tcp/{address}/{canary.port}) 2>/dev/null && echo reached-{address}"
            for address in addresses
        ]
        lines += [f"(echo x >/dev/udp/{address}/{canary.port}) 2>/dev/null" for address in addresses]
        lines += ["(exec 3<>/dev/tcp/169.254.169.254/80) 2>/dev/null && echo reached-metadata"]
        lines += [f"(exec 3<>/dev/tcp/::1/{canary.port}) 2>/dev/null && echo reached-v6", "echo tried"]
        outcome = _try(home, image, "\n".join(lines))
        arrived = canary.settled(len(addresses)) - controlled
    said = _text(outcome)
    reached = [line for line in said.splitlines() if line.startswith("reached-")]
    yield Trial(
        name="no network",
        seen=", ".join(reached)
        or ("" if controlled == len(addresses) else "the canary itself could not be reached")
        or (f"{arrived} arrived" if arrived else "")
        or _failure(outcome)
        or "nothing arrived; the runner's own tries did",
        holds="tried" in said and not reached and arrived == 0 and controlled == len(addresses),
    )


def _processes(home: Home, image: str) -> Iterator[Trial]:
    """A flood of processes stops at the limit."""
    outcome = _try(home, image, "exec sh -c 'while :; do sleep 9 & echo more; done'")
    made = _text(outcome).count("more\n")
    yield Trial(
        name="limit of processes",
        seen=_failure(outcome) or f"{made} processes, then refused",
        holds=outcome.ended is Ended.EXITED and 0 < made < _LIMITS.processes,
    )


def _memory(home: Home, image: str) -> Iterator[Trial]:
    """A program that takes memory without end is ended."""
    limits = _with(memory_bytes=96 * _MIB, work_bytes=1024 * _MIB)
    outcome = _try(home, image, "head -c 900000000 /dev/zero >/tmp/hog; echo survived", limits=limits)
    ended = outcome.ended is Ended.SANDBOX_FAILED and "memory" in outcome.reason
    yield Trial(
        name="limit of memory",
        seen=outcome.reason or _text(outcome).strip() or "it ended by itself",
        holds=ended and "survived" not in _text(outcome),
    )


def _work(home: Home, image: str) -> Iterator[Trial]:
    """The work folder can't be filled beyond its size."""
    outcome = _try(home, image, f"head -c {64 * _MIB} /dev/zero >/work/hog && sleep 2 && echo survived")
    said = _text(outcome)
    yield Trial(
        name="limit of the work folder",
        seen="it was filled" if "survived" in said else outcome.reason or said.strip().rpartition(": ")[2],
        holds=bool(outcome.steps) and "survived" not in said and bool(said or outcome.reason),
    )


def _deadline(home: Home, image: str) -> Iterator[Trial]:
    """A program that ignores SIGTERM is gone after its time and grace."""
    began = time.monotonic()
    script = "trap '' TERM; echo up; while :; do sleep 1; done"
    outcome = _try(home, image, script, limits=_with(timeout_seconds=1))
    seconds = time.monotonic() - began
    yield Trial(
        name="deadline",
        seen=_failure(outcome)
        if outcome.ended is Ended.SANDBOX_FAILED
        else f"killed after {seconds:.1f} seconds",
        holds=outcome.ended is Ended.DEADLINE and "up" in _text(outcome) and seconds < 10,
    )


def _with(**changed: int) -> Limits:
    values = {name: getattr(_LIMITS, name) for name in Limits.__dataclass_fields__}
    return Limits(**{**values, **changed})


def _failure(outcome: SandboxOutcome) -> str:
    return outcome.reason if outcome.ended is Ended.SANDBOX_FAILED else ""
