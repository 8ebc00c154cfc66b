"""Branches, their protection and the rules for them."""

from typing import Any

from github_simulator.calls import Call, Refusal, Reply, not_found
from github_simulator.model import Protection
from github_simulator.representation import commits
from github_simulator.routing import operation


def _tip(call: Call) -> str:
    tip = call.repo.refs.get(f"refs/heads/{call.parameters['branch']}")
    if tip is None:
        raise Refusal(404, "Branch not found")
    return tip


def protection_json(call: Call, branch: str, rules: Protection | None) -> dict[str, Any]:
    """Schema branch-protection."""
    url = f"{call.view.repo_api(call.repo)}/branches/{branch}/protection"
    if rules is None:
        return {
            "enabled": False,
            "required_status_checks": {"enforcement_level": "off", "contexts": [], "checks": []},
        }
    shown: dict[str, Any] = {
        "url": url,
        "enforce_admins": {"url": f"{url}/enforce_admins", "enabled": rules.enforce_admins},
        "required_linear_history": {"enabled": rules.linear_history},
        "allow_force_pushes": {"enabled": rules.allow_force_pushes},
        "allow_deletions": {"enabled": rules.allow_deletions},
        "block_creations": {"enabled": False},
        "required_conversation_resolution": {"enabled": False},
        "lock_branch": {"enabled": False},
        "allow_fork_syncing": {"enabled": False},
    }
    if rules.reviews_required:
        shown["required_pull_request_reviews"] = {
            "url": f"{url}/required_pull_request_reviews",
            "dismiss_stale_reviews": rules.dismiss_stale_reviews,
            "require_code_owner_reviews": rules.require_code_owner_reviews,
            "required_approving_review_count": rules.required_approving_reviews,
            "require_last_push_approval": rules.require_last_push_approval,
        }
    if rules.status_checks_required:
        shown["required_status_checks"] = {
            "url": f"{url}/required_status_checks",
            "strict": rules.strict,
            "contexts": list(rules.contexts),
            "contexts_url": f"{url}/required_status_checks/contexts",
            "checks": [{"context": context, "app_id": None} for context in rules.contexts],
        }
    return shown


@operation("GET /repos/{owner}/{repo}/branches", app="contents:read")
def branches(call: Call) -> Reply:
    names = sorted(ref.removeprefix("refs/heads/") for ref in call.repo.refs if ref.startswith("refs/heads/"))
    wanted = call.query.get("protected")
    if wanted is not None:
        names = [name for name in names if (name in call.repo.protections) == (wanted == "true")]
    api = call.view.repo_api(call.repo)
    return call.page(
        names,
        lambda name: {
            "name": name,
            "commit": {
                "sha": call.repo.refs[f"refs/heads/{name}"],
                "url": f"{api}/commits/{call.repo.refs[f'refs/heads/{name}']}",
            },
            "protected": name in call.repo.protections,
        },
    )


@operation("GET /repos/{owner}/{repo}/branches/{branch}", app="contents:read")
def branch(call: Call) -> Reply:
    name, tip = call.parameters["branch"], _tip(call)
    commit = call.world.store(call.repo).commit(tip)
    if commit is None:
        raise not_found()
    url = f"{call.view.repo_api(call.repo)}/branches/{name}"
    rules = call.repo.protections.get(name)
    protection = protection_json(call, name, rules)
    if rules is not None:
        level = "everyone" if rules.enforce_admins else "non_admins"
        checks = {"enforcement_level": level, "contexts": list(rules.contexts), "checks": []}
        protection = {"enabled": True, "required_status_checks": checks}
    return Reply(
        body={
            "name": name,
            "commit": commits.commit(call.view, call.repo, commit),
            "_links": {"self": url, "html": f"{call.view.repo_html(call.repo)}/tree/{name}"},
            "protected": rules is not None,
            "protection": protection,
            "protection_url": f"{url}/protection",
        }
    )


@operation("GET /repos/{owner}/{repo}/branches/{branch}/protection", app="administration:read", level="admin")
def protection(call: Call) -> Reply:
    _tip(call)
    rules = call.repo.protections.get(call.parameters["branch"])
    if rules is None:
        raise Refusal(404, "Branch not protected")
    return Reply(body=protection_json(call, call.parameters["branch"], rules))


@operation(
    "PUT /repos/{owner}/{repo}/branches/{branch}/protection", app="administration:write", level="admin"
)
def protect(call: Call) -> Reply:
    _tip(call)
    asked = call.body or {}
    reviews, checks = asked.get("required_pull_request_reviews"), asked.get("required_status_checks")
    rules = Protection(
        enforce_admins=bool(asked.get("enforce_admins")),
        allow_force_pushes=bool(asked.get("allow_force_pushes")),
        allow_deletions=bool(asked.get("allow_deletions")),
        linear_history=bool(asked.get("required_linear_history")),
    )
    if reviews is not None:
        rules.reviews_required = True
        rules.required_approving_reviews = reviews.get("required_approving_review_count", 1)
        rules.dismiss_stale_reviews = bool(reviews.get("dismiss_stale_reviews"))
        rules.require_code_owner_reviews = bool(reviews.get("require_code_owner_reviews"))
        rules.require_last_push_approval = bool(reviews.get("require_last_push_approval"))
    if checks is not None:
        named = [check["context"] for check in checks.get("checks") or ()]
        rules.status_checks_required, rules.strict = True, bool(checks.get("strict"))
        rules.contexts = list(dict.fromkeys([*(checks.get("contexts") or ()), *named]))
    call.repo.protections[call.parameters["branch"]] = rules
    return Reply(body=protection_json(call, call.parameters["branch"], rules))


@operation(
    "DELETE /repos/{owner}/{repo}/branches/{branch}/protection", app="administration:write", level="admin"
)
def unprotect(call: Call) -> Reply:
    if call.repo.protections.pop(call.parameters["branch"], None) is None:
        raise Refusal(404, "Branch not protected")
    return Reply(status=204)


@operation("GET /repos/{owner}/{repo}/rules/branches/{branch}")
def rules_for(call: Call) -> Reply:
    """Rulesets that apply to a branch: the simulator has none, and protection is not listed here."""
    return call.page([])
