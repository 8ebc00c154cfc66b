"""The files of a pull request or commit, with their diffs."""

from urllib.parse import quote

from github_simulator.diffs import ChangedFile
from github_simulator.pages.markup import Markup, tag

OPEN_UP_TO_LINES = 400


def changed_files(address: str, head: str, files: tuple[ChangedFile, ...]) -> Markup:
    """One box for each file; very long ones start closed."""
    return tag("section", *(_file(address, head, file) for file in files), class_="files")


def _file(address: str, head: str, file: ChangedFile) -> Markup:
    name = f"{file.previous_path} → {file.path}" if file.previous_path else file.path
    summary = tag(
        "summary",
        tag("code", name, class_="path"),
        tag("span", file.status, class_="label plain") if file.status != "modified" else None,
        tag(
            "span",
            tag("b", f"+{file.additions}", class_="plus"),
            " ",
            tag("b", f"−{file.deletions}", class_="minus"),
        ),
    )
    view = tag("a", "View file", href=f"{address}/blob/{head}/{quote(file.path)}", class_="view")
    if file.patch is None:
        body = tag("p", "No text diff: the file is binary, empty, only moved, or too large.", class_="quiet")
    else:
        body = tag("div", *_lines(file.patch), class_="diff")
    opened = file.patch is None or file.patch.count("\n") <= OPEN_UP_TO_LINES
    return tag(
        "details", summary, view if file.status != "removed" else None, body, open=opened, class_="file"
    )


def _lines(patch: str) -> list[Markup]:
    kinds = {"+": "add", "-": "del", "@": "hunk", "\\": "hunk"}
    return [
        tag("div", line or " ", class_=f"line {kinds.get(line[:1], '')}".rstrip())
        for line in patch.split("\n")
    ]
