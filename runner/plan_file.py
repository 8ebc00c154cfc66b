"""What a saved Terraform plan says about itself, read from its bytes: its state backend, its configuration.

`terraform apply` takes the backend and the configuration from the plan file, not from the folder around
it, and `terraform show -json` does not show the backend. A program that ran during planning could have
put another plan file in place; so both are compared here, on the bytes whose digest people approve.

A plan file is a zip archive: `tfplan` is a protocol buffer message of which field 13 is the backend (its
type, its configuration, the workspace), `tfconfig/` holds a copy of the configuration. Source:
`planproto/planfile.proto` and `plans/planfile` in Terraform's repository. Whatever is not exactly as
expected is refused, so a Terraform that changes the format stops here and is looked at.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Collection, Iterator

from policy.refusal import Code, Refused, refuse
from runner import terraform_module

LARGEST_UNPACKED = 64 * 1024 * 1024
"""Bytes of all parts together."""

MOST_PARTS = 4096

_BROKEN = (
    *(zipfile.BadZipFile, zlib.error, struct.error),
    *(NotImplementedError, RuntimeError, EOFError, OSError, ValueError),
)
"""What Python's reader raises for an archive that is not one."""

_PLAN = "tfplan"
_CONFIGURATION = "tfconfig/"
_MODULE_LIST = "tfconfig/modules.json"
_BACKEND_FIELD = 13


def check(plan: bytes, *, configuration: Collection[bytes]) -> None:
    """Checks that a plan file acts on the policy's state and was made from the source at hand.

    Args:
        plan: the plan file.
        configuration: content of the files that the module's configuration may consist of: the
            source's and the runner's override.

    Raises:
        Refused: `plan_invalid`, when it can't be read; `backend_differs`; `source_differs`.
    """
    parts = _unpack(plan)
    if _PLAN not in parts:
        raise _unreadable("it has no plan in it")
    backends = [value for number, value in _fields(parts[_PLAN]) if number == _BACKEND_FIELD]
    if backends != [_expected_backend()]:
        raise refuse(
            Code.BACKEND_DIFFERS,
            "the state backend inside the saved plan",
            rule="A saved plan acts on the state that the policy names, and no other.",
            remedy="Take every backend, cloud and override block out of the module, and plan again.",
        )
    known = set(configuration)
    for name, content in parts.items():
        if name.startswith(_CONFIGURATION) and name != _MODULE_LIST and content not in known:
            raise refuse(
                Code.SOURCE_DIFFERS,
                f"the configuration inside the saved plan: {name} is no file of the source",
                rule="A plan is made from the source that is shown with it, and from nothing else.",
                remedy="Plan again; if it happens again, look at what runs while the module is planned.",
            )


def _unpack(plan: bytes) -> dict[str, bytes]:
    parts: dict[str, bytes] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(plan)) as archive:
            entries = archive.infolist()
            if len(entries) > MOST_PARTS or sum(entry.file_size for entry in entries) > LARGEST_UNPACKED:
                raise _unreadable("it is too large")
            for entry in entries:
                if entry.filename in parts:
                    raise _unreadable(f"{entry.filename} stands in it twice")
                if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise _unreadable(f"{entry.filename} is packed in an unknown way")
                # The size that an entry states is what is read of it at most.
                with archive.open(entry) as part:
                    parts[entry.filename] = part.read(entry.file_size)
    except _BROKEN:
        raise _unreadable("it is no archive that can be read") from None
    return parts


def _expected_backend() -> bytes:
    """The backend's message for the local backend at `STATE_PATH`, in the default workspace."""
    path = terraform_module.STATE_PATH.encode()
    configuration = b"\x82" + _packed(b"path") + _packed(path) + _packed(b"workspace_dir") + b"\xc0"
    return _field(1, b"local") + _field(2, _field(1, configuration)) + _field(3, b"default")


def _packed(text: bytes) -> bytes:
    """A short text in MessagePack (up to 31 bytes, or up to 255)."""
    return bytes([0xA0 | len(text)]) + text if len(text) < 32 else bytes([0xD9, len(text)]) + text


def _field(number: int, value: bytes) -> bytes:
    """A short length-delimited field of a protocol buffer message."""
    return bytes([number << 3 | 2, len(value)]) + value


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of a protocol buffer message: (number, bytes); numbers as values give no bytes."""
    offset = 0
    while offset < len(message):
        key, offset = _number(message, offset)
        match key & 7:
            case 0:
                _, offset = _number(message, offset)
                yield key >> 3, b""
            case 1:
                offset += 8
                yield key >> 3, b""
            case 2:
                length, offset = _number(message, offset)
                if offset + length > len(message):
                    raise _unreadable("its plan is cut")
                yield key >> 3, message[offset : offset + length]
                offset += length
            case 5:
                offset += 4
                yield key >> 3, b""
            case _:
                raise _unreadable("its plan has a field of an unknown kind")
    if offset != len(message):
        raise _unreadable("its plan is cut")


def _number(message: bytes, offset: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if offset >= len(message):
            break
        byte = message[offset]
        offset += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, offset
    raise _unreadable("its plan is cut")


def _unreadable(why: str) -> Refused:
    return refuse(
        Code.PLAN_INVALID,
        f"the saved plan: {why}",
        rule="A plan that can't be read whole can't be approved.",
        remedy="Plan again, with a Terraform version that this runner knows.",
    )
