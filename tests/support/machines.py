"""Made-up machines: their sysfs, and what is read of it."""

from __future__ import annotations

from pathlib import Path

from actors.container_manager.topology.machine import LogicalCpu, MachineTopology, NumaNode, read_machine
from actors.shared.linux.cpu_list import format_cpu_list

GIB = 1 << 30


def machine(
    sockets: int = 1,
    nodes: int = 1,
    cores: int = 4,
    threads: int = 1,
    caches: int = 0,
    memory: int = 16 * GIB,
    huge_pages: dict[str, int] | None = None,
) -> MachineTopology:
    """`cores`: of each node. `caches`: last-level caches of each node; 0: one for each socket. CPUs are numbered as
    usual: first one of each core, socket by socket, then the second ones. With fewer nodes than sockets, a node has
    several sockets; `cores` is then of each socket."""
    units = max(sockets, nodes)
    total = units * cores
    found: list[LogicalCpu] = []
    for number in range(total * threads):
        core = number % total
        unit, within = divmod(core, cores)
        socket = unit * sockets // units
        cache = unit * caches + within * caches // cores if caches else socket
        found.append(LogicalCpu(number, core, socket, unit * nodes // units, cache))
    kinds = {"memory": memory, **(huge_pages or {})}
    distances = {one: {other: 10 if one == other else 20 for other in range(nodes)} for one in range(nodes)}
    return MachineTopology(tuple(found), tuple(NumaNode(number, distances[number], kinds) for number in range(nodes)))


def write_sysfs(root: Path, made: MachineTopology) -> None:
    """The tree that `read_machine` reads this machine from."""
    system = root / "sys/devices/system"
    _write(system / "cpu/online", format_cpu_list(made.online))
    for cpu in made.cpus:
        directory = system / f"cpu/cpu{cpu.id}"
        siblings = made.whole_cores(frozenset({cpu.id}))
        _write(directory / "topology/thread_siblings_list", format_cpu_list(siblings))
        _write(directory / "topology/physical_package_id", str(cpu.socket))
        _write(directory / "cache/index2/level", "2")
        _write(directory / "cache/index2/id", str(cpu.core))
        _write(directory / "cache/index3/level", "3")
        _write(directory / "cache/index3/id", str(cpu.cache))
    for node in made.nodes:
        directory = system / f"node/node{node.id}"
        _write(directory / "cpulist", format_cpu_list(made.of_nodes([node.id])))
        _write(directory / "distance", " ".join(str(node.distances[other]) for other in sorted(node.distances)))
        _write(directory / "meminfo", f"Node {node.id} MemTotal:       {node.memory['memory'] // 1024} kB\n")
        for kind, size in node.memory.items():
            if kind == "hugepages-2Mi":
                _write(directory / "hugepages/hugepages-2048kB/nr_hugepages", str(size >> 21))
            if kind == "hugepages-1Gi":
                _write(directory / "hugepages/hugepages-1048576kB/nr_hugepages", str(size >> 30))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n")


def reread(root: Path, made: MachineTopology) -> MachineTopology:
    """The machine as the agent reads it."""
    write_sysfs(root, made)
    return read_machine(str(root))
