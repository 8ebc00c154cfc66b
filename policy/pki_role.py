"""The role of a PKI secrets engine that stands for a tool's scope.

The lease is a client certificate whose common name says tool and target. It can be revoked by its lease
id, and the engine's own OCSP responder says so. Fields: OpenBao's API documentation, "PKI secrets
engine", create or update role.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from policy.canonical import Json
from policy.tools import Tool

DOMAIN: Final = "ownergate.internal"
"""Parent of the common names; `.internal` is reserved for private use by ICANN."""


def common_name(tool: Tool) -> str:
    """The name in the certificate that a tool's lease is: `<tool>.<target>.ownergate.internal`."""
    return f"{tool.name.replace('_', '-').strip('-')}.{tool.target.name}.{DOMAIN}"


def payload(sharing: Sequence[Tool]) -> dict[str, Json]:
    """The role of the tools that share it: client certificates for their names, and nothing else."""
    ttl = max(tool.credential.ttl_seconds for tool in sharing if tool.credential is not None)
    return {
        "allow_bare_domains": True,
        "allow_glob_domains": False,
        "allow_ip_sans": False,
        "allow_localhost": False,
        "allow_subdomains": False,
        "allow_wildcard_certificates": False,
        "allowed_domains": [common_name(tool) for tool in sharing],
        "client_flag": True,
        "code_signing_flag": False,
        "email_protection_flag": False,
        "enforce_hostnames": True,
        "generate_lease": True,
        "key_bits": 256,
        "key_type": "ec",
        "max_ttl": f"{ttl}s",
        "no_store": False,
        "server_flag": False,
        "ttl": f"{ttl}s",
        "use_csr_common_name": False,
    }
