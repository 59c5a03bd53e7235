"""Files and listings below /var/log, as Go's http.FileServer shows them.

Links out of the directory are not followed, because pods with a hostPath volume can write there (KHV002).
"""

from __future__ import annotations

import errno
import html
import os
import stat
from email.utils import formatdate
from typing import BinaryIO, Final
from urllib.parse import quote

import msgspec

from actors.http_servers.serving.http_error import HttpError
from actors.shared.linux.confined_paths import UnsafePathError, clean_relative, open_beneath

_PLAIN: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_NOT_THERE: Final = {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ENXIO}


class DirectoryListing(msgspec.Struct, frozen=True):
    """`names`: as listed; a directory's name ends with a slash."""

    names: list[str]


class OpenFile(msgspec.Struct, frozen=True):
    """A file to read, up to its size when it was opened."""

    file: BinaryIO
    size: int
    modified: str
    """In HTTP's time format."""


def look(root: str, path: str) -> DirectoryListing | OpenFile:
    """`path` relative to the root, '' for the root itself. Raises HttpError."""
    try:
        top = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        raise HttpError(404, "404 page not found\n") from None
    try:
        opened = open_beneath(top, "/".join(clean_relative(path.strip("/"))), flags=_PLAIN, links=True)
    except UnsafePathError:
        raise HttpError(404, "404 page not found\n") from None
    except ValueError:
        raise HttpError(400, "invalid URL path\n") from None
    except OSError as error:
        if error.errno in _NOT_THERE:
            raise HttpError(404, "404 page not found\n") from None
        raise HttpError(403 if error.errno in {errno.EACCES, errno.EPERM} else 500, "403 Forbidden\n") from None
    finally:
        os.close(top)
    return _of_descriptor(opened)


def _of_descriptor(opened: int) -> DirectoryListing | OpenFile:
    """The directory or file behind a descriptor, which is closed unless it is a file's."""
    found = os.fstat(opened)
    if stat.S_ISREG(found.st_mode):
        return OpenFile(os.fdopen(opened, "rb", buffering=0), found.st_size, formatdate(found.st_mtime, usegmt=True))
    try:
        if not stat.S_ISDIR(found.st_mode):
            raise HttpError(404, "404 page not found\n")  # reading a pipe or a device may block or never end
        with os.scandir(opened) as entries:
            names = [entry.name + ("/" if entry.is_dir(follow_symlinks=False) else "") for entry in entries]
    finally:
        os.close(opened)
    return DirectoryListing(sorted(names))


def listing(directory: DirectoryListing) -> str:
    """HTML, with the names escaped."""
    lines = []
    for name in directory.names:
        shown = name.encode("utf-8", "surrogateescape")
        link = quote(shown, safe="/~!$&'()*,=@-._")
        lines.append(f'<a href="{html.escape(link)}">{html.escape(shown.decode("utf-8", "replace"))}</a>\n')
    head = '<!doctype html>\n<meta name="viewport" content="width=device-width">\n'
    return head + "<pre>\n" + "".join(lines) + "</pre>\n"
