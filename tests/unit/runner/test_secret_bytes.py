"""A secret shows nowhere by accident."""

from __future__ import annotations

import dataclasses
import logging
import pickle

import pytest

from runner.secret_bytes import SecretBytes

VALUE = b"hunter2-hunter2"


@dataclasses.dataclass(frozen=True)
class Holder:
    secret: SecretBytes


def test_is_shown_by_nothing(caplog: pytest.LogCaptureFixture) -> None:
    secret = SecretBytes(VALUE)
    logging.getLogger("test").warning("%s %r", secret, Holder(secret))
    shown = [repr(secret), str(secret), f"{secret}", f"{secret:>40}", repr(Holder(secret)), caplog.text]
    try:
        raise ValueError(secret)
    except ValueError as error:
        shown.append(repr(error))
    assert not [text for text in shown if "hunter2" in text]
    assert secret.reveal() == VALUE
    assert len(secret) == len(VALUE)


def test_is_not_pickled_or_compared_with_bytes() -> None:
    with pytest.raises(TypeError):
        pickle.dumps(SecretBytes(VALUE))
    with pytest.raises(TypeError):
        dataclasses.asdict(Holder(SecretBytes(VALUE)))
    assert SecretBytes(VALUE) == SecretBytes(VALUE)
    assert SecretBytes(VALUE) != SecretBytes(b"other")
    assert SecretBytes(VALUE) != VALUE
    assert hash(SecretBytes(VALUE)) == hash(SecretBytes(b"other"))
