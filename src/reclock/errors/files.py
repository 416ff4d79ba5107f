"""Failures of disks and object stores."""

from __future__ import annotations

import errno
import re

from reclock.errors.extras import extra_not_installed
from reclock.errors.root import ReclockError

__all__ = ["FileAccessFailed", "known_failure", "plain_text"]

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_OBJECT_STORE = "Generic S3 error"
_NO_SPACE = "No space left on device"
_REFUSED = re.compile("Permission denied|Operation not permitted|Read-only file system")


class FileAccessFailed(ReclockError):
    """A disk or an object store refused to read or write a file, or has no space left (then
    `53100`)."""

    sqlstate = "58030"

    def __init__(self, *, detail: str, is_full: bool) -> None:
        message = "no space is left on a disk" if is_full else "a file cannot be read or written"
        hint = None
        if is_full:
            hint = "free space where the lake, the home and the spill folder are"
        elif _OBJECT_STORE in detail:
            hint = (
                "check that the object store is up, and the settings s3_endpoint, s3_access_key_id "
                "and s3_secret_access_key"
            )
        elif _REFUSED.search(detail):
            hint = (
                "check that the disk is mounted writable, and that the user who runs this process "
                "may write to the folder"
            )
        super().__init__(message, detail=detail, hint=hint)
        if is_full:
            self.sqlstate = "53100"


def known_failure(failure: BaseException) -> ReclockError | None:
    """The error for users, if an exception of the system or of a library says that a file cannot
    be accessed, or that a package is not installed; otherwise None."""
    if (missing := extra_not_installed(failure)) is not None:
        return missing
    detail = plain_text(failure)
    is_full = getattr(failure, "errno", None) in (errno.ENOSPC, errno.EDQUOT) or _NO_SPACE in detail
    return (
        FileAccessFailed(detail=detail, is_full=is_full)
        if is_full or isinstance(failure, OSError)
        else None
    )


def plain_text(failure: BaseException) -> str:
    """The exception's text in one line, without the colours and arrows of some libraries."""
    lines = _COLOURS.sub("", str(failure)).splitlines()
    return ": ".join(filter(None, (line.strip(" \t↳") for line in lines)))
