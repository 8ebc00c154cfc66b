"""The control API under ``/_simulator/``: what a separate process may see and switch.

It is for tests and demos on loopback and asks for no credentials; it hands out every persona's token.
"""

import html
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse

from github_simulator.pages import site
from github_simulator.world import World

FAULTS = frozenset(
    {
        "api_lag",
        "fail",
        "primary_limit",
        "secondary_limit",
        "slow_body",
        "slow_answer",
        "revoke_token",
        "webhooks",
    }
)


def routes(world: World) -> APIRouter:
    """The routes of the control API."""
    router = APIRouter(prefix="/_simulator")

    @router.get("/state")
    def state() -> dict[str, Any]:
        with world.lock:
            return {
                "url": world.url,
                "now": world.clock.now().isoformat(),
                "strict": world.strict,
                "violations": list(world.violations),
                "faults": world.faults.armed(),
                "repositories": [
                    {
                        "id": repository.id,
                        "full_name": world.state.full_name(repository),
                        "private": repository.private,
                        "refs": dict(repository.refs),
                        "pulls": {
                            number: {
                                "title": repository.issues[number].title,
                                "state": repository.issues[number].state,
                                "head": pull.head_sha,
                                "merged": pull.merged_at is not None,
                            }
                            for number, pull in repository.pulls.items()
                        },
                    }
                    for repository in world.state.repositories.values()
                ],
                "calls": dict(world.rate_limits.calls),
            }

    @router.get("/personas")
    def personas() -> list[dict[str, Any]]:
        with world.lock:
            return [
                {"id": owner, "login": world.state.accounts[owner].login, "token": token}
                for token, owner in world.state.personal_tokens.items()
            ]

    @router.get("/violations")
    def violations() -> list[str]:
        with world.lock:
            return list(world.violations)

    @router.post("/faults/{name}")
    async def fault(name: str, request: Request) -> Response:
        arguments = await request.json() if await request.body() else {}
        if name == "clear":
            world.faults.clear()
        elif name == "repoint_on_base_merge":
            world.faults.repoint_on_base_merge = bool(arguments.get("on", True))
        elif name in FAULTS:
            try:
                getattr(world.faults, name)(**arguments)
            except TypeError as error:
                return JSONResponse({"error": str(error)}, status_code=422)
        else:
            known = sorted([*FAULTS, "clear", "repoint_on_base_merge"])
            return JSONResponse({"error": f"no fault {name}", "known": known}, status_code=404)
        return JSONResponse({"armed": world.faults.armed()})

    @router.get("/faults")
    def faults() -> list[str]:
        return world.faults.armed()

    @router.post("/clock")
    async def clock(request: Request) -> Response:
        arguments = await request.json()
        world.clock.advance(float(arguments["advance"]))
        return JSONResponse({"now": world.clock.now().isoformat()})

    @router.post("/wait_for_deliveries")
    async def wait() -> Response:
        try:
            await run_in_threadpool(world.deliveries.wait)
        except TimeoutError as error:
            return JSONResponse({"error": str(error)}, status_code=504)
        return JSONResponse({"waiting": 0})

    @router.get("/style.css")
    def style() -> Response:
        return Response(site.STYLE.read_text(encoding="utf-8"), media_type="text/css")

    @router.get("/avatars/{account_id}")
    def avatar(account_id: int) -> Response:
        with world.lock:
            account = world.state.accounts.get(account_id)
        initial = html.escape((account.login if account is not None else "?")[0].upper())
        hue = account_id * 47 % 360
        picture = (
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 40" width="40" height="40">'
            f'<rect width="40" height="40" fill="hsl({hue} 45% 42%)"/>'
            '<text x="20" y="27" text-anchor="middle" font-family="sans-serif" font-size="20" '
            f'font-weight="600" fill="#fff">{initial}</text></svg>'
        )
        return Response(picture, media_type="image/svg+xml")

    return router
