"""Named points at which a process can be made to die, so that recovery is tested on the code that really runs.

A call of `reach` marks a moment between two steps whose order matters: before a file is named, after a commit but before its
answer. Unless the environment variable `RECLOCK_CRASH_AT` equals the point's name nothing happens; if it does, the process is
killed at once by SIGKILL: no handler, no `finally`, no flush, as when the machine takes it away.

Names are `<part>.<operation>.<moment>`, for example `collections.append.before_commit`.
"""

import os
import signal

VARIABLE = "RECLOCK_CRASH_AT"


def reach(name: str) -> None:
    """Mark that this process is at the point of that name. Guarantees to return unless the point was asked for."""
    if os.environ.get(VARIABLE) == name:
        os.kill(os.getpid(), signal.SIGKILL)
