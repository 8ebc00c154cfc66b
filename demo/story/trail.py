"""Chapter: what the pull request keeps, and the audit trail, verified without any network."""

from __future__ import annotations

from demo import processes
from demo.story.cast import Cast


async def the_trail(cast: Cast) -> None:
    """The result in the pull request; the whole chain exported, shown, verified."""
    tell, stage, done = cast.teller, cast.stage, cast.done
    tell.chapter("What remains: the pull request and the audit trail")
    if done is None:
        raise RuntimeError("this chapter needs the ones before")
    comment = cast.people["alice"].wait_for_comment(done.number, "ownergate-audit-v1")
    tell.say(f"The one status comment of pull request {done.number}, as it stands there:")
    tell.show(comment, most=44)
    folder = stage.path / "audit"
    saved = folder / f"pull-request-{done.number}.md"
    saved.write_text(comment)
    trail = folder / "trail.jsonl"
    trail.write_text(
        processes.run(
            *(processes.OWNERGATE, "audit", "export"),
            *("--bot-url", stage.bot_url, "--token-file", stage.auditor_token_file),
        )
    )
    tell.say("An auditor exports the whole chain, and looks at the same request:")
    tell.show(processes.run(processes.OWNERGATE, "audit", "show", "--export", str(trail), done.id))
    verdict = processes.run(
        *(processes.OWNERGATE, "audit", "verify", "--export", str(trail)),
        *("--pull-request", str(saved), "--receipt-keys", stage.receipt_keys_file),
    )
    tell.say("Verified offline: the chain, the pull request's part of it, and the runner's signed receipt:")
    tell.show(verdict)
    tell.hold("The audit trail holds." in verdict, "the trail holds, and agrees with page and receipt")
    lines = trail.read_text().splitlines()
    altered = folder / "altered.jsonl"
    altered.write_text("\n".join(line.replace("alice", "bob", 1) for line in lines) + "\n")
    try:
        processes.run(processes.OWNERGATE, "audit", "verify", "--export", str(altered))
        noticed = False
    except processes.DidNotStart:
        noticed = True
    altered.unlink()
    tell.hold(noticed, "a trail in which one name was changed does not hold")
