"""A real OpenBao for tests, with the layout that the policy wants.

`running_openbao(folder)` gives a bare server; the writes come from the test.
"""

from __future__ import annotations

from demo.openbao_server import OpenBaoServer, running_openbao

__all__ = ["OpenBaoServer", "running_openbao"]
