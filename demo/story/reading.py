"""Chapter: a read-only call, answered at once from a sandbox, with a lease that dies first."""

from __future__ import annotations

from demo.story.cast import Cast


async def a_read_only_call(cast: Cast) -> None:
    """The agent looks at the sandbox; nobody has to be asked."""
    tell = cast.teller
    tell.chapter("An agent makes a read-only call")
    tools = await cast.agent.tools()
    tell.say("dana's editor has started `ownergate mcp`. The agent sees the tools that the policy declares:")
    tell.show("  ".join(tools))
    answer = await cast.agent.call("sandbox_report")
    tell.hold(answer.data.get("state") == "succeeded", "the call ran at once; nobody had to be asked")
    result = answer.data["result"]
    tell.show(result["output"])
    lease = result["leases"][0]
    tell.fact("kernel in the sandbox", result["kernel"])
    tell.fact("lease", lease["lease_id"])
    tell.fact("its scope", lease["scope"])
    tell.fact("would have expired", lease["expires_at"])
    tell.fact("revoked", f"{lease['revoked_at']}, powerless after {lease['powerless_after_ms']} ms")
    tell.hold("gvisor" in result["kernel"].lower() or "4.4.0" in result["kernel"], "the kernel is gVisor's")
    tell.hold(
        lease["powerless_after_ms"] >= 0 and lease["revoked_at"] <= lease["expires_at"],
        "OpenBao called the lease revoked before this output was released",
    )
