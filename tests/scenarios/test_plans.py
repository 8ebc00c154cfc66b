"""Modules and plans that go wrong or mean harm: what the agent hears, and that no people are asked."""

from __future__ import annotations

import base64
import re
import urllib.parse
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from demo.agent import Answer
from tests.scenarios.product import Product, files

KEY = "/run/credential/key.pem"
LEAK = f"""
output "plain"  {{ value = file("{KEY}") }}
output "base64" {{ value = filebase64("{KEY}") }}
output "url"    {{ value = urlencode(file("{KEY}")) }}
output "nested" {{ value = jsonencode({{ a = [base64encode(jsonencode(file("{KEY}")))] }}) }}
resource "terraform_data" "thing" {{
  input = file("{KEY}")
}}
"""
_HEADER = b"PRIVATE KEY"
_CODED = [
    _HEADER,
    *(base64.b64encode(b"\0" * pad + _HEADER)[4:-4] for pad in range(3)),
    _HEADER.hex().encode(),
    _HEADER.replace(b" ", b"%20"),
    _HEADER.replace(b" ", b"+"),
]
"""What every private key holds, as it would stand in a text."""


def not_asked(ownergate: Product, answer: Answer) -> None:
    """No people were bothered."""
    assert answer.data.get("link") is None
    request_id = answer.data.get("id")
    if request_id is not None:
        pulls = ownergate.github("alice").get(ownergate.path("/pulls?state=all&per_page=100")).json()
        assert all(pull["head"]["ref"] != f"ownergate/{request_id}" for pull in pulls)


def asked_with(ownergate: Product, text: str, tool: str = "terraform_apply") -> Answer:
    """Asks for an apply of a module with this code; the answer when it is over."""
    module = ownergate.module()
    answer = ownergate.agent.call(tool, module=module, reason="r", source=files(module, text))
    if answer.data.get("final") is False:
        answer = ownergate.agent.wait(answer.data["id"])
    return answer


def no_key_in(*texts: bytes) -> None:
    """No private key in these, plain or coded."""
    for text in texts:
        for coded in _CODED:
            assert coded not in text
        assert not re.search(rb"[A-Za-z0-9+/]{50}\n[A-Za-z0-9+/]{20}", text), "the lines of a key"
        assert not re.search(rb"(?:[0-9a-f]{2}[ \n]+){24}", text), "a key in hexadecimal"


