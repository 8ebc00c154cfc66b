"""Bearer tokens: one principal and one role each, shown once, and gone when revoked."""

from __future__ import annotations

import re

import pytest
from sqlalchemy import insert, select
from sqlalchemy.exc import IntegrityError

from bot import schema, tokens
from bot.tokens import Role
from policy.refusal import Refused
from tests.unit.bot.ground import NOW, Ground


def test_the_schema_knows_exactly_the_roles() -> None:
    check = next(
        str(c.sqltext)
        for c in schema.principals.constraints
        if "role_" not in str(c.name) and "role" in str(c.name)
    )
    assert set(re.findall(r"'(\w+)'", check)) == set(Role)


@pytest.mark.parametrize("role", list(Role))
def test_a_token_finds_its_principal(ground: Ground, role: Role) -> None:
    person = {"person_id": 7, "login": "alice"} if role is Role.AGENT else {}
    token = ground.wiring.tokens.create(name="alice's editor".replace("'", ""), role=role, **person)
    assert re.fullmatch(rf"og_{role}_[A-Za-z0-9_-]{{43}}", token)
    found = ground.wiring.tokens.find(token)
    assert found is not None
    assert (found.role, found.name, found.person_id) == (role, "alices editor", person.get("person_id"))


def test_two_tokens_are_two_principals(ground: Ground) -> None:
    first, second = ground.token(Role.AGENT), ground.token(Role.AGENT)
    assert first != second
    assert ground.wiring.tokens.find(first) != ground.wiring.tokens.find(second)


def test_its_text_is_stored_nowhere(ground: Ground) -> None:
    token = ground.token(Role.ADMIN)
    ground.database.close()
    content = b"".join(file.read_bytes() for file in ground.folder.rglob("*") if file.is_file())
    assert token.encode() not in content
    assert token.removeprefix("og_admin_").encode() not in content


def test_what_is_not_a_token_finds_nobody(ground: Ground) -> None:
    token = ground.token(Role.AGENT)
    wrong = [
        "",
        token[:-1],
        token + "A",
        token.upper(),
        token.replace("og_agent_", "og_admin_"),
        "og_agent_" + "A" * 43,
        token + "\n",
        f" {token}",
        "og_agent_" + "é" * 43,
        "' OR 1=1 --",
    ]
    assert [ground.wiring.tokens.find(text) for text in wrong] == [None] * len(wrong)


def test_a_revoked_token_finds_nobody(ground: Ground) -> None:
    token, other = ground.token(Role.AGENT), ground.token(Role.AGENT)
    principal = ground.wiring.tokens.find(token)
    assert principal is not None
    assert ground.wiring.tokens.revoke(principal.id)
    assert ground.wiring.tokens.find(token) is None
    assert ground.wiring.tokens.find(other) is not None
    assert not ground.wiring.tokens.revoke(principal.id)
    assert not ground.wiring.tokens.revoke(12345)
    assert [p.id for p in ground.wiring.tokens.principals()] == [principal.id + 1]


@pytest.mark.parametrize(
    "person",
    [
        {},
        {"person_id": 7},
        {"login": "alice"},
        {"person_id": 0, "login": "alice"},
        {"person_id": 7, "login": ""},
    ],
)
def test_an_agent_has_a_person_behind_it(ground: Ground, person: dict[str, object]) -> None:
    with pytest.raises(Refused, match="no person stands behind the agent"):
        ground.wiring.tokens.create(name="bot", role=Role.AGENT, **person)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["", " a", "a\nb", "a" * 101, "a\u202eb"])
def test_a_name_is_plain(ground: Ground, name: str) -> None:
    with pytest.raises(Refused, match="is not plain"):
        ground.wiring.tokens.create(name=name, role=Role.ADMIN)


@pytest.mark.parametrize(
    "values", [{"role": "approver"}, {"role": "agent"}, {"role": "agent", "person_id": 7}]
)
def test_the_database_refuses_principals_that_can_t_be(ground: Ground, values: dict[str, object]) -> None:
    row = {"name": "x", "token_sha256": "0" * 64, "created_at": NOW, **values}
    with pytest.raises(IntegrityError), ground.database.transaction() as connection:
        connection.execute(insert(schema.principals).values(row))


def test_a_stored_hash_is_of_the_whole_token(ground: Ground) -> None:
    ground.token(Role.RUNNER)
    with ground.database.reading() as connection:
        stored = connection.scalar(select(schema.principals.c.token_sha256))
    assert re.fullmatch(r"[0-9a-f]{64}", str(stored))
    assert ground.wiring.tokens.find(str(stored)) is None
    assert tokens.FORM.search("a token og_admin_" + "x" * 43 + " in a text")
