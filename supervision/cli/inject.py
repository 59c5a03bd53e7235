"""`supervise inject`: injects a fault into an actor, to test its recovery."""

from __future__ import annotations

from typing import Final

import msgspec

from ..faults import DEFAULT_RATES, check
from ..protocol import Done, Inject
from .command import OK, REFUSED, USAGE, CommandError, Context

_UNSEEN: Final = frozenset({"slow", "drop"})
"""Faults that no supervisor ends: without --seconds they last."""


def run(context: Context) -> int:
    """Raises CommandError, which names the wrong option."""
    arguments = context.arguments
    order = Inject(
        name=arguments.actor,
        fault=arguments.fault,
        seconds=arguments.seconds,
        rate=arguments.rate,
        status=arguments.status,
    )
    if wrong := check(order):
        raise CommandError(USAGE, f"--{wrong}")
    order, text = inject(context, order)
    context.show(order, text)
    return OK


def inject(context: Context, order: Inject) -> tuple[Inject, str]:
    """Give the order; `order.name` may be the end of a name. Returns it with the full name, and the text of the result.
    Raises CommandError."""
    if wrong := check(order):
        raise CommandError(USAGE, wrong)
    order = msgspec.structs.replace(order, name=context.full_name(order.name, context.tree()))
    done = context.ask(order, Done)
    if done.error:
        raise CommandError(REFUSED, done.error)
    rate = order.rate or DEFAULT_RATES.get(order.fault, 0.0)
    shown = f"at {rate:g} MiB/s" if order.fault == "leak" else f"at a rate of {rate:g}"
    if order.fault == "slow":
        shown = f"by {rate:g} s"
    details = [shown] * bool(rate) + [f"for {order.seconds:g} s"] * bool(order.seconds)
    if order.fault in _UNSEEN and not order.seconds:
        details.append(f"until it is replaced: `supervise inject {order.name} crash` ends it")
    return order, " ".join([f"{order.fault} injected into {order.name}", *details])
