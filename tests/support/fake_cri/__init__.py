"""A container runtime that only pretends, with the manners of containerd and failures on order.

fake = FakeRuntime()
client = fake.client()                           # in this process; or, over a socket: async with serve(fake, path)
fake.faults.add("CreateContainer", Fault(late=0.2, times=1))
"""

from .faults import Fault, Faults
from .runtime import FakeRuntime
from .server import serve
from .world import RpcFailure

__all__ = ["FakeRuntime", "Fault", "Faults", "RpcFailure", "serve"]
