"""What each of GitHub's errors means for an effect."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
import requests
from github import GithubException, RateLimitExceededException

from bot import github_failures
from bot.github_failures import Later, Never

NOW = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)
SECONDARY = {"message": "You have exceeded a secondary rate limit. Please wait."}


def later(error: Exception, attempt: int = 1) -> Later:
    meaning = github_failures.meaning(error, attempt=attempt, now=NOW)
    assert isinstance(meaning, Later)
    return meaning


def answered(status: int, data: object = None, **headers: str) -> GithubException:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return GithubException(status, data or {"message": "no"}, named)


@pytest.mark.parametrize("status", [403, 429])
def test_retry_after_rules(status: int) -> None:
    meaning = later(answered(status, SECONDARY, Retry_After="17", x_ratelimit_remaining="0"))
    assert (meaning.seconds, meaning.everything) == (17, True)


def test_a_used_up_limit_waits_for_its_reset() -> None:
    reset = str(int(NOW.timestamp()) + 120)
    meaning = later(answered(403, x_ratelimit_remaining="0", x_ratelimit_reset=reset))
    assert (meaning.seconds, meaning.everything) == (120, True)


def test_a_reset_in_the_past_waits_a_second() -> None:
    meaning = later(answered(403, x_ratelimit_remaining="0", x_ratelimit_reset="1"))
    assert (meaning.seconds, meaning.everything) == (1, True)


@pytest.mark.parametrize(
    "error",
    [
        answered(429),
        answered(403, SECONDARY),
        RateLimitExceededException(403, SECONDARY, {}),
    ],
)
def test_a_limit_without_headers_waits_a_minute(error: GithubException) -> None:
    assert (later(error).seconds, later(error).everything) == (60, True)


def test_a_missing_permission_waits_for_people_and_stops_nothing_else() -> None:
    meaning = later(answered(403, {"message": "Resource not accessible by integration"}))
    assert meaning.seconds >= 60
    assert not meaning.everything


@pytest.mark.parametrize("status", [401, 404, 409, 500, 502, 503])
def test_everything_else_is_tried_later_and_later(status: int) -> None:
    waits = [later(answered(status), attempt).seconds for attempt in range(1, 20)]
    assert waits == sorted(waits)
    assert waits[0] == 2
    assert waits[-1] == github_failures.LONGEST_WAIT_SECONDS


@pytest.mark.parametrize("error", [requests.ConnectionError("x"), requests.Timeout("x"), KeyError("x")])
def test_no_answer_is_tried_later(error: Exception) -> None:
    assert not later(error).everything
    assert "x" not in later(error).trouble.replace("exc", "")


def test_what_github_can_not_do_is_never_tried_again() -> None:
    assert isinstance(github_failures.meaning(answered(422), attempt=1, now=NOW), Never)


def test_a_message_is_one_short_line() -> None:
    assert github_failures.message(answered(500, {"message": "a\nb" + "c" * 300})) == "a b" + "c" * 197
    assert github_failures.message(GithubException(502, "<html>", {})) == "no message"