def test_the_search_for_a_key_finds_one_in_every_coding() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    form = (Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    pem = key.private_bytes(*form)
    codings = [
        pem,
        *(base64.b64encode(b"x" * pad + pem) for pad in range(3)),
        pem.hex().encode(),
        pem.hex(" ").encode(),
        urllib.parse.quote(pem).encode(),
        urllib.parse.quote_plus(pem).encode(),
        b"\n".join(pem.splitlines()[1:-1]),
    ]
    for coded in codings:
        with pytest.raises(AssertionError):
            no_key_in(b"before " + coded + b" after")


@pytest.mark.parametrize("tool", ["key_plain", "key_base64", "key_hex"])
def test_a_printed_credential_is_taken_out_of_the_output(ownergate: Product, tool: str) -> None:
    answer = ownergate.agent.call(tool)
    assert answer.data["state"] == "succeeded", answer.text
    no_key_in(answer.text.encode(), answer.data["result"]["output"].encode())
    events = str(ownergate.events(answer.data["id"])).encode()
    no_key_in(events)
    (lease,) = answer.data["result"]["leases"]
    assert lease["revoked_at"] <= answer.data["result"]["ended_at"] or lease["powerless_after_ms"] >= 0
    no_key_in(*(content for name, content in ownergate.everything_written().items() if name[:4] != "gith"))


def test_a_plan_that_holds_the_credential_reaches_nobody(ownergate: Product) -> None:
    answer = asked_with(ownergate, LEAK)
    assert answer.data["state"] == "refused", answer.text
    assert answer.data["refusal"]["code"] == "credential_literal"
    not_asked(ownergate, answer)
    no_key_in(answer.text.encode(), str(answer.data).encode(), str(ownergate.events()).encode())
    no_key_in(*(content for name, content in ownergate.everything_written().items() if name[:4] != "gith"))


def test_planning_it_shows_no_value_of_it(ownergate: Product) -> None:
    module = ownergate.module()
    answer = ownergate.agent.call("terraform_plan", module=module, source=files(module, LEAK))
    no_key_in(answer.text.encode(), str(answer.data).encode(), str(ownergate.events()).encode())


def test_a_plan_that_fails_is_told_with_its_output(ownergate: Product) -> None:
    answer = asked_with(ownergate, 'output "x" {\n  value = terraform_data.missing.output\n}\n')
    assert answer.data["state"] == "failed"
    assert "Reference to undeclared resource" in answer.text
    not_asked(ownergate, answer)


def test_a_hundred_megabytes_are_cut_and_the_cut_is_named(ownergate: Product) -> None:
    answer = ownergate.agent.call("flood")
    if not answer.data["final"]:
        answer = ownergate.agent.wait(answer.data["id"])
    assert answer.data["state"] == "succeeded"
    result = answer.data["result"]
    kept = 256 * 1024 + 100  # The line that names the cut stands in it, too.
    assert len(result["output"].encode()) <= kept
    assert result["output_cut_bytes"] >= 100_000_000 - kept
    assert f"{result['output_cut_bytes']} bytes of output were cut" in answer.text


def test_a_flood_while_planning_hides_no_plan(ownergate: Product) -> None:
    asked = ownergate.ask(tool="flood_apply")
    assert "creates 1" in asked.answer.text
    ownergate.agent.call("cancel_request", request_id=asked.id)


@pytest.mark.parametrize("tool", ["slow", "slow_apply"])
def test_what_lasts_too_long_is_ended(ownergate: Product, tool: str) -> None:
    arguments: dict[str, Any] = {} if tool == "slow" else {"module": ownergate.module(), "reason": "r"}
    answer = ownergate.agent.call(tool, **arguments)
    if not answer.data["final"]:
        answer = ownergate.agent.wait(answer.data["id"])
    assert answer.data["state"] == "failed"
    assert answer.text.lower().count("its time was up") == 1, answer.text
    not_asked(ownergate, answer)
    assert "credential.revoked" in ownergate.kinds(answer.data["id"])


@pytest.mark.parametrize(
    "text",
    [
        'resource "terraform_data" "x" {\n  provisioner "local-exec" {\n    command = "id"\n  }\n}\n',
        'terraform {\n  backend "local" {\n    path = "/tmp/mine"\n  }\n}\n',
        'terraform {\n  cloud {\n    organization = "mine"\n  }\n}\n',
        'module "x" {\n  source = "git::https://example.com/x.git"\n}\n',
        'locals {\n  a = "/*"\n}\nterraform {\n  backend "s3" {}\n}\nlocals {\n  b = "*/"\n}\n',
        'variable "v" {\n  type      = string\n  ephemeral = true\n}\n',
    ],
    ids=["provisioner", "backend", "cloud", "remote module", "hidden in comments", "ephemeral"],
)
def test_code_that_would_act_unseen_is_refused(ownergate: Product, text: str) -> None:
    answer = asked_with(ownergate, text)
    assert answer.data["state"] == "refused"
    assert answer.data["refusal"]["code"] == "terraform_source"
    not_asked(ownergate, answer)


def test_a_provider_that_executes_is_never_started(ownergate: Product) -> None:
    text = """
terraform {
  required_providers {
    kubernetes = { source = "hashicorp/kubernetes" }
  }
}
provider "kubernetes" {
  host = "https://127.0.0.1"
  exec {
    api_version = "client.authentication.k8s.io/v1"
    command     = "bash"
  }
}
resource "kubernetes_namespace" "n" {
  metadata { name = "n" }
}
"""
    answer = asked_with(ownergate, text)
    assert answer.data["state"] in {"refused", "failed"}
    not_asked(ownergate, answer)


def with_tree(ownergate: Product, module: str, entries: list[dict[str, str]]) -> str:
    """A branch whose module holds these git entries; returns its name."""
    bob = ownergate.github("bob")
    base = bob.get(ownergate.path("/branches/main")).json()["commit"]
    tree = bob.post(
        ownergate.path("/git/trees"),
        json={
            "base_tree": base["commit"]["tree"]["sha"],
            "tree": [{**entry, "path": f"terraform/{module}/{entry['path']}"} for entry in entries],
        },
    ).raise_for_status()
    commit = bob.post(
        ownergate.path("/git/commits"),
        json={"message": "odd", "tree": tree.json()["sha"], "parents": [base["sha"]]},
    ).raise_for_status()
    branch = f"odd-{module}"
    ref = {"ref": f"refs/heads/{branch}", "sha": commit.json()["sha"]}
    bob.post(ownergate.path("/git/refs"), json=ref).raise_for_status()
    return branch


def blob(ownergate: Product, text: str) -> str:
    """The name of a blob with this content."""
    made = ownergate.github("bob").post(ownergate.path("/git/blobs"), json={"content": text})
    return str(made.raise_for_status().json()["sha"])


@pytest.mark.parametrize("kind", ["link", "submodule", "ten thousand files", "backslash"])
def test_a_tree_that_is_not_plain_files_is_refused(ownergate: Product, kind: str) -> None:
    module = ownergate.module()
    content = blob(ownergate, "../../../etc/passwd")
    plain = {"mode": "100644", "type": "blob", "sha": content}
    match kind:
        case "link":
            entries = [{"path": "x.tf", "mode": "120000", "type": "blob", "sha": content}]
        case "submodule":
            entries = [{"path": "sub", "mode": "160000", "type": "commit", "sha": "1" * 40}]
        case "backslash":
            entries = [{**plain, "path": "a\\b.txt"}]
        case _:
            entries = [{**plain, "path": f"f{number}.txt"} for number in range(10_000)]
    branch = with_tree(ownergate, module, entries)
    answer = ownergate.agent.call("terraform_apply", module=module, reason="r", source={"branch": branch})
    if answer.data.get("final") is False:
        answer = ownergate.agent.wait(answer.data["id"])
    assert answer.data["refusal"]["code"] in {"source_invalid", "path_invalid", "source_too_large"}, (
        answer.text
    )
    not_asked(ownergate, answer)
