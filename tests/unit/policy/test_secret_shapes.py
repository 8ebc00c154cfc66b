"""Literals that look like secrets. Every example is made up here, of the right shape only."""

from __future__ import annotations

import time

import pytest

from policy import secret_shapes

LETTERS = "aB3" * 40

EXAMPLES = {
    "a PEM private key": "-----BEGIN EC PRIVATE " + "KEY-----\nMHc",
    "a JSON Web Token": f"eyJ{LETTERS[:20]}.{LETTERS[:30]}.{LETTERS[:30]}",
    "a GitHub token": f"ghp_{LETTERS[:36]}",
    "a GitLab token": f"glpat-{LETTERS[:20]}",
    "an AWS access key": "AKIA" + "ABCDEFGHIJKLMNOP",
    "an AWS secret key": f'aws_secret_access_key = "{LETTERS[:40]}"',
    "a Vault or OpenBao token": f"hvs.{LETTERS[:24]}",
    "a Slack token": f"xoxb-{LETTERS[:20]}",
    "a Slack webhook": f"https://hooks.slack.com/services/{LETTERS[:30]}",
    "a Google API key": f"AIza{LETTERS[:35]}",
    "a Google OAuth token": f"ya29.{LETTERS[:30]}",
    "an Azure storage key": f"AccountKey={(LETTERS * 2)[:86]}==",
    "an Anthropic key": f"sk-ant-{LETTERS[:30]}",
    "an OpenAI key": f"sk-proj-{LETTERS[:48]}",
    "a Stripe key": f"sk_live_{LETTERS[:24]}",
    "an npm token": f"npm_{LETTERS[:36]}",
    "a PyPI token": f"pypi-AgE{LETTERS[:60]}",
    "a Docker token": f"dckr_pat_{LETTERS[:27]}",
    "a DigitalOcean token": "dop_v1_" + "0a" * 32,
    "a Terraform Cloud token": f"{LETTERS[:14]}.atlasv1.{LETTERS[:67]}",
    "an age identity": "AGE-SECRET-KEY-1" + "Q7" * 29,
    "a password in a URL": "postgres://user:hunter22@db.example/app",
}


def test_every_shape_has_an_example() -> None:
    assert set(EXAMPLES) == set(secret_shapes.names())


@pytest.mark.parametrize(("name", "text"), EXAMPLES.items())
def test_a_secret_is_found_wherever_it_stands(name: str, text: str) -> None:
    assert secret_shapes.find(text) == name
    assert secret_shapes.find(f"value: '{text}' # in the middle") == name


@pytest.mark.parametrize("name", ["Vault's older form", "OpenBao's form"])
def test_tokens_of_openbao_are_found(name: str) -> None:
    assert secret_shapes.find(f"{name}: s.{LETTERS[:24]}") == "a Vault or OpenBao token"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "terraform/demo",
        "-----BEGIN CERTIFICATE-----",
        "-----BEGIN PUBLIC KEY-----",
        "https://example.com:8443/path@version",
        "https://${var.user}:${var.password}@example.com",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "class.method(argument)",
        "eyJhbGciOiJIUzI1NiJ9 alone is no token",
        "sk-short",
        "a.s.abcdefgh",
    ],
)
def test_ordinary_text_passes(text: str) -> None:
    assert secret_shapes.find(text) is None


@pytest.mark.parametrize(
    "text",
    ["eyJ" * 100_000, "a" * 300_000, "-----BEGIN " * 30_000, "x://" * 80_000, "aws_secret_key=" * 20_000],
)
def test_a_hostile_text_takes_no_time(text: str) -> None:
    began = time.process_time()
    secret_shapes.find(text)
    assert time.process_time() - began < 2
