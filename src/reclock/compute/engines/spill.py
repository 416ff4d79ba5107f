"""Folders for data that does not fit into memory, removed however the process ends."""

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
    """A private folder of this process below ``root``, until it is closed or the process ends.

    A process holds a lock on its folder while it lives. A process that creates a folder removes
    those without a lock.
    """

    def __init__(self, root: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        with _locked(root):  # or another process may remove the folder before it is locked
            _remove_abandoned(root)
            self.path = Path(tempfile.mkdtemp(dir=root))
            self._lock = os.open(self.path, os.O_RDONLY)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.close = weakref.finalize(self, _remove, self.path, self._lock, os.getpid())
        """Also called at the end of the process."""


def _remove(path: Path, lock: int, owner: int) -> None:
    if owner == os.getpid():  # a fork does not own the folder that it inherits
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
    """Raises ``OSError`` if another process has the lock and ``wait`` is false."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(descriptor)
