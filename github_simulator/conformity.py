"""Everything that goes in or out is checked against GitHub's OpenAPI description.

The description is OpenAPI 3.0; ``nullable`` is the one thing in it that JSON Schema does not know. Format
checks are off because GitHub itself sends an empty string where the description says ``uri``.
"""

import functools
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jsonschema_rs

DESCRIPTION = Path(__file__).parent / "description" / "github.json"
URI = "https://api.github.com/description"
LONGEST_LIST = 5
UNDOCUMENTED = frozenset({401, 403, 404, 422, 429})
"""Statuses that GitHub answers although most operations do not list them; also every 5xx."""

ERROR_SCHEMA = {
    "anyOf": [
        {"$ref": f"{URI}#/components/schemas/{name}"}
        for name in ("basic-error", "validation-error", "validation-error-simple")
    ]
}


def _as_json_schema(node: Any) -> Any:
    """Turn ``nullable`` into the JSON Schema that means the same."""
    if isinstance(node, list):
        return [_as_json_schema(value) for value in node]
    if not isinstance(node, dict):
        return node
    found = {key: _as_json_schema(value) for key, value in node.items()}
    if found.get("nullable") is not True:
        return found
    del found["nullable"]
    combined = any(key in found for key in ("allOf", "anyOf", "oneOf", "$ref"))
    if isinstance(found.get("type"), str) and not combined:
        found["type"] = [found["type"], "null"]
        if "enum" in found and None not in found["enum"]:
            found["enum"] = [*found["enum"], None]
        return found
    return {"anyOf": [found, {"type": "null"}]}


def _where_reality_differs(document: dict[str, Any]) -> None:
    """Loosen the description where GitHub's real answers are known not to fit it."""
    schemas = document["components"]["schemas"]
    # The repository of a head is null once a fork is deleted; a label without description has null.
    for name in ("pull-request", "pull-request-simple"):
        head = schemas[name]["properties"]["head"]["properties"]
        head["repo"] = {"allOf": [head["repo"]], "nullable": True}
    label = schemas["pull-request-simple"]["properties"]["labels"]["items"]["properties"]
    label["description"]["nullable"] = True
    # The list of installations demands that an account be a user and an enterprise at once.
    listed = document["paths"]["/app/installations"]["get"]["responses"]["200"]["content"]
    listed["application/json"]["schema"]["items"] = {"$ref": "#/components/schemas/installation"}
    # Labels may be sent as a bare list too; clients do, and GitHub documents it in prose only.
    labels = document["paths"]["/repos/{owner}/{repo}/issues/{issue_number}/labels"]["post"]
    choices = labels["requestBody"]["content"]["application/json"]["schema"]["oneOf"]
    choices.append(choices[0]["properties"]["labels"])


class Conformity:
    """The checks. Each returns what is wrong, in words; nothing when all is well."""

    def __init__(self) -> None:
        document = json.loads(DESCRIPTION.read_text(encoding="utf-8"))
        _where_reality_differs(document)
        self.operations: dict[tuple[str, str], dict[str, Any]] = {
            (method.upper(), path): operation
            for path, item in document["paths"].items()
            for method, operation in item.items()
        }
        self.webhooks = frozenset(document["x-webhooks"])
        self._document = document
        self._registry = jsonschema_rs.Registry(
            [(URI, _as_json_schema(document))], draft=jsonschema_rs.Draft202012
        )
        self._validators: dict[str, Any] = {}
        self._error = self._compiled(ERROR_SCHEMA)

    def request(self, method: str, path: str, query: dict[str, str], body: Any) -> list[str]:
        """What is wrong with a request's query and JSON body. ``path`` is the description's template."""
        operation = self.operations[method, path]
        problems = self._query(operation, query)
        content = operation.get("requestBody", {}).get("content", {}).get("application/json")
        if content is None:
            if body not in (None, {}):
                problems.append("body: this operation takes none")
            return problems
        if body is None:
            if operation["requestBody"].get("required") and content["schema"].get("required"):
                problems.append("body: missing")
            return problems
        pointer = ("paths", path, method.lower(), "requestBody", "content", "application/json", "schema")
        return problems + self._problems(self._at(*pointer), body, "body")

    def response(self, method: str, path: str, status: int, body: Any) -> list[str]:
        """What is wrong with an answer's status and JSON body."""
        documented = self.operations[method, path]["responses"].get(str(status))
        if status >= 400:
            if documented is None and status not in UNDOCUMENTED and status < 500:
                return [f"status {status}: not documented for {method} {path}"]
            return self._problems(self._error, body, "error") if body is not None else []
        if documented is None:
            return [f"status {status}: not documented for {method} {path}"]
        if "$ref" in documented:
            name = documented["$ref"].rpartition("/")[2]
            pointer: tuple[str, ...] = ("components", "responses", name)
            documented = self._document["components"]["responses"][name]
        else:
            pointer = ("paths", path, method.lower(), "responses", str(status))
        if "application/json" not in documented.get("content", {}) or isinstance(body, bytes):
            return []
        return self._problems(self._at(*pointer, "content", "application/json", "schema"), body, "answer")

    def webhook(self, event: str, action: str | None, payload: Any) -> list[str]:
        """What is wrong with an event's payload."""
        name = f"{event}-{action}" if action else event
        name = name.replace("_", "-")
        if name not in self.webhooks:
            return [f"webhook {name}: not in the description"]
        pointer = ("x-webhooks", name, "post", "requestBody", "content", "application/json", "schema")
        return self._problems(self._at(*pointer), payload, f"webhook {name}")

    def _query(self, operation: dict[str, Any], query: dict[str, str]) -> list[str]:
        declared = {}
        for parameter in operation.get("parameters", []):
            if "$ref" in parameter:
                parameter = self._document["components"]["parameters"][parameter["$ref"].rpartition("/")[2]]  # noqa: PLW2901
            if parameter["in"] == "query":
                declared[parameter["name"]] = parameter.get("schema", {})
        problems = []
        for name, value in query.items():
            if name not in declared:
                problems.append(
                    f"query: {name} is not known here; known: {', '.join(sorted(declared)) or 'none'}"
                )
                continue
            schema = declared[name]
            kind, allowed = schema.get("type"), schema.get("enum")
            fits = re.fullmatch(r"-?\d+", value) if kind == "integer" else True
            fits = fits and (value in {"true", "false"} if kind == "boolean" else True)
            if not fits or (allowed and value not in {str(choice) for choice in allowed}):
                problems.append(f"query: {name}={value} is not {allowed or kind}")
        return problems

    def _at(self, *pointer: str) -> Any:
        parts = (quote(part.replace("~", "~0").replace("/", "~1"), safe="~") for part in pointer)
        reference = f"{URI}#/" + "/".join(parts)
        if reference not in self._validators:
            self._validators[reference] = self._compiled({"$ref": reference})
        return self._validators[reference]

    def _compiled(self, schema: dict[str, Any]) -> Any:
        return jsonschema_rs.Draft202012Validator(schema, registry=self._registry, validate_formats=False)

    @staticmethod
    def _problems(validator: Any, instance: Any, what: str) -> list[str]:
        if validator.is_valid(instance):
            return []
        found = []
        for error in validator.iter_errors(instance):
            where = "/".join(str(part) for part in error.instance_path)
            found.append(f"{what}: /{where}: {error.message[:200]}")
            if len(found) == LONGEST_LIST:
                break
        return found


@functools.cache
def conformity() -> Conformity:
    """The checks, loaded once for the process."""
    return Conformity()
