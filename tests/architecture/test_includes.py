"""Holds the arrows of the architecture: who includes whom, and a library's one door."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Each folder with the folders it may include from, besides itself.
MAY_INCLUDE = {
    "base": set(),
    "analysis": {"base"},
    "autodiff": {"base", "analysis"},
    "gpu-runner": {"base", "analysis"},
    "features": {"base", "analysis", "autodiff"},
    "codeactions": {"base", "analysis", "autodiff"},
    "server": {"base", "analysis", "autodiff", "features", "codeactions"},
}

# Third-party headers, each with the only files that may include them.
DOORS = {
    r"cjson/|cJSON": {"base/json.c"},
    r"tree_sitter/": {"analysis/syntax.c"},
    r"uv\.h|uv/": {"server/loop.c", "gpu-runner/loop.c"},
    r"curl/": {"server/http.c"},
    r"cuda|nvrtc": {"gpu-runner/cuda.c"},
}

# What analysis/ and autodiff/ must not do: they turn text into data, without I/O or threads.
PURE = {"analysis", "autodiff", "features", "codeactions"}
IMPURE_HEADERS = {"unistd.h", "fcntl.h", "sys/socket.h", "dlfcn.h"}
IMPURE_CALLS = re.compile(
    r"\b(fopen|fread|freopen|open|opendir|system|popen|getenv|pthread_create|thrd_create)\s*\("
)

ALLOCATORS = re.compile(r"\b(malloc|calloc|realloc|strdup|strndup|asprintf|vasprintf)\s*\(")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)


def source_files() -> list[Path]:
    suffixes = {".c", ".h", ".def"}
    return sorted(
        file
        for folder in MAY_INCLUDE
        for file in (ROOT / folder).rglob("*")
        if file.suffix in suffixes
    )


def arrow_faults(folder: str, name: str, text: str) -> list[str]:
    """Sentences on each forbidden include in `text`, the text of `folder/name`."""
    path = f"{folder}/{name}"
    faults = []
    for quoted, angled in INCLUDE.findall(text):
        if quoted:
            target = quoted.split("/")[0]
            if "/" not in quoted or target not in MAY_INCLUDE:
                faults.append(f'{path}: "{quoted}" is not written from the root of the repository')
            elif target != folder and target not in MAY_INCLUDE[folder]:
                faults.append(f'{path}: {folder}/ must not include "{quoted}"')
        for pattern, doors in DOORS.items():
            header = quoted or angled
            is_foreign = angled or header.split("/")[0] not in MAY_INCLUDE
            if is_foreign and re.match(pattern, header) and path not in doors:
                faults.append(f"{path}: <{header}> is for {' and '.join(sorted(doors))} only")
        if folder in PURE and angled in IMPURE_HEADERS:
            faults.append(f"{path}: <{angled}>: {folder}/ does no I/O and starts no threads")
    return faults


def call_faults(folder: str, name: str, text: str) -> list[str]:
    """Sentences on each call of an allocator outside base/, and of the world in a pure folder."""
    code = COMMENT_OR_STRING.sub("", text)
    faults = []
    if folder != "base":
        for found in ALLOCATORS.finditer(code):
            faults.append(f"{folder}/{name}: {found.group(1)}: who allocates takes an Arena")
    if folder in PURE:
        for found in IMPURE_CALLS.finditer(code):
            faults.append(f"{folder}/{name}: {found.group(1)}: {folder}/ turns text into data only")
    return faults


def tree_faults(check) -> list[str]:
    faults = []
    for file in source_files():
        folder, name = file.relative_to(ROOT).as_posix().split("/", 1)
        faults += check(folder, name, file.read_text(encoding="utf-8"))
    return faults


def test_there_is_something_to_check():
    assert any(file.parent.name == "base" for file in source_files())


def test_includes_look_down_and_third_parties_have_one_door():
    assert tree_faults(arrow_faults) == []


def test_only_base_allocates_and_analysis_does_no_io():
    assert tree_faults(call_faults) == []


@pytest.mark.parametrize(
    ("folder", "text"),
    [
        ("base", '#include "analysis/ir.h"'),
        ("analysis", '#include "autodiff/backward.h"'),
        ("analysis", "#include <cjson/cJSON.h>"),
        ("analysis", "  #  include <tree_sitter/api.h>"),
        ("analysis", '#include "tree_sitter/api.h"'),
        ("autodiff", '#include "gpu-runner/tile.h"'),
        ("gpu-runner", '#include "autodiff/backward.h"'),
        ("server", '#include "gpu-runner/tile.h"'),
        ("server", "#include <uv.h>"),
        ("server", '#include "options.h"'),
        ("analysis", "#include <fcntl.h>"),
    ],
)
def test_a_forbidden_include_is_found(folder, text):
    assert arrow_faults(folder, "other.c", text)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("base/json.c", "#include <cjson/cJSON.h>"),
        ("analysis/syntax.c", "#include <tree_sitter/api.h>"),
        ("server/loop.c", "#include <uv.h>"),
        ("gpu-runner/cuda.c", '#include "gpu-runner/cuda.h"'),
        ("server/check.c", '#include "autodiff/backward.h"\n#include <stdio.h>'),
    ],
)
def test_a_permitted_include_is_not(path, text):
    folder, name = path.split("/")
    assert arrow_faults(folder, name, text) == []


def test_a_forbidden_call_is_found_in_code_but_not_in_a_comment():
    assert call_faults("server", "check.c", "char *p = malloc(3);")
    assert call_faults("analysis", "source.c", 'FILE *file = fopen(path, "r");')
    assert not call_faults("server", "files.c", 'FILE *file = fopen(path, "r");')
    assert not call_faults("analysis", "check.c", '// malloc(3)\nputs("malloc(3)");')
    assert not call_faults("analysis", "check.c", "region_open(region);")


def test_every_folder_of_c_is_a_library_with_these_arrows():
    lists = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    library = r"tad_library\((\S+) (\S+)(?: PUBLIC ([^)]*?))?(?: PRIVATE|\))"
    folders = {
        match.group(2): match
        for match in re.finditer(library, lists)
    }
    assert set(folders) == set(MAY_INCLUDE)
    library_of = {match.group(1): folder for folder, match in folders.items()}
    for folder, match in folders.items():
        linked = {library_of[name] for name in (match.group(3) or "").split()}
        assert linked <= MAY_INCLUDE[folder], f"CMakeLists.txt: {folder}/ links {linked}"
