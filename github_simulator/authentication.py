"""Credentials: personal tokens, App JWTs and installation tokens.

Source: docs.github.com, "Generating a JSON Web Token (JWT) for a GitHub App" and "Authenticating as a
GitHub App installation".
"""

import base64
import binascii
from datetime import datetime, timedelta
from typing import Any

import jwt

from github_simulator.calls import Actor, Anonymous, AsApp, AsInstallation, AsUser, Refusal
from github_simulator.model import App, State

TOKEN_LIFE = timedelta(hours=1)
LONGEST_JWT = timedelta(minutes=10)
CLOCK_DRIFT = timedelta(seconds=60)


def token_in(header: str | None) -> str | None:
    """The token of an Authorization header: ``token x``, ``Bearer x``, or the password of Basic."""
    if header is None:
        return None
    scheme, _, value = header.partition(" ")
    if scheme.lower() in {"token", "bearer"}:
        return value.strip()
    if scheme.lower() == "basic":
        try:
            user, _, password = base64.b64decode(value, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return ""
        return password if password and password != "x-oauth-basic" else user  # noqa: S105
    return ""


def actor_of(state: State, header: str | None, now: datetime) -> Actor:
    """Who sent this Authorization header. Raises Refusal 401 for anything that is not valid."""
    token = token_in(header)
    if token is None:
        return Anonymous()
    if token.count(".") == 2:
        return AsApp(app=_app_of_jwt(state, token, now))
    user_id = state.personal_tokens.get(token)
    if user_id is not None and user_id in state.accounts:
        return AsUser(account=state.accounts[user_id])
    granted = state.installation_tokens.get(token)
    if granted is not None and granted.expires_at > now:
        installation = state.installations.get(granted.installation_id)
        if installation is not None:
            app = state.apps[installation.app_id]
            if installation.suspended_at is not None:
                raise Refusal(403, "This installation has been suspended")
            return AsInstallation(
                app=app, installation=installation, token=granted, account=state.accounts[app.bot_id]
            )
    raise Refusal(401, "Bad credentials")


def _app_of_jwt(state: State, token: str, now: datetime) -> App:
    undecodable = Refusal(401, "A JSON web token could not be decoded")
    try:
        claims: dict[str, Any] = jwt.decode(token, options={"verify_signature": False})
        issuer = str(claims.get("iss", ""))
        app = next((a for a in state.apps.values() if issuer in {str(a.id), client_id(a)}), None)
        if app is None:
            raise Refusal(401, "Integration must generate a public key")
        jwt.decode(
            token,
            app.public_key_pem,
            algorithms=["RS256"],
            options={"verify_exp": False, "verify_iat": False, "verify_aud": False, "verify_iss": False},
        )
    except jwt.PyJWTError:
        raise undecodable from None
    issued, expires = claims.get("iat"), claims.get("exp")
    if not isinstance(issued, int | float) or datetime.fromtimestamp(issued, now.tzinfo) > now + CLOCK_DRIFT:
        raise Refusal(
            401,
            "'Issued at' claim ('iat') must be an Integer representing the time that the assertion "
            "was issued",
        )
    if not isinstance(expires, int | float) or datetime.fromtimestamp(expires, now.tzinfo) <= now:
        raise Refusal(
            401,
            "'Expiration time' claim ('exp') must be a numeric value representing the future time at which "
            "the assertion expires",
        )
    if datetime.fromtimestamp(expires, now.tzinfo) > now + LONGEST_JWT + CLOCK_DRIFT:
        raise Refusal(401, "'Expiration time' claim ('exp') is too far in the future")
    return app


def client_id(app: App) -> str:
    """The client id of an App, which newer clients use as issuer."""
    return f"Iv23li{app.id:014d}"
