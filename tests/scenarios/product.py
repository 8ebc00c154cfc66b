"""The whole product on this machine, for scenarios: everything real but GitHub, driven through its doors.

It is the demo's stage, with a policy of its own, many small modules, and handles to break each part.
One stands for each test process; every test works on modules of its own and leaves all parts running.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from anyio.from_thread import BlockingPortal, start_blocking_portal

from demo import agent, company, processes, stage
from demo.agent import Answer
from demo.people import Person, wait_for
from demo.stage import Running
from demo.stage_files import Variation
from policy.states import State, is_final
from tests.scenarios import policy
from tests.scenarios.line import Line, line

OPEN_REQUESTS = 60
"""How many requests an agent may have open here; the usual limit has tests of its own."""

MODULES = tuple(f"s{number:02}" for number in range(60))
MAIN = 'resource "terraform_data" "thing" {\n  input = "one"\n}\n'
CODEOWNERS = company.CODEOWNERS + "/terraform/ownerless/\n/terraform/stranger/ @nobody-of-this-name\n"

FINAL = frozenset(state.value for state in State if is_final(state))
LONGEST_SECONDS = 100.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request that is pending, and its pull request."""

    id: str
    module: str
    number: int
    digest: str
    head: str
    answer: Answer


class Agent:
    """An agent: a real MCP client over stdio, called from ordinary code."""

    def __init__(self, portal: BlockingPortal, connected: agent.Agent) -> None:
        self._portal = portal
        self._connected = connected

    def tools(self) -> list[str]:
        """Names of the tools that it sees."""
        return self._portal.call(self._connected.tools)

    def call(self, tool: str, **arguments: Any) -> Answer:
        """Calls a tool."""

        async def called() -> Answer:
            return await self._connected.call(tool, **arguments)

        return self._portal.call(called)

    def check(self, request_id: str) -> Answer:
        """How a request stands now."""
        return self.call("check_request", request_id=request_id, wait_seconds=0)

    def wait(self, request_id: str, *states: str) -> Answer:
        """Waits until a request is in one of these states; without any, until it is over.

        Raises:
            AssertionError: it is over in another state, or it takes too long; with the last answer.
        """
        wanted = set(states) or FINAL
        answer = self.check(request_id)
        for _ in range(int(LONGEST_SECONDS / 5)):
            if answer.data["state"] in wanted:
                return answer
            assert answer.data["state"] not in FINAL, answer.text
            answer = self.call("check_request", request_id=request_id, wait_seconds=10)
        raise AssertionError(f"it is not {' or '.join(sorted(wanted))}: {answer.text}")


@dataclass(kw_only=True)
class Product:
    """The running product."""

    running: Running
    agent: Agent
    second_agent: Agent
    people: Mapping[str, Person]
    to_github: Line
    to_openbao: Line
    _free: list[str] = field(default_factory=lambda: list(reversed(MODULES)))

    # --- Asking ---------------------------------------------------------------------------------------

    def module(self) -> str:
        """A module that no other test uses."""
        return self._free.pop()

    def ask(self, module: str | None = None, *, tool: str = "terraform_apply", **arguments: Any) -> Asked:
        """Dana's agent asks for a module's apply; returns when it is pending."""
        module = module or self.module()
        arguments.setdefault("reason", "a scenario")
        answer = self.agent.call(tool, module=module, **arguments)
        if answer.data.get("state") in {"received", "planning"}:
            answer = self.agent.wait(answer.data["id"], "pending")
        return self.asked(module, answer)

    def asked(self, module: str, answer: Answer) -> Asked:
        """What a pending answer names."""
        assert answer.data.get("state") == "pending", answer.text
        if answer.data["link"] is None:
            answer = wait_for(
                lambda: (now := self.agent.check(answer.data["id"])).data["link"] and now,
                "the pull request",
                seconds=LONGEST_SECONDS,
            )
        number = int(answer.data["link"].rsplit("/", 1)[1])
        return Asked(
            id=answer.data["id"],
            module=module,
            number=number,
            digest=answer.data["digest"],
            head=self.people["alice"].pull_request(number)["head"]["sha"],
            answer=answer,
        )

    def carried_out(self, asked: Asked) -> Answer:
        """Alice approves, and the request succeeds."""
        self.people["alice"].approve(asked.number, asked.head)
        return self.agent.wait(asked.id, "succeeded")

    # --- GitHub ---------------------------------------------------------------------------------------

    def github(self, login: str) -> httpx2.Client:
        """A person's own client of GitHub's API, for what people rarely do."""
        return self.running.github.as_user(login)

    def path(self, tail: str) -> str:
        """A path below the company's repository."""
        return f"/repos/{self.running.stage.repository}{tail}"

    def review(self, number: int, login: str, event: str, body: str = "as it should be") -> int:
        """A person's review of the pull request as it stands."""
        answer = self.github(login).post(
            self.path(f"/pulls/{number}/reviews"), json={"event": event, "body": body}
        )
        answer.raise_for_status()
        return int(answer.json()["id"])

    def push(self, files: Mapping[str, bytes | str | None], *, branch: str = "main", by: str = "bob") -> str:
        """Somebody's commit."""
        repository = self.running.company.repository
        return self.running.github.world.push(repository, branch, files, author=by)

    def comment(self, asked: Asked, words: str) -> str:
        """The comment of a request's pull request that holds these words, as soon as there is one."""
        return self.people["alice"].wait_for_comment(asked.number, words, seconds=LONGEST_SECONDS)

    # --- What stands where ----------------------------------------------------------------------------

    def events(self, request_id: str | None = None) -> list[dict[str, Any]]:
        """The audit trail as the auditor reads it: of one request, or whole."""
        with self.rest(self.running.stage.auditor_token_file) as http:
            lines = http.get("/api/v1/audit/export").raise_for_status().text.splitlines()
        events = [json.loads(line) for line in lines]
        return [event for event in events if request_id in (None, event.get("request_id"))]

    def kinds(self, request_id: str) -> list[str]:
        """The kinds of a request's events, in order."""
        return [event["kind"] for event in self.events(request_id)]

    def rest(self, token_file: str | None) -> httpx2.Client:
        """A client of the bot's REST API with a token, or without one."""
        headers = {}
        if token_file is not None:
            headers["authorization"] = f"Bearer {Path(token_file).read_text().strip()}"
        return httpx2.Client(
            base_url=self.running.stage.bot_url, headers=headers, timeout=60, trust_env=False
        )

    def unlock(self, asked: Asked) -> None:
        """An administrator has looked at the target and frees it."""
        with self.rest(self.admin_token_file()) as admin:
            answer = admin.post(f"/api/v1/requests/{asked.id}/unlock").raise_for_status().json()
        assert answer["freed"], "it held a lock"

    def admin_token_file(self) -> str:
        """The token of an administrator, made when it is first asked for."""
        path = self.running.places.audit / "admin-token"
        if not path.exists():
            processes.run(
                *(processes.OWNERGATE, "bot", "token", "create", "--role", "admin", "--name", "operator"),
                *("--config", str(self.running.places.bot_config), "--out", str(path)),
            )
        return str(path)

    def state_file(self, module: str) -> Path:
        """A module's Terraform state at the runner."""
        folder = Path(self.running.stage.state_folder) / "demo" / f"terraform%2F{module}"
        return folder / "terraform.tfstate"

    def everything_written(self) -> dict[str, bytes]:
        """Whatever bot, runner and GitHub keep in files: databases, logs, repositories, receipts.

        The keys of the stage's own parts are left out.
        """
        found: dict[str, bytes] = {}
        data = self.running.places.data
        for folder in ("bot/data", "runner/data", "runner/state", "logs", "github", "audit"):
            for path in (data / folder).rglob("*"):
                if path.is_file():
                    found[str(path.relative_to(data))] = path.read_bytes()
        return found


