"""The C half of the standard library's `signal`: of it, what the fork server calls."""

from collections.abc import Callable, Iterable

def signal(number: int, action: int | Callable[[int, object], None], /) -> object: ...
def pthread_sigmask(how: int, mask: Iterable[int], /) -> set[int]: ...
def siginterrupt(number: int, interrupts: bool, /) -> None: ...
def valid_signals() -> set[int]: ...

SIGABRT: int
SIGBUS: int
SIGCHLD: int
SIGCONT: int
SIGFPE: int
SIGILL: int
SIGINT: int
SIGKILL: int
SIGPIPE: int
SIGQUIT: int
SIGSEGV: int
SIGSTOP: int
SIGSYS: int
SIGTERM: int
SIGTRAP: int
SIGTSTP: int
SIGTTIN: int
SIGTTOU: int
SIGUSR1: int
SIGXFSZ: int
SIG_SETMASK: int
