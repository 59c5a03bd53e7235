"""Names are sockets in a private directory; a name always refers to the incarnation in service.

An incarnation listens on its own socket file, `pleg#3`. When it is ready it renames a link to that file to `pleg`.
Sockets are bound and connected through the descriptor of the directory, so the 108-byte limit of socket paths does not
matter.
"""

from __future__ import annotations

import errno
import hashlib
import os
import signal
import socket
import stat
import struct
from pathlib import Path

from .. import process_stat

_LONGEST_FILE = 72
BACKLOG = 128
_CHECK = "check"


class NamingError(Exception):
    """Base class of name errors."""


class NoSuchActor(NamingError):
    """Nothing listens under that name. `gone`: nothing ever will again."""

    def __init__(self, name: str, gone: bool = False) -> None:
        super().__init__(name)
        self.gone = gone


class PeerRefused(NamingError):
    """The peer runs as another user."""


def peer(sock: socket.socket) -> tuple[int, int]:
    """(pid, uid) of the other end of a connected socket, from the time when it connected or started to listen."""
    pid, uid, _ = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return pid, uid


def check_peer(sock: socket.socket) -> int:
    """The pid of the other end. Raises PeerRefused if it runs as another user."""
    pid, uid = peer(sock)
    if uid != os.geteuid():
        raise PeerRefused(f"pid {pid} runs as uid {uid}, not {os.geteuid()}")
    return pid


def file_of(name: str) -> str:
    """The file name of an actor's name."""
    plain = name.replace("/", "~")
    if len(plain) <= _LONGEST_FILE:
        return plain
    digest = hashlib.blake2b(name.encode(), digest_size=12).hexdigest()
    return f"{plain[: _LONGEST_FILE - 25]}~{digest}"


def published(run_dir: str | Path) -> list[str]:
    """The sorted names in service in that run directory, without those that are too long for a file name. Empty when no
    agent runs there, or when the directory is another user's."""
    found = []
    try:
        with os.scandir(f"{run_dir}/names") as entries:
            for entry in entries:
                is_name = not {"#", "+"} & set(entry.name) and len(entry.name) < _LONGEST_FILE
                if is_name and stat.S_ISSOCK(entry.stat(follow_symlinks=False).st_mode):
                    found.append(entry.name.replace("~", "/"))
    except OSError:
        return []
    return sorted(found)


