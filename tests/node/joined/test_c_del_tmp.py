import time
from tests.support.joined import NODE, NODES, joined, is_ready
from tests.support.runtime import real_runtime, session_runtime
def test_x(real_runtime):
    with joined(real_runtime, "own") as own:
        was = own.nodes.now[f"/{NODE}"]["metadata"]["uid"]
        own.api.call("DELETE", f"{NODES}/{NODE}")
        time.sleep(15)
        print(own.nodes.now)
        print("\n".join(l for l in own.node.log.read_text().splitlines() if "heartbeat" in l or "incarnation 2" in l or "node" in l)[-5000:])
        assert 0
