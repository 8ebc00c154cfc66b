"""Webhooks of repositories and their deliveries."""

from github_simulator import events
from github_simulator.calls import Call, Refusal, Reply, not_found
from github_simulator.deliveries import Delivery
from github_simulator.model import Hook
from github_simulator.representation import accounts, hooks, repositories
from github_simulator.routing import operation

ZEN = "Keep it logically awesome."


def list_deliveries(call: Call, hook: Hook) -> Reply:
    """Deliveries of a hook, newest first, paged by ``cursor`` as GitHub does (never by number)."""
    found = call.world.deliveries.of_hook(hook.id)
    size = min(max(int(call.query.get("per_page", "30")), 1), 100)
    cursor = call.query.get("cursor")
    if cursor is not None:
        found = [delivery for delivery in found if delivery.id < int(cursor.removeprefix("v1_"))]
    if call.query.get("redelivery") is not None:
        found = [
            delivery for delivery in found if delivery.redelivery == (call.query["redelivery"] == "true")
        ]
    wanted = call.query.get("status")
    if wanted is not None:
        found = [
            delivery for delivery in found if (200 <= delivery.status_code < 300) == (wanted == "success")
        ]
    shown, rest = found[:size], found[size:]
    headers = {}
    if rest:
        headers["link"] = f'<{call.page_url}?per_page={size}&cursor=v1_{shown[-1].id}>; rel="next"'
    return Reply(body=[hooks.delivery_item(delivery) for delivery in shown], headers=headers)


def found_delivery(call: Call, hook: Hook) -> Delivery:
    """The delivery that the path names."""
    number = call.number("delivery_id")
    for delivery in call.world.deliveries.of_hook(hook.id):
        if delivery.id == number:
            return delivery
    raise not_found()


def _hook(call: Call) -> Hook:
    found = call.repo.hooks.get(call.number("hook_id"))
    if found is None:
        raise not_found()
    return found


@operation("GET /repos/{owner}/{repo}/hooks", app="repository_hooks:read", level="admin")
def hooks_of(call: Call) -> Reply:
    return call.page(call.repo.hooks.values(), lambda hook: hooks.hook(call.view, call.repo, hook))


@operation("POST /repos/{owner}/{repo}/hooks", app="repository_hooks:write", level="admin")
def create(call: Call) -> Reply:
    """Add a hook; GitHub pings it at once."""
    asked = call.body or {}
    config = asked.get("config") or {}
    if not config.get("url"):
        raise Refusal(
            422,
            "Validation Failed",
            [{"resource": "Hook", "code": "custom", "message": "Config must contain URL"}],
        )
    if any(hook.url == config["url"] for hook in call.repo.hooks.values()):
        message = "Hook already exists on this repository"
        raise Refusal(422, "Validation Failed", [{"resource": "Hook", "code": "custom", "message": message}])
    hook = Hook(
        id=call.state.next_id("hook", 500_001),
        url=config["url"],
        secret=config.get("secret"),
        content_type=config.get("content_type", "form"),
        insecure_ssl=str(config.get("insecure_ssl", "0")),
        events=list(asked.get("events") or ["push"]),
        active=asked.get("active", True),
        created_at=call.now,
        updated_at=call.now,
    )
    call.repo.hooks[hook.id] = hook
    _ping(call, hook)
    return Reply(status=201, body=hooks.hook(call.view, call.repo, hook))


@operation("GET /repos/{owner}/{repo}/hooks/{hook_id}", app="repository_hooks:read", level="admin")
def get(call: Call) -> Reply:
    return Reply(body=hooks.hook(call.view, call.repo, _hook(call)))


@operation("DELETE /repos/{owner}/{repo}/hooks/{hook_id}", app="repository_hooks:write", level="admin")
def delete(call: Call) -> Reply:
    del call.repo.hooks[_hook(call).id]
    return Reply(status=204)


@operation("POST /repos/{owner}/{repo}/hooks/{hook_id}/pings", app="repository_hooks:read", level="admin")
def ping(call: Call) -> Reply:
    _ping(call, _hook(call))
    return Reply(status=204)


@operation("GET /repos/{owner}/{repo}/hooks/{hook_id}/deliveries", app="repository_hooks:read", level="admin")
def deliveries(call: Call) -> Reply:
    return list_deliveries(call, _hook(call))


@operation(
    "GET /repos/{owner}/{repo}/hooks/{hook_id}/deliveries/{delivery_id}",
    app="repository_hooks:read",
    level="admin",
)
def delivery(call: Call) -> Reply:
    return Reply(body=hooks.delivery(found_delivery(call, _hook(call))))


@operation(
    "POST /repos/{owner}/{repo}/hooks/{hook_id}/deliveries/{delivery_id}/attempts",
    app="repository_hooks:write",
    level="admin",
)
def redeliver(call: Call) -> Reply:
    call.world.deliveries.redeliver(found_delivery(call, _hook(call)))
    return Reply(status=202, body={})


def _ping(call: Call, hook: Hook) -> None:
    payload = {
        "zen": ZEN,
        "hook_id": hook.id,
        "hook": hooks.hook(call.view, call.repo, hook),
        "repository": repositories.plain(call.view, call.repo),
        "sender": accounts.simple(call.view, call.account),
    }
    events.send_to_hook(call.world, call.repo, hook, "ping", None, payload)
