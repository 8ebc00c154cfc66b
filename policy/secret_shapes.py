"""Literals that look like a secret, by shape.

What an agent sends is committed to a repository and shown in a pull request, so a literal secret must
be stopped before that: secrets travel as references. Shapes are the public prefixes of the issuers;
finding none proves nothing, finding one refuses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

_SHAPES: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        name: re.compile(pattern, re.ASCII)
        for name, pattern in {
            "a PEM private key": r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----",
            "a JSON Web Token": r"(?<![\w-])eyJ[\w-]{10,}\.[\w-]{8,}\.[\w-]{8,}",
            "a GitHub token": r"(?<![A-Za-z0-9])(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,})",
            "a GitLab token": r"(?<![A-Za-z0-9])gl(?:pat|ptt|dt|rt|cbt|soat)-[A-Za-z0-9_-]{20,}",
            "an AWS access key": r"(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?![A-Za-z0-9])",
            "an AWS secret key": (
                r"(?i:aws_?secret(?:_?access)?_?key|secretaccesskey)[\"'\s:=]{1,8}"
                r"[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])"
            ),
            "a Vault or OpenBao token": r"(?<![A-Za-z0-9])(?:hv[sbr]\.[\w-]{24,}|[sb]\.[A-Za-z0-9]{24,})",
            "a Slack token": r"(?<![A-Za-z0-9])xox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}",
            "a Slack webhook": r"hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/]{20,}",
            "a Google API key": r"(?<![A-Za-z0-9])AIza[A-Za-z0-9_-]{35}",
            "a Google OAuth token": r"(?<![A-Za-z0-9])ya29\.[A-Za-z0-9_-]{20,}",
            "an Azure storage key": r"AccountKey=[A-Za-z0-9+/]{86}==",
            "an Anthropic key": r"(?<![A-Za-z0-9])sk-ant-[A-Za-z0-9_-]{20,}",
            "an OpenAI key": r"(?<![A-Za-z0-9])sk-(?:proj-|svcacct-)?[A-Za-z0-9_-]{40,}",
            "a Stripe key": r"(?<![A-Za-z0-9])[rs]k_(?:live|test)_[A-Za-z0-9]{16,}",
            "an npm token": r"(?<![A-Za-z0-9])npm_[A-Za-z0-9]{36}",
            "a PyPI token": r"(?<![A-Za-z0-9])pypi-AgE[A-Za-z0-9_-]{50,}",
            "a Docker token": r"(?<![A-Za-z0-9])dckr_pat_[A-Za-z0-9_-]{20,}",
            "a DigitalOcean token": r"(?<![A-Za-z0-9])do[opr]_v1_[a-f0-9]{64}",
            "a Terraform Cloud token": r"(?<![A-Za-z0-9])[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,}",
            "an age identity": r"AGE-SECRET-KEY-1[A-Z0-9]{58}",
            "a password in a URL": r"[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@\"'${}]{1,100}:[^\s/:@\"'${}]{3,200}@",
        }.items()
    }
)


def names() -> tuple[str, ...]:
    """The shapes that `find` knows, for the documentation."""
    return tuple(_SHAPES)


def find(text: str) -> str | None:
    """The name of the first secret shape in a text, for example "a GitHub token"; None without one.

    The name never holds any part of the text. Time is linear in the text's length: every repetition is
    bounded or can't overlap with what follows it.
    """
    for name, shape in _SHAPES.items():
        if shape.search(text):
            return name
    return None
