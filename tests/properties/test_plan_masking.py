"""Whatever a plan looks like, no sensitive text of it survives masking."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from policy import terraform_mask
from tests.unit.policy import plan_examples

# Secrets are made of letters that nothing else in the masked form is made of, so that finding one
# means that it was left.
secrets = st.text(alphabet='ÄÖÜßé"\\\n<>', min_size=4, max_size=12)
plain = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**53), 2**53), st.text(alphabet="abc /", max_size=6)
)


def _trees(secret: str) -> st.SearchStrategy[tuple[Any, Any]]:
    """Pairs of (value, sensitive map) in which the secret stands, marked and unmarked."""
    leaf = st.one_of(
        plain.map(lambda value: (value, False)),
        st.just((secret, True)),
        st.just((secret, False)),
        st.tuples(st.text("ab", max_size=3), st.text("ab", max_size=3)).map(
            lambda around: (around[0] + secret + around[1], False)
        ),
        st.just((json.dumps({"k": secret}, ensure_ascii=False), False)),
    )
    names = st.one_of(st.text("xyz", min_size=1, max_size=3), st.just(secret), st.just(f"k {secret}"))

    def unzip_list(pairs: list[tuple[Any, Any]]) -> tuple[Any, Any]:
        return [value for value, _ in pairs], [marks for _, marks in pairs]

    def unzip_dict(pairs: dict[str, tuple[Any, Any]]) -> tuple[Any, Any]:
        marks = {name: marks for name, (_, marks) in pairs.items() if marks is not False}
        return {name: value for name, (value, _) in pairs.items()}, marks

    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3).map(unzip_list),
            st.dictionaries(names, inner, max_size=3).map(unzip_dict),
        ),
        max_leaves=8,
    )


def _texts(tree: Any) -> list[str]:
    if isinstance(tree, dict):
        return [*tree, *(text for item in tree.values() for text in _texts(item))]
    if isinstance(tree, list):
        return [text for item in tree for text in _texts(item)]
    return [tree] if isinstance(tree, str) else []


@settings(deadline=None, max_examples=80)
@given(st.data(), secrets)
def test_no_sensitive_text_survives(data: st.DataObject, secret: str) -> None:
    (before, before_marks), (after, after_marks) = data.draw(st.tuples(_trees(secret), _trees(secret)))
    tree = plan_examples.tree("worst")
    tree["resource_changes"][0]["change"].update(
        before={"a": before},
        before_sensitive={"a": before_marks},
        after={"a": after},
        after_sensitive={"a": after_marks},
    )
    tree["output_changes"]["size"].update(before=before, before_sensitive=before_marks, after={"x": secret})
    tree["variables"]["token"]["value"] = secret
    tree["variables"]["size"]["value"] = {"copy": [after, secret]}
    tree["checks"] = [
        {
            "address": {"to_display": f'check.c["{secret}"]'},
            "status": "fail",
            "instances": [
                {
                    "address": {"to_display": "check.c"},
                    "status": "fail",
                    "problems": [{"message": f"It is {secret}, and again {secret}."}],
                }
            ],
        }
    ]
    masked = json.loads(terraform_mask.mask(json.dumps(tree).encode()))
    assert not [text for text in _texts(masked) if secret in text]


@settings(deadline=None, max_examples=80)
@given(st.data(), secrets)
def test_masking_twice_the_same_gives_the_same(data: st.DataObject, secret: str) -> None:
    value, marks = data.draw(_trees(secret))
    tree = plan_examples.tree("outputs_only")
    tree["output_changes"]["greeting"].update(after=value, after_sensitive=marks)
    document = json.dumps(tree).encode()
    assert terraform_mask.mask(document) == terraform_mask.mask(document)
