"""The PKI role that stands for a tool's scope."""

from __future__ import annotations

from policy import pki_role
from tests.unit.policy import tool_examples as examples


def test_the_common_name_says_tool_and_target() -> None:
    tool = examples.tool("forget_it", examples.changed(("  forget:", "  forget_it:")))
    assert pki_role.common_name(tool) == "forget-it.demo.ownergate.internal"


def test_a_role_gives_leased_client_certificates_for_these_names_only() -> None:
    payload = pki_role.payload([examples.tool("apply")])
    assert payload["allowed_domains"] == ["apply.demo.ownergate.internal"]
    assert payload["generate_lease"] is True
    assert payload["no_store"] is False
    assert payload["client_flag"] is True
    assert payload["max_ttl"] == "900s"
    for dangerous in (
        "server_flag",
        "allow_subdomains",
        "allow_glob_domains",
        "allow_ip_sans",
        "allow_localhost",
    ):
        assert payload[dangerous] is False
