"""No sensitive value leaves, and nothing else is hidden."""

from __future__ import annotations

import json
from typing import Any

import pytest

from policy import terraform_mask, terraform_secrets
from policy.refusal import Code, Refused
from tests.unit.policy import plan_examples


def masked(case: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(terraform_mask.mask(plan_examples.document(case)))
    return result


def after(tree: dict[str, Any], address: str) -> Any:
    return next(item for item in tree["resource_changes"] if item["address"] == address)["change"]["after"]


def hidden(ordinal: int = 1) -> dict[str, Any]:
    return {"$ownergate": "sensitive", "ordinal": ordinal}


def test_nested_sensitive_values_are_hidden_and_their_neighbours_are_not() -> None:
    values = after(masked("create"), "terraform_data.secrets")["input"]
    assert values["in_list"] == ["public", hidden()]
    assert values["in_map"] == {"user": "app", "pass word": hidden()}
    assert values["in_set"] == hidden()
    assert values["pin"] == hidden()
    assert values["built"] == hidden()


def test_inputs_and_outputs_are_hidden() -> None:
    tree = masked("create")
    assert tree["variables"] == {"password": hidden(), "pin": hidden()}
    assert tree["output_changes"]["password"]["after"] == hidden()


def test_numbers_are_kept_as_terraform_wrote_them() -> None:
    values = after(masked("create"), "terraform_data.numbers[1]")["input"]
    assert values["large"] == {"$ownergate": "number", "text": "12345678901234567890"}
    assert values["huge"] == {"$ownergate": "number", "text": "1" + "0" * 400}
    assert values["index"] == 1
    assert values["switch"] is True


def test_unknown_values_stand_where_they_will_be() -> None:
    values = after(masked("create"), "terraform_data.secrets")
    assert values["id"] == {"$ownergate": "unknown"}
    assert masked("create")["output_changes"]["label"]["after"]["blue"] == {"$ownergate": "unknown"}


def test_the_same_value_is_hidden_where_the_maps_do_not_say_so() -> None:
    tree = masked("leaks")
    values = after(tree, "terraform_data.copy")["input"]
    assert values["plain"] == hidden()
    assert values["sentence"] == {
        "$ownergate": "text",
        "parts": ["the secret is ", hidden(), ", twice ", hidden()],
    }
    assert values["encoded"] == {"$ownergate": "text", "parts": ['{"secret":"', hidden(), '"}']}
    assert values["$ownergate:sensitive:1"] == "as a name"
    assert tree["output_changes"]["told"]["after"] == hidden()
    assert tree["checks"][0]["problems"][0]["parts"] == ["The secret is ", hidden(), "."]
    assert [item["address"] for item in tree["resource_changes"]] == [
        "terraform_data.copy",
        'terraform_data.keyed["(sensitive)"]',
    ]
    assert "hush" not in json.dumps(tree)


@pytest.mark.parametrize(
    ("case", "secret"),
    [("create", "correct-horse"), ("worst", "token-number"), ("leaks", "hush")],
)
def test_no_byte_of_a_secret_is_left(case: str, secret: str) -> None:
    assert secret.encode() in plan_examples.document(case)
    assert secret.encode() not in terraform_mask.mask(plan_examples.document(case))


def test_a_changed_secret_can_be_told_from_an_unchanged_one() -> None:
    tree = masked("worst")
    change = next(i for i in tree["resource_changes"] if i["address"] == "terraform_data.web")["change"]
    assert change["before"]["triggers_replace"]["token"] == hidden(1)
    assert change["after"]["triggers_replace"]["token"] == hidden(2)


def test_what_nobody_is_shown_does_not_leave() -> None:
    tree = masked("worst")
    assert not tree.keys() & {"prior_state", "planned_values", "configuration", "relevant_attributes"}
    assert "no-op" in plan_examples.document("nothing").decode()
    assert masked("nothing")["resource_changes"] == []


def edited(case: str, **changes: Any) -> bytes:
    tree = plan_examples.tree(case)
    tree["resource_changes"][0]["change"].update(changes)
    return json.dumps(tree).encode()


@pytest.mark.parametrize("marks", [{"input": ["x"]}, {"input": {"a": True}}, [True], "yes", {"input": 1}])
def test_a_map_that_does_not_fit_hides_the_whole_value(marks: Any) -> None:
    document = edited(
        "nothing", actions=["update"], after={"input": ["one-value", "two-value"]}, after_sensitive=marks
    )
    assert b"one-value" not in terraform_mask.mask(document)


def test_null_is_not_hidden() -> None:
    document = edited("nothing", actions=["delete"], after=None, after_sensitive=True)
    tree = json.loads(terraform_mask.mask(document))
    assert tree["resource_changes"][0]["change"]["after"] is None


def test_two_resources_that_would_look_alike_are_refused() -> None:
    tree = plan_examples.tree("leaks")
    resource = next(item for item in tree["resource_changes"] if item["name"] == "keyed")
    secret = tree["variables"]["secret"]["value"]
    other = {**resource, "address": resource["address"].replace('["', f'["{json.dumps(secret)[1:-1]}')}
    tree["resource_changes"].append(other)
    with pytest.raises(Refused, match="told apart") as caught:
        terraform_mask.mask(json.dumps(tree).encode())
    assert caught.value.refusal.code is Code.PLAN_INVALID


def test_words_of_the_source_are_not_hidden_in_addresses() -> None:
    tree = plan_examples.tree("create")
    tree["variables"]["password"]["value"] = "terraform_data"
    masked_tree = json.loads(terraform_mask.mask(json.dumps(tree).encode()))
    assert after(masked_tree, "terraform_data.secrets")["input"]["in_list"][0] == "public"


def test_secrets_do_not_show_in_a_repr() -> None:
    secrets = terraform_secrets.collect(json.loads(plan_examples.document("leaks")))
    assert secrets.find('so hush "hush" <now>!') == ((3, 20),)
    assert "hush" not in repr(secrets)


def test_overlapping_secrets_are_hidden_together() -> None:
    secrets = terraform_secrets.Secrets(["abcdef", "efgh", "cdef"])
    assert secrets.find("xabcdefghx") == ((1, 9),)
    assert secrets.find("abcdef--efgh") == ((0, 6), (8, 12))
    assert secrets.find("abc") == ()


def test_a_search_that_would_never_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terraform_secrets, "MOST_WORK", 100_000)
    secrets = terraform_secrets.Secrets(f"aaaa{number:06}" for number in range(10_000))
    with pytest.raises(Refused) as caught:
        secrets.find("a" * 1_000_000)
    assert caught.value.refusal.code is Code.CANNOT_BE_SHOWN_WHOLE
