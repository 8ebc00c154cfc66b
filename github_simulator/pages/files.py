"""The pages of folders and files at a ref."""

from urllib.parse import quote

from github_simulator.git_store import TreeEntry
from github_simulator.model import Repository
from github_simulator.pages.frame import page
from github_simulator.pages.lists import tabs
from github_simulator.pages.markdown import rendered
from github_simulator.pages.markup import Markup, tag
from github_simulator.world import World

LARGEST_SHOWN = 1_000_000


def file_page(world: World, repository: Repository, ref: str, path: str, content: bytes) -> str:
    """A file: Markdown rendered, other text with line numbers."""
    name = world.state.full_name(repository)
    text = content.decode(errors="replace")
    if b"\0" in content[:8000] or len(content) > LARGEST_SHOWN:
        body = tag("p", f"{len(content):,} bytes that are not shown here.", class_="empty")
    elif path.lower().endswith((".md", ".markdown")):
        body = tag("div", rendered(text), class_="markdown boxed")
    else:
        lines = [tag("div", line or " ", class_="line") for line in text.removesuffix("\n").split("\n")]
        body = tag("div", *lines, class_="diff numbered boxed")
    raw = tag("a", "Raw", href=f"/{name}/raw/{ref}/{quote(path)}")
    at = tag("code", ref[:12] if len(ref) == 40 else ref)
    return page(
        f"{path} · {name}",
        tabs(world, repository, "Code"),
        tag("h1", tag("code", path)),
        tag("p", f"{len(content):,} bytes at ", at, " · ", raw, class_="about"),
        body,
        crumbs=((name, f"/{name}"),),
    )


def folder_page(
    world: World,
    repository: Repository,
    ref: str,
    path: str,
    entries: tuple[TreeEntry, ...],
    readme: str | None,
) -> str:
    """A folder and its README."""
    name = world.state.full_name(repository)
    rows: list[Markup] = []
    for entry in sorted(entries, key=lambda one: (one.kind != "tree", one.path)):
        full = f"{path}/{entry.path}".lstrip("/")
        kind = "tree" if entry.kind == "tree" else "blob"
        shown = f"{entry.path}/" if kind == "tree" else entry.path
        rows.append(tag("li", tag("a", shown, href=f"/{name}/{kind}/{ref}/{quote(full)}")))
    return page(
        f"{path or name}",
        tabs(world, repository, "Code"),
        tag("h1", path or name),
        tag("p", "At ", tag("code", ref), class_="about"),
        tag("ul", *rows, class_="rows tree"),
        tag("div", rendered(readme), class_="markdown boxed") if readme else None,
        crumbs=((name, f"/{name}"),),
    )
