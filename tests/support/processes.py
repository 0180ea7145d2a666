"""What the system tells of a running process: its environment, its memory, its children."""

from __future__ import annotations

import re
from pathlib import Path


def environment(pid: int) -> bytes:
    return Path(f"/proc/{pid}/environ").read_bytes()


def descendants(pid: int) -> list[int]:
    """The process and all below it, less what ends while it is looked at."""
    found = [pid]
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += descendants(int(child))
    except (FileNotFoundError, ProcessLookupError):  # a task that has ended
        pass
    return found


def mappings_with(pid: int, text: bytes) -> list[list[str]]:
    """The flags (VmFlags) of each mapping that holds the text."""
    found = []
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for entry in re.split(
            r"^(?=[0-9a-f]+-[0-9a-f]+ )", Path(f"/proc/{pid}/smaps").read_text(), flags=re.MULTILINE
        ):
            head = re.match(r"([0-9a-f]+)-([0-9a-f]+) r", entry)
            if not head or int(re.search(r"^Rss: *(\d+)", entry, re.MULTILINE)[1]) == 0:
                continue
            start, end = (int(place, 16) for place in head.groups())
            if holds(memory, start, end, text):
                found.append(re.search(r"^VmFlags: (.*)", entry, re.MULTILINE)[1].split())
    return found


def holds(memory: object, start: int, end: int, text: bytes) -> bool:
    step, before = 1 << 20, b""
    for at in range(start, end, step):
        try:
            memory.seek(at)
            piece = memory.read(min(step, end - at))
        except OSError:  # pages of the kernel's own
            return False
        if text in before + piece:
            return True
        before = piece[-len(text) :]
    return False
