"""Apps: signed JWTs, tokens that expire and are narrowed, permissions, suspension."""

import jwt as pyjwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.unit.github_simulator.conftest import PERMISSIONS, Acme


def test_a_jwt_of_another_key_is_refused(acme: Acme) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    claims = pyjwt.decode(acme.jwt(), options={"verify_signature": False})
    forged = pyjwt.encode(claims, key, algorithm="RS256")
    assert acme.github.with_token(forged).get("/app").status_code == 401
    unsigned = pyjwt.encode(claims, None, algorithm="none")
    assert acme.github.with_token(unsigned).get("/app").status_code == 401


def test_the_times_in_a_jwt_are_checked(acme: Acme) -> None:
    now = int(acme.github.clock.now().timestamp())
    for claims, word in (
        ({"exp": now - 1}, "future time"),
        ({"exp": now + 3600}, "too far in the future"),
        ({"iat": now + 600, "exp": now + 610}, "Issued at"),
    ):
        answer = acme.github.with_token(acme.jwt(**claims)).get("/app")
        assert answer.status_code == 401
        assert word in answer.json()["message"]


def test_a_token_lives_for_an_hour(acme: Acme) -> None:
    bot = acme.bot()
    assert bot.get(acme.path).status_code == 200
    acme.github.clock.advance(3601)
    assert (bot.get(acme.path).status_code, bot.get(acme.path).json()["message"]) == (401, "Bad credentials")


def test_empty_permissions_mean_all(acme: Acme) -> None:
    answer = acme.app_client().post(
        f"/app/installations/{acme.installation.id}/access_tokens", json={"permissions": {}}
    )
    assert answer.json()["permissions"] == {"metadata": "read"} | PERMISSIONS


def test_a_token_cannot_have_more_than_its_installation(acme: Acme) -> None:
    path = f"/app/installations/{acme.installation.id}/access_tokens"
    answer = acme.app_client().post(path, json={"permissions": {"members": "write"}})
    assert (answer.status_code, answer.json()["message"]) == (
        422,
        "The permissions requested are not granted to this installation.",
    )


def test_a_narrowed_token_may_only_what_it_was_given(acme: Acme) -> None:
    pull = acme.pull()
    bot = acme.bot(permissions={"pull_requests": "read"})
    assert bot.get(f"{acme.path}/pulls/{pull['number']}").status_code == 200
    refused = bot.post(f"{acme.path}/pulls/{pull['number']}/reviews", json={"event": "APPROVE"})
    assert (refused.status_code, refused.json()["message"]) == (403, "Resource not accessible by integration")
    assert bot.get(f"{acme.path}/contents/README.md").status_code == 403


def test_an_installation_reaches_only_its_repositories(acme: Acme) -> None:
    acme.world.add_repository("acme", "secret", private=True)
    public = acme.world.add_repository("acme", "open", private=False)
    bot = acme.bot()
    assert bot.get("/repos/acme/secret").status_code == 404
    assert bot.get(f"/repos/{public.full_name}").status_code == 200
    assert bot.post(f"/repos/{public.full_name}/issues", json={"title": "t"}).status_code == 403
    assert bot.get("/installation/repositories").json()["total_count"] == 1


def test_a_suspended_installation_is_refused(acme: Acme) -> None:
    bot = acme.bot()
    acme.world.suspend(acme.installation)
    assert (bot.get(acme.path).status_code, bot.get(acme.path).json()["message"]) == (
        403,
        "This installation has been suspended",
    )
    acme.world.unsuspend(acme.installation)
    assert bot.get(acme.path).status_code == 200


def test_an_uninstalled_app_has_no_valid_token(acme: Acme) -> None:
    bot = acme.bot()
    acme.world.uninstall(acme.installation)
    assert bot.get(acme.path).status_code == 401


def test_revoked_permissions_are_gone_for_living_tokens(acme: Acme) -> None:
    bot = acme.bot()
    acme.world.set_permissions(acme.installation, {"contents": "read"})
    assert bot.post(f"{acme.path}/issues", json={"title": "t"}).status_code == 403


def test_an_app_approval_counts_only_with_contents_write(acme: Acme) -> None:
    acme.world.protect(acme.repo, "main", required_approving_reviews=1, enforce_admins=True)
    pull = acme.pull()
    acme.bot().post(
        f"{acme.path}/pulls/{pull['number']}/reviews", json={"event": "APPROVE"}
    ).raise_for_status()
    merge = f"{acme.path}/pulls/{pull['number']}/merge"
    acme.world.set_permissions(acme.installation, PERMISSIONS | {"contents": "read"})
    assert acme.user("root").put(merge, json={}).status_code == 405
    acme.world.set_permissions(acme.installation, PERMISSIONS)
    assert acme.user("root").put(merge, json={}).status_code == 200


@pytest.mark.parametrize("path", ["/app", "/app/installations", "/app/hook/deliveries"])
def test_a_person_is_no_app(acme: Acme, path: str) -> None:
    assert acme.user("root").get(path).status_code == 401
    assert acme.bot().get(path).status_code == 401


def test_an_app_jwt_reads_no_repository(acme: Acme) -> None:
    assert acme.app_client().get(acme.path).status_code == 403
