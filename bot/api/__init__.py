"""The bot's HTTP interface: reads requests strictly, names the caller, and hands on to the domain.

Routes hold no rules. Each authenticates one role, reads one record, calls one function of the core or of
the audit log in a worker thread, and encodes the answer. Every answer of 4xx and 5xx is a `Problem`.
"""
