"""The processes of this test run, found in /proc: which is the session's supervisor, its engine, a notebook's cell process."""

import os
import time
from pathlib import Path


def parents() -> dict[int, int]:
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                # The name may hold spaces and brackets: what follows the last one is regular.
                found[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
    return found


def named(executable: str) -> list[int]:
    """Processes of that program that use this run's sockets. Not its zombies, which have no program."""
    runtime = f"ONRUSH_RUNTIME_DIR={os.environ['ONRUSH_RUNTIME_DIR']}".encode()
    found = []
    for process in parents():
        try:
            program = os.readlink(f"/proc/{process}/exe").removesuffix(" (deleted)")
            environment = Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        if Path(program).name == executable and runtime in environment:
            found.append(process)
    return found


def supervisor() -> int | None:
    processes, above = named("onrush-session"), parents()
    top = [p for p in processes if above.get(p) not in processes]
    assert len(top) <= 1, f"more than one session: {top}"
    return top[0] if top else None


def engine() -> int | None:
    processes, above = named("onrush-session"), parents()
    below = [p for p in processes if above.get(p) in processes]
    return below[0] if below else None


def below(kernel: int, executable: str) -> list[int]:
    """Processes of that program that a kernel process started, or that those started."""
    above = parents()

    def is_below(process: int) -> bool:
        while process in above and process > 1:
            if above[process] == kernel:
                return True
            process = above[process]
        return False

    return [p for p in named(executable) if is_below(p)]


def cell_processes(kernel: int) -> list[int]:
    """The runner and snapshots of a kernel process."""
    return below(kernel, "onrush-cell")


def resident_bytes(process: int) -> int:
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def processor_ticks(process: int) -> int:
    """Hundredths of a second that a process has computed: on a busy machine they are what they are on a calm one."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def wait_until(condition, seconds: float, what: str):
    """Waits for something that happens in another process, and says what did not."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"after {seconds} seconds: {what}")
