"""Leases: a credential for one call, taken with one login, recorded, revoked, and seen to be powerless.

What a lease may do was decided in the engine, by roles that were made from the policy; this package can
only ask. A destructive role is given to a login by grant alone. Every lease stands in a journal before it
is handed out, and leaves it only when the engine itself says that it is dead, so that a crash at any
point leaves something that a sweeper can finish.

It never decides who may have a lease, never keeps a credential on a disk, and never writes one into a
log, an error or a `repr`. The runner's execution calls it.
"""