def call(tool: str, arguments: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """The body of `POST /api/v1/requests`."""
    return {
        "tool": tool,
        "arguments": dict(arguments),
        "agent": "a script",
        "reason": "a scenario",
        "expect": None,
        "source": None,
        "idempotency_key": None,
        "wait_seconds": 0,
        **more,
    }


def files(module: str, text: str, *, name: str = "main.tf") -> dict[str, dict[str, str]]:
    """A call's `source` that changes one file of a module."""
    return {"files": {f"terraform/{module}/{name}": text}}


@contextmanager
def running(data: Path) -> Iterator[Product]:
    """Starts everything, two agents included, and ends it with the block."""
    data.mkdir(parents=True, exist_ok=True)
    lines: dict[str, Line] = {}
    more = {f"terraform/{module}/main.tf": MAIN for module in (*MODULES, "ownerless", "stranger")}
    variation = Variation(
        policy=policy.write(data / "policy.yaml"),
        files={**more, "CODEOWNERS": CODEOWNERS},
        bot={"limits": {"open_requests_per_agent": OPEN_REQUESTS}, "github": {"polling_seconds": 2}},
        runner={"poll_seconds": 1},
        way=lambda address: lines.setdefault(address, stack.enter_context(line(address))).url,
    )
    with ExitStack() as stack:
        built = stack.enter_context(stage.running(data / "stage", variation=variation))
        portal = stack.enter_context(start_blocking_portal())
        tokens = (built.stage.agent_token_file, built.stage.second_agent_token_file)
        agents = [
            stack.enter_context(
                portal.wrap_async_context_manager(agent.connected(built.stage.bot_url, token))
            )
            for token in tokens
        ]
        people = {
            login: Person(built.stage.github_url, login, token, built.stage.repository)
            for login, token in built.stage.tokens.items()
        }
        for person in people.values():
            stack.callback(person.close)
        yield Product(
            running=built,
            agent=Agent(portal, agents[0]),
            second_agent=Agent(portal, agents[1]),
            people=people,
            to_github=lines[built.github.url],
            to_openbao=lines[built.openbao.address],
        )
        assert built.github.violations == []


def at_once(*actions: Any) -> list[Any]:
    """Runs functions at the same time and returns what each gave, in order.

    Raises:
        Exception: the first that one of them raised.
    """
    results: list[Any] = [None] * len(actions)

    def run(index: int) -> None:
        try:
            results[index] = actions[index]()
        except Exception as error:  # noqa: BLE001  It is raised again below, in the caller's thread.
            results[index] = error

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(actions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        if isinstance(result, Exception):
            raise result
    return results
