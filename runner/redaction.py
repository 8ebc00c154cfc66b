"""Takes secrets out of output: the lease's own bytes in every usual coding, and known secret shapes.

A tool can always hide a secret from any search; what makes its output harmless is that the credential is
dead before anybody reads it. This is the second line: it keeps a dead key, a stray token or an honest
mistake out of the result, the pull request and the audit trail. Where output was cut, what may be half
a secret at the cut goes too.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from policy import secret_shapes
from runner.redaction_views import View, hexadecimal, percent_decoded, without_whitespace
from runner.sandbox.interface import StepOutcome
from runner.secret_bytes import SecretBytes

SHORTEST_SECRET = 8
"""Bytes; a shorter text would be found everywhere, and taking it out would say what it is."""

SHORTEST_LINE = 16
"""Characters of a line inside a PEM block that counts as a secret of its own."""

LEASE_MARK = "[ownergate took out the credential of this call]"
_PEM_LINE = re.compile(rb"[A-Za-z0-9+/]{16,}={0,2}")
_PEM_BLOCK = re.compile(
    r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----.*?"
    r"(?:-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----|\Z)",
    re.DOTALL,
)
_TOKEN = re.compile(r"[^\s\"'`,;<>()\[\]{}|\\]+")
_WINDOW = 16 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Redacted:
    """Output that may be shown.

    Attributes:
        text: what is left, with marks where something was taken out or cut.
        cut_bytes: bytes that the tool printed and nobody kept.
        found: names of what was taken out, each once; never any part of it.
    """

    text: str
    cut_bytes: int
    found: tuple[str, ...]


def redact(steps: Sequence[StepOutcome], secrets: Sequence[SecretBytes]) -> Redacted:
    """The output of a call's steps, one after the other.

    Args:
        steps: what was printed, with where it was cut.
        secrets: what must not be found in it, such as a lease's key.
    """
    output = b"".join(step.output for step in steps)
    cuts: list[tuple[int, int]] = []
    position = 0
    for step in steps:
        if step.cut_bytes:
            cuts.append((position + step.cut_at, step.cut_bytes))
        position += len(step.output)
    return redact_bytes(output, secrets, cuts=cuts)


def redact_bytes(
    output: bytes, secrets: Sequence[SecretBytes], *, cuts: Sequence[tuple[int, int]] = ()
) -> Redacted:
    """Takes secrets out of bytes.

    Args:
        output: the bytes; what is not UTF-8 is shown as replacement characters.
        secrets: what must not be found.
        cuts: where bytes are missing and how many, in order.
    """
    parts = [part for secret in secrets for part in _parts(secret.reveal())]
    covered = _merge([*_spans(output, parts), *_at_cuts(output, parts, [at for at, _ in cuts])])
    found = [LEASE_MARK] if covered else []
    # The marks of cuts and of secrets are put in from the end, so that positions stay right.
    pieces = [(start, end, LEASE_MARK) for start, end in covered]
    pieces += [(at, at, f"\n[ownergate cut {count:,} bytes here]\n") for at, count in cuts]
    text = _replace(output, pieces)
    text, shapes = _without_shapes(text)
    return Redacted(text=text, cut_bytes=sum(count for _, count in cuts), found=(*found, *shapes))


def _parts(secret: bytes) -> Iterator[bytes]:
    """The secret, and each body line of a PEM block in it: half a key is a secret too."""
    if len(secret.strip()) >= SHORTEST_SECRET:
        yield secret.strip()
    if b"-----BEGIN " in secret:
        for line in secret.splitlines():
            if _PEM_LINE.fullmatch(line.strip()):
                yield line.strip()
        body = b"".join(line.strip() for line in secret.splitlines() if _PEM_LINE.fullmatch(line.strip()))
        try:
            yield base64.b64decode(body, validate=True)
        except ValueError:
            return


def _codings(part: bytes) -> tuple[tuple[str, bytes], ...]:
    """How a part may stand in output: the view to look in, and the bytes to look for."""
    dense = without_whitespace(part).data
    found: list[tuple[str, bytes]] = [
        ("plain", part),
        ("dense", dense),
        ("percent", dense),
        # Where every byte is escaped, a backslash of the secret stands there decoded, as itself.
        ("percent", b"".join(part.split())),
        ("hex", part.hex().encode("ascii")),
    ]
    found += [
        ("dense", _base64_core(part, offset, altchars)) for offset in range(3) for altchars in (b"+/", b"-_")
    ]
    return tuple((view, needle) for view, needle in found if len(needle) >= SHORTEST_SECRET)


def _base64_core(part: bytes, offset: int, altchars: bytes) -> bytes:
    """The characters of base64 that depend on the part alone when it begins `offset` bytes into a group.

    RFC 4648 section 4: three bytes become four characters, so what stands before and after the part
    changes only the characters that share bits with it.
    """
    encoded = base64.b64encode(bytes(offset) + part, altchars)
    start = -(-offset * 8 // 6)
    end = (offset + len(part)) * 8 // 6
    return encoded[start:end]


def _spans(output: bytes, parts: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    if not parts:
        return
    views = _views(output)
    for part in parts:
        for view, needle in _codings(part):
            yield from views[view].find(needle)


def _views(output: bytes) -> dict[str, View]:
    plain = View(data=output, pieces=((0, 0, len(output)),))
    dense = without_whitespace(output)
    return {"plain": plain, "dense": dense, "percent": percent_decoded(output), "hex": hexadecimal(output)}


def _at_cuts(output: bytes, parts: Sequence[bytes], cuts: Sequence[int]) -> Iterator[tuple[int, int]]:
    """What may be the first half of a secret before a cut, or the second half after one."""
    if not parts:
        return
    for at in cuts:
        for view in _views(output[max(0, at - _WINDOW) : at]).items():
            yield from _half(view, parts, max(0, at - _WINDOW), first=True)
        for view in _views(output[at : at + _WINDOW]).items():
            yield from _half(view, parts, at, first=False)


def _half(
    named: tuple[str, View], parts: Sequence[bytes], shift: int, *, first: bool
) -> Iterator[tuple[int, int]]:
    name, view = named
    longest = 0
    for part in parts:
        for coding, needle in _codings(part):
            if coding == name:
                longest = max(
                    longest, view.overlap_at_end(needle) if first else view.overlap_at_start(needle)
                )
    if longest >= SHORTEST_SECRET:
        start, end = view.last(longest) if first else view.first(longest)
        yield shift + start, shift + end


def _merge(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        # Whitespace between two lines of the same secret is not worth a mark of its own.
        if merged and start <= merged[-1][1] + 2:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _replace(output: bytes, pieces: Sequence[tuple[int, int, str]]) -> str:
    text: list[str] = []
    position = 0
    for start, end, mark in sorted(pieces):
        if start > position:
            text.append(output[position:start].decode("utf-8", errors="replace"))
        text.append(mark)
        position = max(position, end)
    text.append(output[position:].decode("utf-8", errors="replace"))
    return "".join(text)


def _without_shapes(text: str) -> tuple[str, tuple[str, ...]]:
    """Takes out what looks like a secret: key blocks, then words, then whole lines if need be."""
    if secret_shapes.find(text) is None:
        return text, ()
    found: dict[str, None] = {}

    def block(_: re.Match[str]) -> str:
        found["a PEM private key"] = None
        return _mark("a PEM private key")

    def word(match: re.Match[str]) -> str:
        shape = secret_shapes.find(match[0])
        if shape is None:
            return match[0]
        found[shape] = None
        return _mark(shape)

    lines = _PEM_BLOCK.sub(block, text).split("\n")
    for number, line in enumerate(lines):
        if secret_shapes.find(line) is None:
            continue
        lines[number] = _TOKEN.sub(word, line)
        shape = secret_shapes.find(lines[number])
        if shape is not None:
            found[shape] = None
            lines[number] = _mark(shape)
    return "\n".join(lines), tuple(found)


def _mark(shape: str) -> str:
    return f"[ownergate took out what looks like {shape}]"
