"""Who takes part in a chapter, and what earlier chapters leave for later ones."""

from __future__ import annotations

from dataclasses import dataclass, field

from demo import company
from demo.agent import Agent, Answer
from demo.people import Person
from demo.stage import Stage
from demo.telling import Teller


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request that a chapter left behind."""

    id: str
    number: int
    digest: str
    head: str
    base: str


@dataclass(kw_only=True)
class Cast:
    """The cast. `done` is the request that was approved and ran, `open` the one that nobody approved."""

    teller: Teller
    stage: Stage
    agent: Agent
    people: dict[str, Person]
    done: Asked | None = None
    open: Asked | None = None
    replayed_review: int = 0
    notes: dict[str, str] = field(default_factory=dict)

    def asked(self, answer: Answer) -> Asked:
        """What a pending answer says, with the commits as the pull request has them."""
        number = int(str(answer.data["link"]).rsplit("/", 1)[1])
        pull = self.people["alice"].pull_request(number)
        return Asked(
            id=answer.data["id"],
            number=number,
            digest=answer.data["digest"],
            head=pull["head"]["sha"],
            base=pull["base"]["sha"],
        )


def edited(text: str, team: str) -> str:
    """The demo module with another team in its label: one line."""
    return text.replace('team = "payments"', f'team = "{team}"')


def change(text: str, team: str) -> dict[str, dict[str, str]]:
    """The same as a call's `source`."""
    return {"files": {company.SOURCE_FILE: edited(text, team)}}
