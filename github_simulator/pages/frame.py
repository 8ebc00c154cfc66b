"""The frame of every page: header, title, stylesheet, and the people one can act as."""

from datetime import datetime

from github_simulator.model import Account
from github_simulator.pages.markup import Markup, joined, tag
from github_simulator.world import World

POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)


def page(title: str, *body: str | Markup | None, crumbs: tuple[tuple[str, str], ...] = ()) -> str:
    """A whole document."""
    trail: list[Markup] = []
    for text, address in crumbs:
        trail += [tag("span", "/", class_="slash"), tag("a", text, href=address)]
    header = tag(
        "header",
        tag("a", mark(), tag("span", "GitHub simulator"), href="/", class_="home"),
        tag("nav", *trail, aria_label="Where you are"),
        class_="top",
    )
    note = tag("footer", "A simulator for tests and demos. Nothing here is github.com.", class_="note")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{title} · GitHub simulator"),
        tag("link", rel="stylesheet", href="/_simulator/style.css"),
    )
    return "<!doctype html>" + tag("html", head, tag("body", header, tag("main", *body), note), lang="en")


def mark() -> Markup:
    """The simulator's sign: a branch that joins."""
    return Markup(
        '<svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true" fill="none" '
        'stroke="currentColor" stroke-width="2"><circle cx="6" cy="5" r="2.5"/>'
        '<circle cx="6" cy="19" r="2.5"/><circle cx="18" cy="9" r="2.5"/>'
        '<path d="M6 7.5v9M18 11.5c0 4-8 3-10 6"/></svg>'
    )


def avatar(account: Account | None, size: int = 24) -> Markup:
    """An account's picture."""
    number = account.id if account is not None else 0
    return tag("img", src=f"/_simulator/avatars/{number}", alt="", width=size, height=size, class_="avatar")


def who(world: World, account_id: int | None) -> Markup:
    """An account's name, with a mark for bots."""
    account = world.state.accounts.get(account_id or 0)
    name = tag("strong", account.login.removesuffix("[bot]") if account is not None else "ghost")
    is_bot = account is not None and account.kind == "Bot"
    return joined(name, tag("span", "bot", class_="label plain") if is_bot else None)


def when(moment: datetime) -> Markup:
    """A time, in UTC."""
    shown = moment.strftime("%b %-d, %H:%M")
    return tag("time", shown, datetime=moment.isoformat(), title=f"{moment:%Y-%m-%d %H:%M:%S} UTC")


def state_badge(state: str, *, draft: bool = False, merged: bool = False) -> Markup:
    """Open, Draft, Merged or Closed."""
    name = "Merged" if merged else "Draft" if draft and state == "open" else state.capitalize()
    return tag("span", name, class_=f"badge {name.lower()}")


def act_bar(world: World, persona: str, action: str, buttons: list[tuple[str, str, str]]) -> Markup:
    """The form with which a person acts: whom as, what to say, and a button for each deed."""
    people = [a for a in world.state.accounts.values() if a.id in set(world.state.personal_tokens.values())]
    options = [
        tag("option", person.login, value=person.login, selected=person.login == persona) for person in people
    ]
    return tag(
        "form",
        tag(
            "label",
            tag("span", "Act as"),
            tag("select", *options, name="persona"),
            class_="persona",
        ),
        tag("textarea", "", name="body", rows=3, placeholder="Leave a comment", aria_label="Comment"),
        tag(
            "div",
            *(
                tag("button", text, name="action", value=value, class_=kind, type="submit")
                for value, text, kind in buttons
            ),
            class_="buttons",
        ),
        method="post",
        action=action,
        class_="act",
    )
