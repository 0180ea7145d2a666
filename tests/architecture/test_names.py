"""A type has one name, and a name is that of one type, in all folders."""

import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("base", "analysis", "autodiff", "gpu-runner", "features", "codeactions", "server")
TYPE = re.compile(r"^\} *(\w+);|^struct (\w+) \{", re.MULTILINE)


def homonyms(texts: dict[str, str]) -> dict[str, list[str]]:
    """Each name that types of several files have, with these files."""
    files = defaultdict(set)
    for file, text in texts.items():
        for names in TYPE.findall(text):
            files[names[0] or names[1]].add(file)
    return {name: sorted(places) for name, places in files.items() if len(places) > 1}


def test_two_types_never_share_a_name():
    texts = {
        file.relative_to(ROOT).as_posix(): file.read_text(encoding="utf-8")
        for folder in FOLDERS
        for file in (ROOT / folder).rglob("*.[ch]")
    }
    assert len(texts) > 300
    assert homonyms(texts) == {}


def test_a_homonym_is_found():
    texts = {"a.c": "typedef struct Walk {\n    int at;\n} Walk;\n", "b.h": "struct Walk {\n};\n"}
    assert homonyms(texts) == {"Walk": ["a.c", "b.h"]}
