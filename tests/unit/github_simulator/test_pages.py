"""The pages: safe Markdown, buttons that act like the API, and no surprises."""

import pytest

from github_simulator.pages.markdown import rendered
from tests.unit.github_simulator.conftest import Acme


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        '<a href="javascript:alert(1)">x</a>',
        '<a href="data:text/html,x">x</a>',
        "<svg onload=alert(1)>",
        "<iframe src=//x></iframe>",
        "<style>*{display:none}</style>",
        '<form action="/x"><input name=a></form>',
        "<details open onclick=alert(1)><summary>s</summary></details>",
        "<!-- <script>alert(1)</script> -->",
        "<b><scr<script>ipt>alert(1)</script>",
    ],
)
def test_markdown_is_made_safe(text: str) -> None:
    page = rendered(text).lower()
    for bad in (
        "<script",
        "<img src=x on",
        "onclick=",
        "onload=",
        '="javascript',
        '="data:',
        "<svg",
        "<iframe",
    ):
        assert bad not in page
    for bad in ("<style", "<form", "<input name"):
        assert bad not in page


def test_markdown_has_githubs_extras() -> None:
    table, tasks, alert = "| a |\n|---|\n| b |", "- [x] done", "> [!WARNING]\n> careful"
    folded = "<details><summary>s</summary>\n\n```diff\n+ x\n```\n</details>"
    text = f"{table}\n\n{tasks}\n\n{alert}\n\n{folded}"
    page = rendered(text)
    for part in (
        "<table>",
        "checked disabled",
        "alert warning",
        "<details><summary>s</summary>",
        "language-diff",
    ):
        assert part in page
    assert page.count("<details>") == page.count("</details>") == 1


def test_left_open_elements_do_not_leak() -> None:
    assert rendered("<div><details>").endswith("</details></div>")
    assert "</main>" not in rendered("</main></body>")


def test_every_page_has_a_strict_policy(acme: Acme) -> None:
    acme.pull(docs__guide="x\n")
    acme.user("alice").post(f"{acme.path}/issues", json={"title": "An issue"})
    visitor = acme.github.with_token(None)
    for path in (
        "/",
        "/acme/infra",
        "/acme/infra/tree/main/docs",
        "/acme/infra/pulls",
        "/acme/infra/issues",
        "/acme/infra/pull/1",
        "/acme/infra/pull/1/files",
        "/acme/infra/issues/2",
        "/acme/infra/blob/feature/docs/guide",
        "/acme/infra/blob/main/README.md",
    ):
        page = visitor.get(path)
        assert page.status_code == 200, path
        assert page.headers["content-security-policy"].startswith("default-src 'none'; style-src 'self'")
    assert visitor.get("/acme/infra/pull/9").status_code == 404
    assert visitor.get("/nobody/nothing").status_code == 404
    assert visitor.get("/acme/infra/raw/main/README.md").headers["content-type"].startswith("text/plain")


def test_buttons_act_as_the_chosen_person(acme: Acme) -> None:
    pull = acme.pull()
    visitor, path = acme.github.with_token(None), f"/acme/infra/pull/{pull['number']}"

    def press(persona: str, action: str, body: str = "") -> str:
        answer = visitor.post(path, data={"persona": persona, "action": action, "body": body})
        assert answer.status_code in {200, 303}
        return answer.text

    assert "Can not approve your own pull request" in press("alice", "approve")
    assert press("bob", "request_changes", "why?") == ""
    assert press("carol", "approve", "fine") == ""
    assert press("alice", "comment", "**thanks**") == ""
    assert "nobody called" in press("nobody", "approve")
    assert "no button" in press("bob", "explode")
    assert press("bob", "close") == ""
    assert press("bob", "reopen") == ""
    assert press("bob", "merge") == ""
    page = visitor.get(path).text
    for part in ("requested changes", "approved these changes", "<strong>thanks</strong>", "Merged"):
        assert part in page
    reviews = acme.user("alice").get(f"{acme.path}/pulls/{pull['number']}/reviews").json()
    assert [(one["user"]["login"], one["state"]) for one in reviews] == [
        ("bob", "CHANGES_REQUESTED"),
        ("carol", "APPROVED"),
    ]


def test_what_people_write_is_escaped(acme: Acme) -> None:
    acme.world.push(acme.repo, "x", {"<b>.txt": "<script>\n"}, author="alice", message="<i>m</i>")
    asked = {"title": "<script>t</script>", "head": "x", "base": "main", "body": "<script>b</script>"}
    number = acme.user("alice").post(f"{acme.path}/pulls", json=asked).json()["number"]
    page = acme.github.with_token(None).get(f"/acme/infra/pull/{number}").text
    assert "<script" not in page
    assert "<i>m</i>" not in page
    assert "&lt;b&gt;.txt" in page
