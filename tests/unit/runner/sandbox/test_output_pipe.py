"""The output pipe: one order for both streams, and a mode of its own for each."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from runner.sandbox.output_pipe import OutputPipe


def test_both_streams_are_read_in_the_order_in_which_they_were_written() -> None:
    with OutputPipe() as pipe:
        script = "echo 1; echo 2 >&2; echo 3"
        done = subprocess.Popen(["/bin/sh", "-c", script], stdout=pipe.stdout, stderr=pipe.stderr)
    done.wait()
    text = b""
    while data := pipe.read():
        text += data
    pipe.close()
    assert text == b"1\n2\n3\n"


def test_making_one_stream_non_blocking_leaves_the_other_as_it_was() -> None:
    with OutputPipe() as pipe:
        os.set_blocking(pipe.stderr, False)
        assert os.get_blocking(pipe.stdout)
    assert pipe.read() == b""
    pipe.close()


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_nothing_stays_open_when_the_process_does_not_start() -> None:
    before = open_files()
    with pytest.raises(FileNotFoundError), OutputPipe() as pipe:
        subprocess.Popen(["/nothing"], stdout=pipe.stdout, stderr=pipe.stderr)
    assert open_files() == before
