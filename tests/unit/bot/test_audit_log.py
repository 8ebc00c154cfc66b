"""The audit chain in the database: it holds, it is only added to, and an older copy is noticed."""

from __future__ import annotations

import json
import shutil
import threading
from typing import Any

import pytest
from sqlalchemy.exc import IntegrityError

from bot import schema
from bot.audit_log import AuditLog
from policy import audit
from policy.audit import Event, Kind
from policy.receipt import AuditTip
from policy.refusal import Code, Refused
from tests.unit.bot.ground import NOW, Ground


def append(
    ground: Ground, kind: Kind = Kind.TOOL_REQUEST, request_id: str | None = None, **data: Any
) -> Event:
    with ground.database.transaction() as connection:
        return ground.audit.append(connection, kind, request_id, data, at=ground.clock.now())


def append_and_fail(ground: Ground) -> None:
    with ground.database.transaction() as connection:
        ground.audit.append(connection, Kind.GRANT_ISSUED, None, {}, at=NOW)
        raise ZeroDivisionError


def everything(ground: Ground) -> tuple[Event, ...]:
    with ground.database.reading() as connection:
        return ground.audit.events(connection)


def stored_tip(ground: Ground) -> dict[str, Any]:
    tip: dict[str, Any] = json.loads(ground.tip_file.read_bytes())
    return tip


def back_up(ground: Ground) -> None:
    # The last connection that closes moves everything from the log into the one file.
    ground.database.close()
    shutil.copy(ground.folder / "bot.db", ground.folder / "yesterday.db")


def restore(ground: Ground) -> None:
    ground.database.close()
    for file in ground.folder.glob("bot.db*"):
        file.unlink()
    shutil.copy(ground.folder / "yesterday.db", ground.folder / "bot.db")


def test_the_chain_holds_over_requests_that_mix(ground: Ground) -> None:
    for number in range(10):
        append(ground, request_id=f"og-{number % 3}", number=number)
    append(ground, Kind.BOT_PAUSED, by="carol")
    events = everything(ground)
    assert [event.sequence for event in events] == list(range(1, 12))
    with ground.database.reading() as connection:
        tip = ground.audit.tip(connection)
        of_one = ground.audit.events(connection, "og-1")
    assert audit.verify(events, tip=tip) == ()
    assert audit.verify_request(of_one, request_id="og-1") == ()
    assert [event.data["number"] for event in of_one] == [1, 4, 7]


def test_an_event_falls_with_its_transaction(ground: Ground) -> None:
    append(ground)
    with pytest.raises(ZeroDivisionError):
        append_and_fail(ground)
    assert [event.kind for event in everything(ground)] == [Kind.TOOL_REQUEST]
    assert stored_tip(ground)["sequence"] == 1


