"""A whole machine for tests: Debian 13 with its own kernel and systemd, under qemu's emulation of a processor.

What it needs of the host is a Unix socket and a file; its network reaches the host's loopback as 10.0.2.2.
"""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from actors.shared.linux.parent_death import ends_with_parent
from tests.host.guest.agent import Done, GuestAgent

HOST_AS_SEEN_INSIDE = "10.0.2.2"
ACCELERATOR = "TROUPELET_TEST_ACCELERATOR"
"""Environment variable: qemu's -accel, such as kvm; without it the processor is emulated."""
EMULATED = "tcg,thread=multi,tb-size=512"
PROCESSOR = "max,cx16=off,la57=off"
"""qemu 7.2 emulates cmpxchg16b wrongly: the kernel stops with a double fault."""
MEMORY_MIB = 3072
BOOT_SECONDS = 1500.0
COMMAND_SECONDS = 600.0
OFF_SECONDS = 900.0
KERNEL_FLAGS = "console=ttyS0 root=/dev/vda rw net.ifnames=0 mitigations=off quiet"
LOOK_AGAIN_SECONDS = 0.5


class Machine:
    """`folder` has disk.img, swap.img, vmlinuz, initrd, and gets the console's log. The disk keeps what is written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._socket = folder / "agent.sock"
        self._process: subprocess.Popen[bytes] | None = None
        self._agent = GuestAgent(self._socket)

    @property
    def console(self) -> str:
        """The last lines."""
        log = self.folder / "console.log"
        return log.read_text(errors="replace")[-3000:] if log.exists() else ""

    def boot(self) -> float:
        """Until systemd has started all. Answers the seconds that it took."""
        started_at = time.monotonic()
        self._socket.unlink(missing_ok=True)
        with (self.folder / "qemu.log").open("ab") as log:
            self._process = subprocess.Popen(
                ends_with_parent(self._command()), stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )
        while not self._answers():
            assert self._process.poll() is None, (self.folder / "qemu.log").read_text()
            assert time.monotonic() < started_at + BOOT_SECONDS, f"it does not boot:\n{self.console}"
            time.sleep(LOOK_AGAIN_SECONDS)
        state = self._agent.run("systemctl is-system-running --wait", BOOT_SECONDS)
        assert state.out.strip() == "running", self.run("systemctl --failed --no-legend; journalctl -b -p err").out
        return time.monotonic() - started_at

    def run(self, command: str, *, data: str = "", seconds: float = COMMAND_SECONDS) -> Done:
        """It may fail."""
        return self._agent.run(command, seconds, data)

    def out(self, command: str, *, data: str = "", seconds: float = COMMAND_SECONDS) -> str:
        """What it prints, without white space around it; it must not fail."""
        done = self.run(command, data=data, seconds=seconds)
        assert done.code == 0, f"{command}: {done.code}\n{done.out}{done.err}"
        return done.out.strip()

    def write(self, path: str, text: str, mode: str = "0644") -> None:
        """At once or not at all."""
        name, _, file = path.rpartition("/")
        self.out(
            f"mkdir -p {name} && cat >{name}/.{file}.new && chmod {mode} {name}/.{file}.new"
            f" && mv {name}/.{file}.new {path}",
            data=text,
        )

    def wait_off(self) -> None:
        """Until it has switched itself off."""
        assert self._process is not None
        self._process.wait(OFF_SECONDS)
        self._process = None

    def kill(self) -> None:
        """As if the mains failed."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def file_on_disk(self, path: str) -> str:
        """Of a machine that is off."""
        assert self._process is None
        done = subprocess.run(
            ["debugfs", "-R", f"cat {path}", str(self.folder / "disk.img")], capture_output=True, text=True, check=True
        )
        return done.stdout

    def _answers(self) -> bool:
        try:
            return self._agent.run("true", BOOT_SECONDS).code == 0
        except OSError:
            return False

    def _command(self) -> list[str]:
        folder = self.folder
        return [
            "nice", "qemu-system-x86_64", "-accel", os.environ.get(ACCELERATOR, EMULATED), "-cpu", PROCESSOR,
            "-smp", "2", "-m", str(MEMORY_MIB), "-display", "none", "-no-reboot",
            "-kernel", str(folder / "vmlinuz"), "-initrd", str(folder / "initrd"), "-append", KERNEL_FLAGS,
            "-drive", f"file={folder}/disk.img,if=virtio,format=raw,cache=unsafe",
            "-drive", f"file={folder}/swap.img,if=virtio,format=raw,cache=unsafe",
            "-netdev", "user,id=net", "-device", "virtio-net-pci,netdev=net,romfile=", "-device", "virtio-rng-pci",
            "-device", "virtio-serial-pci", "-chardev", f"socket,id=agent,path={self._socket},server=on,wait=off",
            "-device", "virtserialport,chardev=agent,name=org.qemu.guest_agent.0",
            "-serial", f"file:{folder}/console.log",
        ]  # fmt: skip
