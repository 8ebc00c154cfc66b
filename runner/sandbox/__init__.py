"""Sandboxes: one interface, several homes. `runsc` on this host is the first.

A sandbox runs the steps of one call under gVisor's kernel, without network, on a read-only image, in a
work folder of its own, and hands back bytes. Whatever ran in it is untrusted: it may print anything,
leave any file, and try to outlive its deadline. So nothing that it wrote is opened without care, and a
call has an outcome only once all its processes are seen to be gone.

This package decides nothing about who may run what and knows nothing of grants or leases; the runner's
execution calls it with the exact steps, and tests and `ownergate verify` call `check`.
"""
