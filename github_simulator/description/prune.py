"""Cut GitHub's OpenAPI description down to what the simulator answers and sends.

The whole description is published under the MIT licence as the npm package ``@octokit/openapi``::

    npm pack @octokit/openapi@23.0.2 && tar xzf octokit-openapi-23.0.2.tgz
    python github_simulator/description/prune.py package/generated/api.github.com.json

It keeps the operations of operations.txt, the webhooks of webhooks.txt and every schema that they
reach, and drops prose and examples, which no validation reads. The result is written to github.json.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PROSE = frozenset({"description", "summary", "externalDocs", "tags", "x-github", "x-octokit", "title"})
EXAMPLES = frozenset({"example", "examples"})


def listed(name: str) -> list[str]:
    """The lines of a list beside this file, without comments."""
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def references(node: Any) -> Iterator[str]:
    """Every ``$ref`` below a node."""
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def without_prose(node: Any, *, names: bool = False) -> Any:
    """Drop prose and examples; ``names`` says that the keys here are names of properties or schemas."""
    if isinstance(node, list):
        return [without_prose(value) for value in node]
    if not isinstance(node, dict):
        return node
    kept = {}
    for key, value in node.items():
        if not names and key in EXAMPLES:
            continue
        if not names and key in PROSE and not (key == "description" and node.get("content") is not None):
            continue
        kept[key] = without_prose(value, names=not names and key in {"properties", "schemas", "paths"})
    return kept


def pruned(whole: dict[str, Any]) -> dict[str, Any]:
    """The part of the description that the lists name, closed under references."""
    small: dict[str, Any] = {
        "openapi": whole["openapi"],
        "info": {
            "title": "GitHub REST API (pruned)",
            "version": whole["info"]["version"],
            "license": {"name": "MIT"},
        },
        "paths": {},
        "x-webhooks": {},
        "components": {},
    }
    for line in listed("operations.txt"):
        method, path = line.split()
        item = small["paths"].setdefault(path, {})
        item[method.lower()] = whole["paths"][path][method.lower()]
    for name in listed("webhooks.txt"):
        small["x-webhooks"][name] = whole["x-webhooks"][name]
    for named in ("basic-error", "validation-error", "validation-error-simple"):
        small["components"].setdefault("schemas", {})[named] = whole["components"]["schemas"][named]
    small = without_prose(small)
    waiting = list(references(small))
    seen: set[str] = set()
    while waiting:
        reference = waiting.pop()
        if reference in seen:
            continue
        seen.add(reference)
        _, _, kind, name = reference.split("/")
        if kind == "examples":
            continue
        target = without_prose(whole["components"][kind][name])
        small["components"].setdefault(kind, {})[name] = target
        waiting.extend(references(target))
    return small


def main() -> None:
    whole = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    small = json.dumps(pruned(whole), separators=(",", ":"), sort_keys=True) + "\n"
    (HERE / "github.json").write_text(small, encoding="utf-8")
    sys.stdout.write(f"github.json: {len(small):,} bytes\n")


if __name__ == "__main__":
    main()
