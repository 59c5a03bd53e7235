"""Bodies as the server takes them in: which forms it reads and writes, what becomes of unknown fields."""

from __future__ import annotations

from .errors import StatusError, generic
from .objects import Obj
from .request import Request
from .schemas import typed

READ = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")
_WRITTEN = (*READ, "application/*", "*/*", "")


def check_content_type(request: Request, known: tuple[str, ...]) -> None:
    """Raises StatusError 415."""
    form = request.headers.get("content-type", READ[0]).partition(";")[0].strip()
    if not request.body or form in known:
        return
    if known != READ:
        raise generic(415)
    text = f"the body of the request was in an unknown format - accepted media types include: {', '.join(known)}"
    raise StatusError(415, text)


def check_accept(request: Request) -> None:
    """Raises StatusError 406."""
    wanted = [one.partition(";")[0].strip() for one in request.headers.get("accept", "").split(",")]
    if not set(wanted) & set(_WRITTEN):
        raise StatusError(406, f"406: Not Acceptable\n\nAvailable representations: {', '.join(READ)}")


def read_as(kind: str, obj: Obj, request: Request) -> Obj:
    """As its type has it. What a node sends is read strictly: an unknown field is a mistake of the agent. Others are
    warned, unless they ask for more or less (`fieldValidation`). Raises StatusError 400."""
    how = request.query.get("fieldValidation", "")
    strict = how == "Strict" or not request.user.admin
    return typed(kind, obj, strict=strict, warn=(lambda text: None) if how == "Ignore" else request.warnings.append)
