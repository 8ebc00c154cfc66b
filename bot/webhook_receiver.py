"""`POST /webhooks/github`: the door that GitHub knocks on, in front of the rest of the application.

The order is the defence: method, form of the signature, size while streaming, signature over the raw
bytes in constant time; only then are headers believed and JSON is parsed. A delivery is answered 202
when it is on the disk, and nothing else is done here. It stands outside FastAPI because it must take a
burst of thousands, and because no parser may come before the signature.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from pydantic_core import from_json
from starlette.types import ASGIApp, Receive, Scope, Send

from bot import webhook_events
from bot.api import problems
from bot.bounded_body import BoundedBodies
from bot.clock import Clock
from bot.delivery import Acceptance, ReceivedDelivery
from bot.github_contact import GitHubContact
from bot.inbox import Inbox
from bot.metrics import Metrics
from bot.webhook_signature import Signatures
from policy.refusal import Code, Refused, refuse

PATH = "/webhooks/github"

LARGEST_BODY = 25 * 1024 * 1024
"""Bytes. GitHub sends no payload above 25 MB (docs.github.com, "Webhook events and payloads")."""

MOST_HELD = 256 * 1024 * 1024
"""Bytes of bodies held at one time at most, so that many large ones can't take the process down."""

SLOWEST_BODY_SECONDS = 15.0
"""A body has to be here by then; GitHub itself gives up after 10 seconds."""

_DELIVERY_ID = re.compile(rb"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_EVENT = re.compile(rb"[a-z][a-z_]{0,59}")
_SIGNATURE = b"x-hub-signature-256"

Headers = Mapping[bytes, Sequence[bytes]]

logger = logging.getLogger(__name__)


class WebhookReceiver:
    """An ASGI application: takes webhooks itself and hands everything else to `app`."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        signatures: Signatures,
        inbox: Inbox,
        serves: webhook_events.Scope,
        clock: Clock,
        metrics: Metrics,
        contact: GitHubContact,
    ) -> None:
        self._app = app
        self._signatures = signatures
        self._inbox = inbox
        self._serves = serves
        self._clock = clock
        self._metrics = metrics
        self._contact = contact
        self._bodies = BoundedBodies(
            largest=LARGEST_BODY, most_held=MOST_HELD, slowest_seconds=SLOWEST_BODY_SECONDS
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http" or scope["path"] != PATH:
            await self._app(scope, receive, send)
            return
        try:
            acceptance = await self._take(scope, receive)
        except Refused as refused:
            self._metrics.delivery(refused.refusal.code.value)
            logger.warning("a webhook was refused: %s", refused.refusal.text())
            await problems.answer(problems.of(refused.refusal))(scope, receive, send)
            return
        self._metrics.delivery(acceptance.value)
        self._contact.reached(self._clock.now())
        await send({"type": "http.response.start", "status": 202, "headers": _HEADERS[acceptance]})
        await send({"type": "http.response.body", "body": _ANSWERS[acceptance]})

    async def _take(self, scope: Scope, receive: Receive) -> Acceptance:
        if scope["method"] != "POST":
            raise _wrong(Code.METHOD_NOT_ALLOWED, f"its method is {scope['method']}, not POST")
        headers = _headers(scope)
        signature = headers.get(_SIGNATURE, ())
        if not self._signatures.well_formed(signature):
            raise _unsigned(_form_fault(headers))
        length = headers.get(b"content-length", (b"",))[0]
        announced = int(length) if length.isdigit() and len(length) < 20 else 0
        async with self._bodies.read(receive, announced=announced, what="the webhook") as body:
            if not self._signatures.valid(signature, body):
                raise _unsigned("its signature is of another body or by another secret")
            delivery = self._delivery(headers, body)
            acceptance = await self._inbox.accept(delivery)
        if acceptance is Acceptance.CONFLICT:
            raise refuse(
                Code.WEBHOOK_CONFLICT,
                f"the webhook {delivery.id}: a delivery of this id with another body is stored",
                rule="A delivery id stands for one body.",
                remedy="Find out who else holds the webhook secret; GitHub never does this.",
            )
        return acceptance

    def _delivery(self, headers: Headers, body: bytes) -> ReceivedDelivery:
        media_type = _only(headers, b"content-type").partition(b";")[0].strip().lower()
        if media_type != b"application/json":
            raise _wrong(Code.UNSUPPORTED_MEDIA_TYPE, "its content type is not application/json")
        event = _only(headers, b"x-github-event")
        if not _EVENT.fullmatch(event):
            raise _wrong(Code.WEBHOOK_INVALID, "X-GitHub-Event is missing or odd")
        delivery_id = _only(headers, b"x-github-delivery")
        if not _DELIVERY_ID.fullmatch(delivery_id):
            raise _wrong(Code.WEBHOOK_INVALID, "X-GitHub-Delivery is missing or not a GUID")
        try:
            payload = from_json(body)
        except ValueError:
            payload = None
        if not isinstance(payload, dict):
            raise _wrong(Code.WEBHOOK_INVALID, "its body is not a JSON object")
        return ReceivedDelivery(
            id=delivery_id.decode().lower(),
            event=event.decode(),
            body=body,
            subject=webhook_events.subject(payload),
            received_at=self._clock.now(),
            ignored_because=self._serves.ignored_because(event.decode(), payload),
        )


_ANSWERS: Mapping[Acceptance, bytes] = MappingProxyType(
    {acceptance: b'{"result":"%s"}' % acceptance.value.encode() for acceptance in Acceptance}
)

_HEADERS = {
    acceptance: [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(answer)).encode()),
    ]
    for acceptance, answer in _ANSWERS.items()
}


def _headers(scope: Scope) -> Headers:
    headers: dict[bytes, list[bytes]] = {}
    for name, value in scope["headers"]:
        headers.setdefault(name, []).append(value)
    return headers


def _only(headers: Headers, name: bytes) -> bytes:
    """The one value of a header; empty when it is missing or stands twice, which nothing accepts."""
    values = headers.get(name, ())
    return values[0] if len(values) == 1 else b""


def _form_fault(headers: Headers) -> str:
    match len(headers.get(_SIGNATURE, ())):
        case 0 if b"x-hub-signature" in headers:
            return "it has only the old SHA-1 signature"
        case 0:
            return "X-Hub-Signature-256 is missing"
        case 1:
            return "X-Hub-Signature-256 is not `sha256=` and 64 hexadecimal digits"
        case _:
            return "X-Hub-Signature-256 stands twice"


def _unsigned(why: str) -> Refused:
    return refuse(
        Code.WEBHOOK_SIGNATURE,
        f"the webhook: {why}",
        rule="Every webhook is signed with a secret that the bot and GitHub share.",
        remedy="Give the App's webhook the secret that stands in one of `github.webhook_secret_files`.",
    )


def _wrong(code: Code, why: str) -> Refused:
    return refuse(
        code,
        f"the webhook: {why}",
        rule="A webhook has to look as GitHub sends it.",
        remedy="Let GitHub send it, as POST with the content type application/json.",
    )