class Names:
    """The directory of the sockets."""

    def __init__(self, path: Path, *, make: bool = True) -> None:
        """Opens the directory; `make`: creates it if missing. Raises OSError; PeerRefused if it is not private."""
        if make:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path = path
        self.fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        found = os.fstat(self.fd)
        if found.st_uid != os.geteuid():
            raise PeerRefused(f"{path} belongs to uid {found.st_uid}, not {os.geteuid()}")
        if stat.S_IMODE(found.st_mode) != 0o700:
            os.fchmod(self.fd, 0o700)

    def _path_of(self, file: str) -> str:
        return f"/proc/self/fd/{self.fd}/{file}"

    def listen(self, name: str, incarnation: int) -> socket.socket:
        """A listening socket for this incarnation, not published yet."""
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        file = f"{file_of(name)}#{incarnation}"
        self._unlink(file)
        try:
            sock.bind(self._path_of(file))
            sock.listen(BACKLOG)
        except OSError:
            sock.close()
            raise
        return sock

    def publish(self, name: str, incarnation: int, alias: str = "") -> None:
        """Make the name (or the alias) refer to this incarnation."""
        file = file_of(alias or name)
        self._unlink(f"{file}+")
        os.link(f"{file_of(name)}#{incarnation}", f"{file}+", src_dir_fd=self.fd, dst_dir_fd=self.fd)
        os.rename(f"{file}+", file, src_dir_fd=self.fd, dst_dir_fd=self.fd)

    def check(self) -> None:
        """Raises OSError if a published name leads to no socket here: on some shared file systems, and on some of FUSE,
        a second name of the file of a socket does not."""
        with self.listen(_CHECK, 0):
            try:
                self.publish(_CHECK, 0)
                self.connect(_CHECK)[0].close()
            except NoSuchActor:
                text = "its file system does not lead to a socket by a second name of its file, as a tmpfs does"
                raise OSError(errno.EOPNOTSUPP, text, str(self.path)) from None
            finally:
                self.forget(_CHECK, 0)

    def restore(self, name: str, incarnation: int) -> bool:
        """Publish the incarnation's name again if its file was removed. Returns whether it was missing. Raises
        NoSuchActor when its own socket file is gone too: no process can connect to it."""
        own, file = f"{file_of(name)}#{incarnation}", file_of(name)
        there = [self._is_there(file), self._is_there(own)]
        if all(there):
            return False
        if not any(there):
            raise NoSuchActor(name)
        if there[0]:
            os.link(file, own, src_dir_fd=self.fd, dst_dir_fd=self.fd)
        else:
            self.publish(name, incarnation)
        return True

    def changed_at(self) -> int:
        """When a file was last made, renamed or removed in the directory, in nanoseconds since 1970."""
        return os.fstat(self.fd).st_mtime_ns

    def unpublish(self, name: str, incarnation: int, alias: str) -> None:
        """Remove the alias if it refers to this incarnation."""
        try:
            inode = os.stat(file_of(alias), dir_fd=self.fd).st_ino
            own = os.stat(f"{file_of(name)}#{incarnation}", dir_fd=self.fd).st_ino
        except FileNotFoundError:
            return
        if inode == own:
            self._unlink(file_of(alias))

    def identity(self, name: str) -> int:
        """A number that identifies the process in service under the name or alias; 0: there is none."""
        try:
            found = os.stat(file_of(name), dir_fd=self.fd)
        except FileNotFoundError:
            return 0
        return found.st_ino if stat.S_ISSOCK(found.st_mode) else 0

    def forget(self, name: str, incarnation: int) -> None:
        """The incarnation has ended: remove its name until the next one is published."""
        own = f"{file_of(name)}#{incarnation}"
        for file in (own, f"{file_of(name)}+", file_of(name)):
            self._unlink(file)

    def retire(self, name: str) -> None:
        """The name will never be used again: senders get an error at once."""
        os.close(os.open(file_of(name), os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600, dir_fd=self.fd))

    def connect(self, name: str) -> tuple[socket.socket, int]:
        """A connected socket and the pid of the listener. Raises NoSuchActor, PeerRefused."""
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            sock.connect(self._path_of(file_of(name)))
            return sock, check_peer(sock)
        except OSError as error:
            sock.close()
            if error.errno not in (errno.ENOENT, errno.ECONNREFUSED, errno.EAGAIN, errno.ENOTSOCK):
                raise
            raise NoSuchActor(name, gone=self._is_retired(name)) from error
        except PeerRefused:
            sock.close()
            raise

    def clear(self) -> None:
        """Remove every file in it."""
        for file in os.listdir(self.fd):
            self._unlink(file)

    def remove(self) -> None:
        """Remove the directory with everything in it."""
        self.clear()
        if self.is_there():
            os.rmdir(self.path)

    def is_there(self) -> bool:
        """Whether its path still refers to this directory, also if a look at it fails."""
        try:
            return os.stat(self.path).st_ino == os.fstat(self.fd).st_ino
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True

    def _is_there(self, file: str) -> bool:
        try:
            return stat.S_ISSOCK(os.stat(file, dir_fd=self.fd).st_mode)
        except FileNotFoundError:
            return False

    def _unlink(self, file: str) -> None:
        try:
            os.unlink(file, dir_fd=self.fd)
        except FileNotFoundError:
            pass

    def _is_retired(self, name: str) -> bool:
        try:
            return stat.S_ISREG(os.stat(file_of(name), dir_fd=self.fd).st_mode)
        except FileNotFoundError:
            return False


_PF_EXITING = 0x4
_FLAGS, _PENDING = 6, 28
"""Positions of the kernel's flags and of the pending signals in /proc/PID/stat after the name (proc(5): fields 9,
31)."""


def is_ending(pid: int) -> bool:
    """Whether a process has ended or is exiting: its sockets are closed one by one, so some still accept."""
    fields = process_stat.fields(pid)
    if not fields:
        return not process_stat.is_alive(pid)
    return fields[0] in ("Z", "X") or bool(int(fields[_FLAGS]) & _PF_EXITING)


def is_dying(pid: int) -> bool:
    """Whether the process is ending, or has a pending SIGKILL. False for pid 0."""
    if not pid:
        return False
    fields = process_stat.fields(pid)
    return is_ending(pid) or bool(fields and int(fields[_PENDING]) & 1 << signal.SIGKILL - 1)
