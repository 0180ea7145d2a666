"""What no committed file may hold, and how long a file may grow."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LONGEST_FILE_LINES = 900  # a file is read in one sitting


def committed_files(*patterns: str) -> list[Path]:
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--", *patterns]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in names.split("\0") if name and (ROOT / name).is_file()]


def test_lock_files_name_no_download_address():
    locks = committed_files("*package-lock.json")
    assert locks
    for lock in locks:
        assert not re.search(r'"resolved"\s*:\s*"http', lock.read_text(encoding="utf-8")), lock


def test_requirements_are_pinned():
    lists = committed_files("*requirements.txt")
    assert lists
    for file in lists:
        for line in file.read_text(encoding="utf-8").splitlines():
            requirement = line.split("#")[0].strip()
            assert not requirement or re.fullmatch(r"[\w.-]+==[\w.]+( *;.*)?", requirement), (
                f"{file.name}: {line} is not pinned"
            )


def test_files_can_be_read_in_one_sitting():
    too_long = {
        str(file.relative_to(ROOT)): lines
        for file in committed_files("*.c", "*.h", "*.py", "*.ts", "*.lua")
        if not {"golden", "fixtures", "kernels"} & set(file.parts)
        if (lines := file.read_text(encoding="utf-8").count("\n")) > LONGEST_FILE_LINES
    }
    assert too_long == {}
