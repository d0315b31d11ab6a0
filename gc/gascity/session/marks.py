"""The variable that says whose a process is.

Every process of a session inherits it, whatever else it does to get away from its parent, its group
and its terminal. Its value begins with the folder of the provider that started the session, so two
cities never meet. What is not to end with a session has to be started without it.
"""

from __future__ import annotations

MARK = "GC_SESSION_MARK"