def test_appends_of_many_threads_make_one_chain(ground: Ground) -> None:
    def work(name: str) -> None:
        for _ in range(10):
            append(ground, request_id=name)

    threads = [threading.Thread(target=work, args=(f"og-{number}",)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    events = everything(ground)
    assert len(events) == 60
    assert audit.verify(events, tip=events[-1].tip) == ()
    assert stored_tip(ground) == {"sequence": 60, "hash": events[-1].hash}


def test_secrets_never_enter(ground: Ground) -> None:
    append(ground, token="hello", nested={"lease_id": "pki/issue/x/1", "password": "hunter2"})
    (event,) = everything(ground)
    assert event.data == {
        "token": "[removed]",
        "nested": {"lease_id": "pki/issue/x/1", "password": "[removed]"},
    }


@pytest.mark.parametrize("statement", ["UPDATE events SET kind = 'x'", "DELETE FROM events"])
def test_rows_are_only_ever_added(ground: Ground, statement: str) -> None:
    append(ground)
    with pytest.raises(IntegrityError, match="only ever added"), ground.database.transaction() as connection:
        connection.exec_driver_sql(statement)


def test_pages_follow_each_other(ground: Ground) -> None:
    for _ in range(5):
        append(ground)
    with ground.database.reading() as connection:
        first = ground.audit.events(connection, limit=2)
        second = ground.audit.events(connection, after=first[-1].sequence, limit=2)
    assert [event.sequence for event in (*first, *second)] == [1, 2, 3, 4]
    assert [event.sequence for page in ground.audit.pages() for event in page] == [1, 2, 3, 4, 5]


def test_the_tip_at_an_earlier_event(ground: Ground) -> None:
    first = append(ground)
    append(ground)
    with ground.database.reading() as connection:
        assert ground.audit.at(connection, 1) == first.tip
        assert ground.audit.at(connection, 3) is None
        assert ground.audit.at(connection, 0) is None


def test_a_new_bot_attests_its_empty_chain(ground: Ground) -> None:
    assert stored_tip(ground) == {"sequence": 0, "hash": "0" * 64}


def test_a_tip_that_stayed_behind_is_brought_up(ground: Ground) -> None:
    append(ground)
    behind = ground.tip_file.read_bytes()
    newest = append(ground)
    ground.tip_file.write_bytes(behind)
    ground.audit.open(at=NOW)
    assert stored_tip(ground) == {"sequence": 2, "hash": newest.hash}


def test_a_database_from_yesterday_is_refused_until_an_operator_accepts_it(ground: Ground) -> None:
    append(ground)
    back_up(ground)
    lost = append(ground)
    restore(ground)
    with pytest.raises(
        Refused, match=r"ends at event 1, while .* attests event 2, which it doesn't have"
    ) as no:
        ground.audit.open(at=NOW)
    assert no.value.refusal.code is Code.DATABASE_RESTORED
    assert "--accept-restore" in no.value.refusal.remedy
    assert stored_tip(ground) == {"sequence": 2, "hash": lost.hash}
    ground.audit.open(at=NOW, accept_restore=True)
    events = everything(ground)
    assert (events[-1].kind, events[-1].data) == (
        Kind.RESTORE_ACCEPTED,
        {"attested_sequence": 2, "attested_hash": lost.hash, "found_sequence": 1},
    )
    assert audit.verify(events, tip=AuditTip(sequence=2, hash=stored_tip(ground)["hash"])) == ()
    ground.audit.open(at=NOW)


def test_a_database_that_went_another_way_is_refused_too(ground: Ground) -> None:
    append(ground)
    back_up(ground)
    append(ground, said="what happened")
    attested = ground.tip_file.read_bytes()
    restore(ground)
    append(ground, said="something else")
    append(ground)
    ground.tip_file.write_bytes(attested)
    with pytest.raises(Refused, match="attests event 2, which it doesn't have"):
        ground.audit.open(at=NOW)


def test_a_new_database_beside_an_old_tip_is_refused(ground: Ground) -> None:
    append(ground)
    ground.database.close()
    for file in ground.folder.glob("bot.db*"):
        file.unlink()
    ground.database.create()
    with pytest.raises(Refused, match="is empty, while"):
        ground.audit.open(at=NOW)


def test_a_missing_tip_of_a_chain_that_is_not_empty_is_refused(ground: Ground) -> None:
    append(ground)
    ground.tip_file.unlink()
    with pytest.raises(Refused, match="is missing"):
        ground.audit.open(at=NOW)


@pytest.mark.parametrize("content", [b"", b"{}", b'{"sequence": 1}', b"\xff", b'{"sequence":-1,"hash":"x"}'])
def test_a_tip_file_with_something_else_in_it_is_refused(ground: Ground, content: bytes) -> None:
    ground.tip_file.write_bytes(content)
    with pytest.raises(Refused) as caught:
        ground.audit.open(at=NOW)
    assert str(ground.tip_file) in caught.value.refusal.what


@pytest.mark.parametrize(
    "change",
    [
        'UPDATE events SET data = \'{"said":"nothing"}\' WHERE sequence = 2',
        "UPDATE events SET hash = substr(hash, 2) || '0' WHERE sequence = 2",
        "DELETE FROM events WHERE sequence = 2",
        "UPDATE audit_tip SET hash = substr(hash, 2) || '0'",
        "DELETE FROM audit_tip",
    ],
)
def test_a_chain_whose_end_was_changed_is_not_added_to(ground: Ground, change: str) -> None:
    append(ground, said="one")
    append(ground, said="two")
    with ground.database.transaction() as connection:
        connection.exec_driver_sql("DROP TRIGGER events_no_update")
        connection.exec_driver_sql("DROP TRIGGER events_no_delete")
        connection.exec_driver_sql(change)
    with pytest.raises(Refused):
        ground.audit.open(at=NOW, accept_restore=True)


def test_a_change_in_the_middle_is_found_by_the_verifier(ground: Ground) -> None:
    for number in range(3):
        append(ground, number=number)
    with ground.database.transaction() as connection:
        connection.exec_driver_sql("DROP TRIGGER events_no_update")
        connection.exec_driver_sql("UPDATE events SET data = '{\"number\":7}' WHERE sequence = 2")
    faults = audit.verify(everything(ground), tip=None)
    assert [fault.sequence for fault in faults] == [2]


def test_a_tip_that_can_t_be_written_is_told_and_made_good(ground: Ground) -> None:
    shutil.rmtree(ground.tip_file.parent)
    ground.tip_file.parent.write_text("a file where the folder should be")
    append(ground)
    assert ground.audit.tip_file_error is not None
    assert len(everything(ground)) == 1
    ground.tip_file.parent.unlink()
    event = append(ground)
    assert ground.audit.tip_file_error is None
    assert stored_tip(ground) == {"sequence": 2, "hash": event.hash}


def test_another_log_over_the_same_files_agrees(ground: Ground) -> None:
    append(ground)
    AuditLog(ground.database, ground.tip_file).open(at=NOW)
    with ground.database.reading() as connection:
        assert connection.execute(schema.audit_tip.select()).one().sequence == 1
