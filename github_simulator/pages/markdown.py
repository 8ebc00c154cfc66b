"""GitHub-flavoured Markdown, made safe the way GitHub does it: an allow-list of elements and attributes."""

import html
import re
from html.parser import HTMLParser
from urllib.parse import urlsplit

from markdown_it import MarkdownIt

from github_simulator.pages.markup import Markup

ELEMENTS = """
a abbr b blockquote br code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i img ins kbd li ol p pre q s
samp small span strike strong sub summary sup table tbody td tfoot th thead tr tt ul var
"""
ALLOWED = frozenset(ELEMENTS.split())
DROPPED_WITH_CONTENT = frozenset(
    {"script", "style", "iframe", "object", "textarea", "title", "template", "noscript"}
)
ATTRIBUTES = frozenset({"align", "alt", "colspan", "height", "open", "rowspan", "start", "title", "width"})
VOID = frozenset({"br", "hr", "img"})

_PARSER = MarkdownIt("gfm-like", {"html": True, "linkify": False})


def rendered(text: str) -> Markup:
    """A body as GitHub would show it."""
    cleaner = _Cleaner()
    cleaner.feed(_PARSER.render(text))
    cleaner.close()
    return Markup(_with_alerts(_with_checkboxes(cleaner.finished())))


def _with_checkboxes(body: str) -> str:
    body = re.sub(r"(<li>(?:\s*<p>)?)\[ \] ", r'\1<input type="checkbox" disabled> ', body)
    return re.sub(r"(<li>(?:\s*<p>)?)\[[xX]\] ", r'\1<input type="checkbox" checked disabled> ', body)


def _with_alerts(body: str) -> str:
    """Quotes that start with ``[!WARNING]`` and the like become coloured boxes."""

    def box(match: re.Match[str]) -> str:
        kind = match[1].lower()
        return f'<blockquote class="alert {kind}">\n<p><strong>{kind.capitalize()}</strong><br>'

    return re.sub(r"<blockquote>\s*<p>\[!(NOTE|TIP|IMPORTANT|WARNING|CAUTION)\]\s*", box, body)


class _Cleaner(HTMLParser):
    """Copies what is allowed, escapes text, and closes what was left open."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._out: list[str] = []
        self._open: list[str] = []
        self._dropping = 0

    def finished(self) -> str:
        while self._open:
            self._out.append(f"</{self._open.pop()}>")
        return "".join(self._out)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in DROPPED_WITH_CONTENT:
            self._dropping += 1
        if self._dropping or tag not in ALLOWED:
            return
        kept = "".join(_attribute(tag, name, value) for name, value in attrs)
        if tag == "a":
            kept += ' rel="nofollow noreferrer"'
        self._out.append(f"<{tag}{kept}>")
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in DROPPED_WITH_CONTENT:
            self._dropping = max(self._dropping - 1, 0)
            return
        if self._dropping or tag not in self._open:
            return
        while self._open:
            last = self._open.pop()
            self._out.append(f"</{last}>")
            if last == tag:
                return

    def handle_data(self, data: str) -> None:
        if not self._dropping:
            self._out.append(html.escape(data, quote=False))


def _attribute(tag: str, name: str, value: str | None) -> str:
    if name == "open" and tag == "details":
        return " open"
    if name in {"href", "src"} and value is not None:
        if urlsplit(value).scheme not in {"", "http", "https", "mailto"}:
            return ""
        return f' {name}="{html.escape(value)}"'
    if name == "class" and tag == "code" and value is not None and re.fullmatch(r"language-[\w+-]+", value):
        return f' class="{value}"'
    if name in ATTRIBUTES and value is not None:
        return f' {name}="{html.escape(value)}"'
    return ""
