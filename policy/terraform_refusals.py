"""What a Terraform plan may not contain, because it would run or decide something that nobody saw.

A plan shows what changes on resources. It does not show what else happens while it is applied:
provisioners run commands, providers with settings of their own talk to other places, data sources
that wait until the apply read something that nobody has read, write-only arguments send values that
no plan holds. Each of these is a refusal. The rules look at the whole document of
`terraform show -json`, which only the runner ever has.

One thing is not visible here and must be refused in the source: a provisioner in a `removed` block
runs at apply, and Terraform's JSON does not list it (`source` refuses it).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from policy.refusal import Code, Refused, refuse
from policy.terraform_changes import ACTIONS, incomplete
from policy.terraform_format import read
from policy.terraform_json import Tree, invalid, items, record, text

HARMLESS_SETTINGS = frozenset({"default_labels", "default_tags", "features", "location", "region", "zone"})
"""Settings of a provider that may stand in a module, as constants: they name no host, no credential
and no program. Whatever else a provider needs, the policy gives it through the environment."""

_MANAGED, _DATA = "managed", "data"


def check(document: bytes, *, providers: Collection[str]) -> None:
    """Refuses a plan that would do more than it shows.

    Args:
        document: what `terraform show -json` printed for the saved plan, not masked.
        providers: the full names that the target allows, `terraform.io/builtin/terraform`.

    Raises:
        Refused: `plan_invalid`, `plan_incomplete`, `plan_unseen` or `plan_provider`.
    """
    plan = read(document)
    _check_complete(plan)
    _check_changes(plan)
    _check_providers(plan, frozenset(providers))
    configuration = record(plan["configuration"])
    for where, module in _modules(record(configuration.get("root_module"))):
        _check_module(where, module)


def _check_complete(plan: dict[str, Tree]) -> None:
    if plan["errored"]:
        raise incomplete("planning it failed")
    if not plan["complete"]:
        raise incomplete("it leaves changes for a later plan")
    for part in ("deferred_changes", "deferred_action_invocations"):
        if plan.get(part):
            raise incomplete(f"it leaves changes for a later plan ({part})")
    if plan.get("action_invocations"):
        raise _unseen("it invokes provider actions", "Remove the action blocks from the module.")


def _check_changes(plan: dict[str, Tree]) -> None:
    for part in ("resource_changes", "resource_drift"):
        for resource in map(record, items(plan.get(part))):
            address = text(resource["address"])
            change = record(resource["change"])
            words = tuple(text(word) for word in items(change["actions"]))
            if words not in ACTIONS:
                raise invalid(f"{address} has the action {'/'.join(words)!r}, which ownergate does not know")
            if resource["mode"] not in (_MANAGED, _DATA):
                raise invalid(f"{address} is of the mode {resource['mode']!r}, which ownergate does not know")
            if "read" in words:
                raise _unseen(
                    f"the data source {address} is read only while the plan is applied",
                    "Make the data source depend only on values that are known when planning.",
                )
            if record(change.get("importing")).get("unknown"):
                raise incomplete(f"the id under which {address} is imported is not known yet")


def _check_providers(plan: dict[str, Tree], allowed: frozenset[str]) -> None:
    for where, provider in _providers(plan):
        if provider not in allowed:
            raise refuse(
                Code.PLAN_PROVIDER,
                f"the plan: {where} uses the provider {provider}",
                rule=f"This target allows {', '.join(sorted(allowed)) or 'no provider'}.",
                remedy="Use an allowed provider, or ask the owners of the policy to allow this one.",
            )
    configured = record(record(plan["configuration"]).get("provider_config"))
    for name, settings in configured.items():
        for setting, expression in record(record(settings).get("expressions")).items():
            if setting not in HARMLESS_SETTINGS or not _is_constant(expression):
                raise refuse(
                    Code.PLAN_PROVIDER,
                    f"the plan: the provider {name} has the setting {setting}",
                    rule=(
                        "A module may not tell a provider where to connect, as whom, or what to run; "
                        f"as constants it may set {', '.join(sorted(HARMLESS_SETTINGS))}."
                    ),
                    remedy="Remove the setting; the policy gives providers theirs through the environment.",
                )


def _providers(plan: dict[str, Tree]) -> Iterator[tuple[str, str]]:
    """Every place that names a provider: settings, changes, and the state before and after."""
    for name, provider in record(record(plan["configuration"]).get("provider_config")).items():
        yield f"the configuration of {name}", text(record(provider)["full_name"])
    for part in ("resource_changes", "resource_drift"):
        for resource in map(record, items(plan.get(part))):
            yield text(resource["address"]), text(resource["provider_name"])
    for values in (record(plan.get("planned_values")), record(record(plan.get("prior_state")).get("values"))):
        modules = [record(values.get("root_module"))]
        while modules:
            module = modules.pop()
            for resource in map(record, items(module.get("resources"))):
                yield f"{text(resource['address'])} in the state", text(resource["provider_name"])
            modules += map(record, items(module.get("child_modules")))


def _is_constant(expression: Tree) -> bool:
    """Whether an expression, or a block with nested ones, refers to nothing."""
    if isinstance(expression, list):
        return all(map(_is_constant, expression))
    if isinstance(expression, dict):
        if "constant_value" in expression:
            return len(expression) == 1
        return "references" not in expression and all(map(_is_constant, expression.values()))
    return False


def _modules(module: dict[str, Tree], where: str = "") -> Iterator[tuple[str, dict[str, Tree]]]:
    yield where, module
    for name, call in record(module.get("module_calls")).items():
        yield from _modules(record(record(call).get("module")), f"{where}module.{name}.")


def _check_module(where: str, module: dict[str, Tree]) -> None:
    for resource in map(record, items(module.get("resources"))):
        address = where + text(resource["address"])
        if resource["mode"] not in (_MANAGED, _DATA):
            raise _unseen(
                f"{address} is of the mode {resource['mode']!r}",
                "Use managed resources and data sources only: others run again when the plan is applied.",
            )
        if items(resource.get("provisioners")):
            raise _unseen(
                f"{address} has a provisioner",
                "Remove it: its commands run at apply, and no plan shows what they do.",
            )
        if resource["type"] == "terraform_remote_state":
            raise _unseen(
                f"{address} reads another state",
                "Pass what is needed as an argument: a state holds the secrets of everything in it.",
            )
        for name in record(resource.get("expressions")):
            if name.endswith("_wo"):
                raise _unseen(
                    f"{address} has the write-only argument {name}",
                    "Use an argument that the plan shows, or marks as sensitive.",
                )
    for part in ("variables", "outputs"):
        for name, declared in record(module.get(part)).items():
            if record(declared).get("ephemeral"):
                raise _unseen(
                    f"{where}{name} is ephemeral",
                    "Make it an ordinary value: an ephemeral one is in no plan.",
                )


def _unseen(what: str, remedy: str) -> Refused:
    return refuse(
        Code.PLAN_UNSEEN,
        f"the plan: {what}",
        rule="Whatever runs or is read while a plan is applied must have been seen by those who approve it.",
        remedy=remedy,
    )
