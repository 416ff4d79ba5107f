"""Where a process puts what does not fit into its memory, and how that goes away again, however the process ended."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class SpillFolder:
    """A folder of this process alone below ``root``, until it is closed or the process ends.

    A process holds a lock on its folder, which ends with it: whoever makes a folder next removes those that nobody locks.
    """

    def __init__(self, root: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        with _locked(root):  # nobody takes a folder for abandoned that is about to be locked
            _remove_abandoned(root)
            self.path = Path(tempfile.mkdtemp(dir=root))
            self._lock = os.open(self.path, os.O_RDONLY)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.close = weakref.finalize(self, _remove, self.path, self._lock, os.getpid())
        """Also called at the end of the process."""


def _remove(path: Path, lock: int, owner: int) -> None:
    if owner == os.getpid():  # what a fork inherits is not its own
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


def _remove_abandoned(root: Path) -> None:
    for folder in root.iterdir():
        try:
            with _locked(folder, wait=False):
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            pass  # its process lives, or it is no folder, or gone


@contextmanager
def _locked(folder: Path, *, wait: bool = True) -> Iterator[None]:
    """Raises ``OSError`` if it is not to wait and somebody else has the lock."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(descriptor)
