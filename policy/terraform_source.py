"""A first look at Terraform code: which local modules it needs, and what is bound to be refused later.

This is a help for people, who learn at once what a plan could never carry out. It is no boundary: that
is the sandbox, and the plan's own JSON, which Terraform writes (`policy.terraform_plan`). HCL is parsed,
never searched by regular expressions, and what can't be parsed is refused.

One rule here is a boundary, because Terraform runs what its plan doesn't list: the provisioner of a
`removed` block. It therefore doesn't trust the parser either (`_check_removed_provisioners`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NoReturn

from policy import paths
from policy.refusal import Code, refuse

LARGEST: Final = 512 * 1024
"""Bytes of Terraform code at most: python-hcl2 reads about 100 KiB in a second."""

_HCL: Final = (".tf", ".tofu")
_JSON: Final = (".tf.json", ".tofu.json")
# A literal without escapes, templates or heredocs, so that what is read here is what Terraform reads.
_LOCAL: Final = re.compile(r"\.{1,2}(?:/[A-Za-z0-9_.-]+)*/?")


def local_modules(path: str, files: Mapping[str, bytes]) -> frozenset[str]:
    """Repository paths of the local modules that a folder refers to.

    Modules whose files are at hand are followed, so a caller adds the files of what is returned and
    asks again until nothing new comes.

    Args:
        path: the folder with the root module.
        files: content by repository path.

    Raises:
        Refused: `terraform_source` for code that can't be parsed, a backend or cloud block, a
            provisioner, and a module that is not a plain local path inside the repository.
    """
    _check_size(files)
    _check_removed_provisioners(files)
    found: set[str] = set()
    waiting = [path]
    while waiting:
        folder = waiting.pop()
        for module in _modules(folder, files):
            if module not in found and module != path:
                found.add(module)
                waiting.append(module)
    return frozenset(found)


def _check_size(files: Mapping[str, bytes]) -> None:
    size = sum(len(content) for name, content in files.items() if name.endswith((*_HCL, *_JSON)))
    if size > LARGEST:
        _no(f"{size} bytes of Terraform code", f"At most {LARGEST} bytes are read.", "Split the module.")


def _modules(folder: str, files: Mapping[str, bytes]) -> Iterator[str]:
    for name in sorted(files):
        if name.rpartition("/")[0] != folder:
            continue
        if name.endswith(_JSON):
            body = _parse_json(name, files[name])
        elif name.endswith(_HCL):
            body = _parse_hcl(name, files[name])
        else:
            continue
        _check_blocks(name, body)
        for module, declared in _labelled(body.get("module"), 1):
            yield _resolve(name, folder, module, declared.get("source"))


def _check_blocks(name: str, body: Mapping[str, Any]) -> None:
    for settings in _bodies(body.get("terraform")):
        for block in ("backend", "cloud"):
            if block in settings:
                _no(
                    f"{name} has a {block} block",
                    "The policy names the state backend; a module can't choose one.",
                    f"Take the {block} block out.",
                )
    for resource, declared in _labelled(body.get("resource"), 2):
        if "provisioner" in declared:
            _no_provisioner(f"{name} has a provisioner in {resource}")
    for declared in _bodies(body.get("removed")):
        if "provisioner" in declared:
            _no_provisioner(f"{name} has a provisioner in a removed block")
    _check_ephemeral(name, body)


def _check_removed_provisioners(files: Mapping[str, bytes]) -> None:
    """Refuses HCL in which both words stand, wherever they stand.

    Terraform runs the provisioner of a `removed` block at apply and lists it in no plan, so a file that
    Terraform and our parser read differently would be enough to hide one. In HCL both words must be
    written out, which leaves no room for a difference; in JSON a standard decides how text is read.
    """
    code = [content for name, content in files.items() if name.endswith(_HCL)]
    if any(b"provisioner" in content for content in code) and any(b"removed" in content for content in code):
        _no_provisioner("the words removed and provisioner both stand in the module's code")


def _no_provisioner(what: str) -> NoReturn:
    _no(
        what,
        "A provisioner runs at apply and isn't part of any plan, so nobody could approve it.",
        "Take the provisioner out, and the word where it stands in comments beside a removed block.",
    )


def _check_ephemeral(name: str, body: Mapping[str, Any]) -> None:
    declared = [*_labelled(body.get("variable"), 1), *_labelled(body.get("output"), 1)]
    found = [label for label, inside in declared if "ephemeral" in inside]
    found += [label for label, _ in _labelled(body.get("ephemeral"), 2)]
    if found:
        _no(
            f"{name} has the ephemeral value {found[0]}",
            "Terraform's plan doesn't mark ephemeral values, so they could be shown unmasked.",
            "Use a sensitive value instead.",
        )


def _resolve(name: str, folder: str, module: str, source: object) -> str:
    text = _literal(source)
    if text is None or _LOCAL.fullmatch(text) is None:
        _no(
            f"{name}: the source of module {module} is no plain local path",
            "Modules come from this repository, so that their owners approve them.",
            'Copy the module into the repository and write its path, such as "../modules/network".',
        )
    resolved = _join(folder, text)
    if resolved is None or paths.problem(resolved) is not None or paths.is_record(resolved):
        _no(
            f"{name}: the source of module {module} leads out of the repository's folders",
            "Modules come from this repository.",
            "Write the path of a folder in this repository.",
        )
    return resolved


def _join(folder: str, text: str) -> str | None:
    """The repository path that a relative path means; None when it leaves the repository."""
    parts = folder.split("/")
    for part in text.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def _literal(source: object) -> str | None:
    """The text of a string literal, of HCL (with its quotes) or of JSON."""
    if not isinstance(source, str):
        return None
    return source[1:-1] if len(source) >= 2 and source[0] == source[-1] == '"' else source


def _labelled(value: object, depth: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Blocks with labels: the labels joined by dots, and the body. JSON may put a list at any level."""
    for body in _bodies(value):
        for label, inside in body.items():
            if label.startswith("__") or label == "//":
                continue
            name = label.strip('"')
            if depth == 1:
                yield from ((name, declared) for declared in _bodies(inside))
            else:
                yield from ((f"{name}.{rest}", declared) for rest, declared in _labelled(inside, depth - 1))


def _bodies(value: object) -> Iterator[Mapping[str, Any]]:
    match value:
        case dict():
            yield value
        case list():
            for item in value:
                yield from _bodies(item)
        case _:
            return


def _parse_hcl(name: str, content: bytes) -> Mapping[str, Any]:
    # python-hcl2 takes a fifth of a second to import and builds its grammar at the first use.
    import hcl2
    from lark.exceptions import LarkError

    try:
        parsed: Mapping[str, Any] = hcl2.loads(content.decode("utf-8"))
    except (LarkError, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        line = getattr(error, "line", None)
        _unreadable(name, f" (line {line})" if isinstance(line, int) and line > 0 else "")
    return parsed


def _parse_json(name: str, content: bytes) -> Mapping[str, Any]:
    try:
        parsed = json.loads(content.decode("utf-8"), object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        _unreadable(name, "")
    return parsed if isinstance(parsed, dict) else _unreadable(name, "")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a name stands twice")
    return result


def _unreadable(name: str, where: str) -> NoReturn:
    _no(
        f"{name} can't be read as Terraform code{where}",
        "What can't be read can't be approved.",
        "Correct the file; `terraform fmt` and `terraform validate` say what is wrong.",
    )


def _no(what: str, rule: str, remedy: str) -> NoReturn:
    raise refuse(Code.TERRAFORM_SOURCE, what, rule=rule, remedy=remedy)
