"""The lists: repositories, pull requests, issues."""

from github_simulator.model import Repository
from github_simulator.pages.frame import page, state_badge, when, who
from github_simulator.pages.markup import Markup, joined, tag
from github_simulator.world import World


def repository_list(world: World) -> str:
    """The first page."""
    rows = []
    for repository in world.state.repositories.values():
        name = world.state.full_name(repository)
        open_pulls = sum(repository.issues[number].state == "open" for number in repository.pulls)
        kind = "Private" if repository.private else "Public"
        rows.append(
            tag(
                "li",
                tag(
                    "div",
                    tag("a", name, href=f"/{name}", class_="title"),
                    tag("span", kind, class_="label plain"),
                ),
                tag("p", repository.description or "", class_="quiet") if repository.description else None,
                tag("p", tag("a", f"{open_pulls} open pull requests", href=f"/{name}/pulls"), class_="quiet"),
            )
        )
    listed = tag("ul", *rows, class_="rows") if rows else tag("p", "No repositories yet.", class_="empty")
    return page("Repositories", tag("h1", "Repositories"), listed)


def tabs(world: World, repository: Repository, chosen: str) -> Markup:
    """Code, issues and pull requests of a repository."""
    name = world.state.full_name(repository)
    open_pulls = sum(repository.issues[number].state == "open" for number in repository.pulls)
    open_issues = sum(issue.state == "open" for issue in repository.issues.values()) - open_pulls
    choices = (
        ("Code", f"/{name}", None),
        ("Issues", f"/{name}/issues", open_issues),
        ("Pull requests", f"/{name}/pulls", open_pulls),
    )
    return tag(
        "nav",
        *(
            tag(
                "a",
                text,
                tag("span", str(count), class_="count") if count is not None else None,
                href=address,
                class_="chosen" if text == chosen else None,
                aria_current="page" if text == chosen else None,
            )
            for text, address, count in choices
        ),
        class_="tabs",
        aria_label="Repository",
    )


def numbered_list(world: World, repository: Repository, *, pulls: bool) -> str:
    """Pull requests, or the issues that are none, newest first."""
    name = world.state.full_name(repository)
    word = "Pull requests" if pulls else "Issues"
    rows = []
    for number, issue in sorted(repository.issues.items(), reverse=True):
        pull = repository.pulls.get(number)
        if (pull is not None) is not pulls:
            continue
        merged = pull is not None and pull.merged_at is not None
        badge = state_badge(issue.state, draft=pull is not None and pull.draft, merged=merged)
        address = f"/{name}/{'pull' if pulls else 'issues'}/{number}"
        labels = [tag("span", label, class_="label") for label in issue.labels]
        about = joined(f"#{number} by ", who(world, issue.author_id), " ", when(issue.created_at))
        rows.append(
            tag(
                "li",
                tag("div", badge, " ", tag("a", issue.title, href=address, class_="title"), *labels),
                tag("p", about, class_="quiet"),
            )
        )
    empty = tag("p", f"No {word.lower()} yet.", class_="empty")
    return page(
        f"{word} · {name}",
        tabs(world, repository, word),
        tag("ul", *rows, class_="rows") if rows else empty,
        crumbs=((name, f"/{name}"),),
    )
