"""The sandbox of a user without privileges: `runsc --rootless`, limits watched by the runner."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from runner.sandbox import runsc_program
from tests.sandboxes import build_images, scratch_folder

USER = 12345

# Everything is imported while still root, because the interpreter may stand where only root may look.
SCRIPT = f"""
import codecs, os, sys, threading
[codecs.lookup(name) for name in ("utf-16be", "idna", "ascii", "latin-1")]
from pathlib import Path
from tests.sandboxes import call, shell, run, text
from runner.sandbox.interface import TakeOut, StateMount
from runner.secret_bytes import SecretBytes
from runner.sandbox.runsc import RunscSandbox
images, scratch, runsc = map(Path, sys.argv[1:4])
os.setgroups([])
os.setgid({USER})
os.setuid({USER})
home = RunscSandbox(images=images, scratch=scratch, runsc=runsc)
proof = home.check()
print(proof.home)
print(proof.enforcement["cpu"])
state = scratch / ".state"
state.mkdir()
outcome = run(home, call(
    shell("cat /run/credential/key; echo saved >/state/s; echo out >out", credential=True),
    credential={{"key": SecretBytes(b"secret")}}, take_out=(TakeOut(path="out", max_bytes=9),),
    state=StateMount(folder=state, writable=True)))
print(text(outcome), outcome.taken_out, (state / "s").read_text().strip(), home.alive())
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_runs_sandboxes_without_privileges() -> None:
    runsc = runsc_program.find()
    with scratch_folder() as scratch, scratch_folder() as images:
        build_images(images)
        images.chmod(0o755)
        os.chown(scratch, USER, USER)
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, images, scratch, runsc],
            cwd=Path(__file__).parents[4],
            env={"PATH": os.environ["PATH"], "HOME": "/"},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    home, cpu, last = done.stdout.splitlines()
    assert home == "runsc (rootless)"
    assert cpu.startswith("not limited")
    assert last == "secret {'out': b'out\\n'} saved frozenset()"
