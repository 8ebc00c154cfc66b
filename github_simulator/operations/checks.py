"""Check runs: only Apps make them; people read them and press their buttons."""

from datetime import datetime
from typing import Any

from github_simulator import events
from github_simulator.calls import AsInstallation, Call, Refusal, Reply, not_found
from github_simulator.model import CheckRun
from github_simulator.operations.commits import resolved
from github_simulator.representation import checks
from github_simulator.routing import operation

LONGEST_OUTPUT = 65_535
MOST_ANNOTATIONS = 50


def _only_apps(call: Call) -> AsInstallation:
    if not isinstance(call.actor, AsInstallation):
        raise Refusal(403, "You must authenticate via a GitHub App.")
    return call.actor


def _found(call: Call) -> CheckRun:
    run = call.repo.check_runs.get(call.number("check_run_id"))
    if run is None:
        raise not_found()
    return run


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _tell(call: Call, run: CheckRun, action: str, **more: Any) -> None:
    content = {"check_run": checks.run(call.view, call.repo, run, in_event=True)} | more
    events.emit(call.world, "check_run", action, content, sender=call.account, repository=call.repo)


def _apply(call: Call, run: CheckRun, asked: dict[str, Any]) -> None:
    output = asked.get("output")
    if output is not None:
        for name in ("summary", "text"):
            if len(output.get(name) or "") > LONGEST_OUTPUT:
                message = f"Only {LONGEST_OUTPUT} characters are allowed; {len(output[name])} were supplied."
                raise Refusal(422, f"Invalid request.\n\n{message}")
        if len(output.get("annotations") or ()) > MOST_ANNOTATIONS:
            raise Refusal(422, f"Invalid request.\n\nNo more than {MOST_ANNOTATIONS} items are allowed.")
        run.title = output.get("title", run.title)
        run.summary, run.text = output.get("summary", run.summary), output.get("text", run.text)
        # Annotations of later updates are added to the ones before.
        run.annotations.extend(output.get("annotations") or ())
    run.name = asked.get("name", run.name)
    run.details_url = asked.get("details_url", run.details_url)
    run.external_id = asked.get("external_id", run.external_id)
    run.started_at = _moment(asked.get("started_at")) or run.started_at
    if "actions" in asked:
        run.actions = list(asked["actions"])
    run.status = asked.get("status", run.status)
    if asked.get("conclusion"):
        run.status, run.conclusion = "completed", asked["conclusion"]
        run.completed_at = _moment(asked.get("completed_at")) or call.now
    elif run.status == "completed" and run.conclusion is None:
        raise Refusal(
            422, 'Invalid request.\n\nMissing conclusion: it is required when the status is "completed".'
        )
    elif run.status != "completed":
        run.conclusion = run.completed_at = None


@operation("POST /repos/{owner}/{repo}/check-runs", app="checks:write")
def create(call: Call) -> Reply:
    actor, asked = _only_apps(call), call.body
    if call.world.store(call.repo).commit(asked["head_sha"]) is None:
        raise Refusal(422, f"No commit found for SHA: {asked['head_sha']}")
    same_suite = (
        run.suite_id
        for run in call.repo.check_runs.values()
        if (run.app_id, run.head_sha) == (actor.app.id, asked["head_sha"])
    )
    suite = next(same_suite, None) or call.state.next_id("suite", 40_000_001)
    run = CheckRun(
        id=call.state.next_id("check_run", 30_000_001),
        app_id=actor.app.id,
        suite_id=suite,
        head_sha=asked["head_sha"],
        name=asked["name"],
        status="queued",
        conclusion=None,
        started_at=call.now,
        completed_at=None,
        external_id="",
        details_url=None,
    )
    _apply(call, run, asked)
    call.repo.check_runs[run.id] = run
    _tell(call, run, "created")
    if run.status == "completed":
        _tell(call, run, "completed")
    shown = checks.run(call.view, call.repo, run)
    return Reply(status=201, body=shown, headers={"location": shown["url"]})


@operation("PATCH /repos/{owner}/{repo}/check-runs/{check_run_id}", app="checks:write")
def update(call: Call) -> Reply:
    actor, run = _only_apps(call), _found(call)
    if run.app_id != actor.app.id:
        raise Refusal(
            403,
            f"Invalid app_id `{actor.app.id}` - check run can only be modified by the GitHub App that "
            "created it.",
        )
    before = run.status
    _apply(call, run, call.body or {})
    if run.status == "completed" and before != "completed":
        _tell(call, run, "completed")
    return Reply(body=checks.run(call.view, call.repo, run))


@operation("GET /repos/{owner}/{repo}/check-runs/{check_run_id}", app="checks:read")
def get(call: Call) -> Reply:
    return Reply(body=checks.run(call.view, call.repo, _found(call)))


@operation("GET /repos/{owner}/{repo}/check-runs/{check_run_id}/annotations", app="checks:read")
def annotations(call: Call) -> Reply:
    run = _found(call)
    return call.page(run.annotations, lambda given: checks.annotation(call.view, call.repo, run, given))


@operation("POST /repos/{owner}/{repo}/check-runs/{check_run_id}/rerequest", app="checks:write", level="push")
def rerequest(call: Call) -> Reply:
    """Ask the App to run again: the run is queued and ``check_run.rerequested`` is sent."""
    run = _found(call)
    run.status, run.conclusion, run.completed_at = "queued", None, None
    _tell(call, run, "rerequested")
    return Reply(status=201, body={})


@operation("GET /repos/{owner}/{repo}/commits/{ref}/check-runs", app="checks:read")
def of_commit(call: Call) -> Reply:
    """Check runs on a commit; the latest of each name unless ``filter=all``."""
    sha = resolved(call, call.parameters["ref"])
    query = call.query
    runs = [
        run
        for run in reversed(call.repo.check_runs.values())
        if run.head_sha == sha
        and query.get("check_name", run.name) == run.name
        and query.get("status", run.status) == run.status
        and query.get("app_id", str(run.app_id)) == str(run.app_id)
    ]
    if query.get("filter", "latest") == "latest":
        latest: dict[tuple[int, str], CheckRun] = {}
        for run in runs:
            latest.setdefault((run.app_id, run.name), run)
        runs = list(latest.values())
    return call.page(runs, lambda run: checks.run(call.view, call.repo, run), wrap="check_runs")
