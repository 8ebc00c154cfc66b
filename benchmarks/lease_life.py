"""How long a lease takes to be issued, revoked and seen powerless, on a real OpenBao on the loopback.

Beside it stands the engine's own floor: the bare API call for the certificate.
`python -m benchmarks.lease_life [leases]`.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests import leases


def measure(count: int) -> dict[str, float]:
    """Milliseconds, medians."""
    times: dict[str, list[float]] = {"bare issue": [], "issue": [], "revoke": [], "powerless": []}
    with tempfile.TemporaryDirectory() as folder, leases.world(Path(folder)) as world:
        broker = world.broker()
        operator = world.operator
        for _ in range(count):
            began = time.perf_counter()
            world.calls.write(operator, "pki/issue/show", {"common_name": leases.READ_NAME, "ttl": "600s"})
            after_bare = time.perf_counter()
            lease = leases.read_lease(broker)
            after_issue = time.perf_counter()
            broker.revoke(lease.lease_id)
            after_revoke = time.perf_counter()
            broker.powerless(lease, timeout_seconds=10)
            after_powerless = time.perf_counter()
            for name, seconds in (
                ("bare issue", after_bare - began),
                ("issue", after_issue - after_bare),
                ("revoke", after_revoke - after_issue),
                ("powerless", after_powerless - after_revoke),
            ):
                times[name].append(seconds * 1000)
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> None:
    """Prints one line."""
    found = measure(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
    print("lease: " + ", ".join(f"{name} {value:.1f} ms" for name, value in found.items()))


if __name__ == "__main__":
    main()
