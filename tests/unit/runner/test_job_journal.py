"""What a killed runner owes an answer for."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from policy.refusal import Code, Refused
from policy.runner_protocol import JobKind
from runner.job_journal import JobInWork, JobJournal
from tests.unit.runner.examples import NOW, REQUEST_ID

JOB = JobInWork(
    job_id="job-1",
    request_id=REQUEST_ID,
    kind=JobKind.EXECUTE,
    tool="terraform_apply",
    grant_id=None,
    digest=None,
    begun_at=NOW,
)


def test_a_job_is_there_until_it_is_answered_for(tmp_path: Path) -> None:
    journal = JobJournal(tmp_path / "jobs")
    journal.write(JOB)
    claimed = replace(JOB, grant_id="a" * 64, digest="b" * 64)
    journal.write(claimed)
    assert JobJournal(tmp_path / "jobs").left_over() == (claimed,)
    assert journal.find("job-1") == claimed
    journal.remove("job-1")
    journal.remove("job-1")
    assert journal.left_over() == ()
    assert journal.find("job-1") is None


def test_jobs_are_given_oldest_first(tmp_path: Path) -> None:
    journal = JobJournal(tmp_path / "jobs")
    later = replace(JOB, job_id="job-0", kind=JobKind.READ, begun_at=NOW + timedelta(seconds=1))
    journal.write(later)
    journal.write(JOB)
    assert journal.left_over() == (JOB, later)


def test_a_name_of_the_bots_is_no_path(tmp_path: Path) -> None:
    journal = JobJournal(tmp_path / "jobs")
    journal.write(replace(JOB, job_id="../../etc/passwd"))
    assert [path.parent for path in (tmp_path / "jobs").iterdir()] == [tmp_path / "jobs"]


def test_an_empty_file_owes_nothing_and_a_broken_one_stops_everything(tmp_path: Path) -> None:
    journal = JobJournal(tmp_path / "jobs")
    (tmp_path / "jobs" / "a.json").touch()
    assert journal.left_over() == ()
    (tmp_path / "jobs" / "b.json").write_text('{"job_id":')
    with pytest.raises(Refused):
        journal.left_over()
    (tmp_path / "jobs" / "b.json").write_text("{}")
    with pytest.raises(Refused) as raised:
        journal.left_over()
    assert raised.value.refusal.code is Code.JOURNAL_INVALID
