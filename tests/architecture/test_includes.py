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

# The rooms of a folder, each with the rooms of the same folder that it may include from. "." is the folder itself.
ROOMS = {
    "analysis": {
        "syntax": set(),
        "ops": set(),
        "diagnostics": {"syntax"},
        "ir": {"ops", "syntax"},
        "choices": {"ir"},
        "build": {"ir", "diagnostics"},
        "module": {"ir", "ops", "diagnostics", "syntax"},
        "addresses": {"build", "ir"},
        "parameters": {"build", "ir", "module", "syntax"},
        "frames": {"build", "ir", "module", "syntax"},
        "expressions": {"frames", "build", "ir", "module", "syntax"},
        "calls": {"expressions", "frames", "build", "ir", "module", "syntax"},
        "statements": {"calls", "expressions", "frames", "build", "ir", "module", "syntax"},
        "lowering": {
            *{"statements", "calls", "expressions", "frames", "parameters"},
            *{"build", "ir", "module", "syntax"},
        },
        "host_values": {"addresses", "module", "syntax"},
        "host": {"host_values", "addresses", "ir", "module", "syntax"},
        "launches": {"host", "host_values", "addresses", "build", "module", "syntax"},
        "trial": {"host", "host_values", "addresses", "ir", "ops"},
        "checks": {
            "trial",
            "launches",
            "lowering",
            "host",
            "host_values",
            "addresses",
            "build",
            "ir",
            "module",
            "syntax",
        },
        "lanes": {
            *{"checks", "trial", "launches", "host", "host_values", "addresses", "build"},
            *{"ir", "module", "syntax"},
        },
        "cost": {"checks", "lowering", "addresses", "build", "ir", "module", "syntax"},
        ".": {"checks", "lowering", "frames", "ir", "module", "syntax"},
    },
    "autodiff": {
        "rewrite": set(),
        "state": {"rewrite"},
        "products": {"rewrite", "state"},
        "joins": {"addresses", "rewrite", "state"},
        "addresses": {"rewrite", "state"},
        "digits": {"addresses", "rewrite", "state"},
        "spans": {"addresses", "rewrite", "state"},
        "tape": {"digits", "addresses", "rewrite", "state"},
        "primal": {"tape", "addresses", "rewrite", "state"},
        "programs": {
            *{"digits", "extents", "primal", "tape", "spans", "addresses", "rewrite", "state"},
        },
        "emit": {"addresses", "rewrite", "state"},
        "extents": {"digits", "tape", "addresses", "rewrite", "state"},
        "padding": {"addresses", "rewrite", "state"},
        "atomics": {"padding", "addresses", "rewrite", "state"},
        "sharing": {"digits", "padding", "spans", "addresses", "rewrite", "state"},
        "gathers": {"digits", "atomics", "padding", "addresses", "rewrite", "state"},
        "schedule": {
            *{"sharing", "gathers", "atomics", "padding", "extents", "tape", "digits"},
            *{"addresses", "rewrite", "state"},
        },
        "blocks": {"products", "rewrite", "state"},
        "together": {"products", "padding", "tape", "rewrite", "state"},
        "finiteness": {"tape", "addresses", "rewrite", "state"},
        "stored": {"finiteness", "tape", "addresses", "rewrite", "state"},
        "sweep": {"primal", "tape", "rewrite", "state"},
        "plan": {"primal", "tape", "addresses", "rewrite", "state"},
        "layouts": {"plan", "addresses", "rewrite", "state"},
        "function": {"layouts", "plan", "emit", "primal", "tape", "addresses", "rewrite", "state"},
        "launcher": {"function", "plan", "emit", "primal", "state"},
        "module": {"launcher", "function", "plan", "emit", "primal", "rewrite", "state"},
        ".": {
            *{"module", "function", "plan", "emit", "sweep", "finiteness", "schedule", "atomics"},
            *{"programs", "extents", "primal", "tape", "addresses", "rewrite", "state", "blocks"},
            *{"stored", "products", "joins", "layouts", "gathers", "digits", "together"},
        },
        "saving": {".", "module", "emit", "state"},
    },
    "gpu-runner": {
        "interp": set(),
        "sandbox": set(),
        "configure": {"cuda", "interp"},
        "staging": {"interp"},
        "cuda": {"staging", "interp"},
        "execute": {"cuda", "configure", "interp"},
        "rules": {"configure", "interp"},
        "prove": {"rules", "execute", "configure", "cuda", "interp"},
        "verdict": {"prove", "rules", "execute", "configure", "cuda", "interp"},
        "triton": {"cuda", "interp"},
        ".": {"verdict", "prove", "execute", "triton", "cuda", "configure", "sandbox"},
    },
    "features": {
        # features.h is the folder's front header: it includes no room, and every room may include it.
        "names": {"features.h"},
        "describe": {"names", "features.h"},
        "complete": {"describe", "names", "features.h"},
        ".": {"complete", "describe", "names"},
    },
    "server": {
        "report": set(),
        "system": {"report"},
        "settings": {"system", "report"},
        "text": {"settings", "system"},
        "edits": {"system"},
        "proofs": {"edits", "text", "settings", "system", "report"},
        "times": {"proofs", "settings", "system"},
        "crash": {"text", "settings", "system", "report"},
        "session": {"proofs", "crash", "text", "settings", "system", "report"},
        "queues": {"session", "proofs", "crash", "text", "settings", "system", "report"},
        "network": {"system"},
        "retrieval": {"text", "system", "report"},
        "model": {"network", "retrieval", "proofs", "text", "settings", "system", "report"},
        "embedding": {"model", "network", "retrieval", "settings", "system", "report"},
        "phases": {"model", "proofs", "times", "text", "settings", "system", "report"},
        "dumps": {"edits", "proofs", "text", "settings", "system", "report"},
        "cli": {
            *{"edits", "times", "embedding", "retrieval", "model", "proofs", "crash"},
            *{"text", "settings", "system", "report"},
        },
        "gradients": {
            "edits",
            "times",
            "queues",
            "session",
            "proofs",
            "text",
            "settings",
            "system",
            "report",
        },
        "requests": {
            *{"gradients", "queues", "session", "cli", "edits", "model", "retrieval", "text"},
            *{"settings", "system"},
        },
        ".": {"requests", "gradients", "queues", "session", "crash", "model", "settings"},
    },
}

# Third-party headers, each with the only files that may include them.
DOORS = {
    r"json-c/": {"base/json_parse.c"},
    r"tree_sitter/": {"analysis/syntax/syntax.c"},
    r"uv\.h|uv/": {"server/system/loop.c", "server/system/loop_parts.h"},
    r"curl/": set(),  # declared in server/network/http.c
    r"sqlite": set(),  # declared in server/retrieval/sqlite.c
    r"cuda|nvrtc": set(),  # the few functions used are declared in gpu-runner/cuda/*.def
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


def room_of(path: str) -> tuple[str, str]:
    """The folder and the room of a file; "." where it lies in the folder itself."""
    folder, *rooms, _ = path.split("/")
    return folder, rooms[0] if rooms else "."


def room_faults(path: str, text: str) -> list[str]:
    """Sentences on each include in `text` that leads to a room which the file's own room is not above."""
    folder, room = room_of(path)
    if folder not in ROOMS:
        return [] if room == "." else [f"{path}: {folder}/{room} is no room of ROOMS"]
    if room not in ROOMS[folder]:
        return [f"{path}: {folder}/{room} is no room of ROOMS"]
    faults = []
    for quoted, _ in INCLUDE.findall(text):
        if not quoted or "/" not in quoted or quoted.split("/")[0] != folder:
            continue
        target = room_of(quoted)[1]
        names = {target, quoted.split("/")[1]}
        if target != room and not names & ROOMS[folder][room]:
            faults.append(f'{path}: {folder}/{room} must not include "{quoted}"')
    return faults


def arrow_faults(folder: str, name: str, text: str) -> list[str]:
    """Sentences on each forbidden include in `text`, the text of `folder/name`."""
    path = f"{folder}/{name}"
    faults = room_faults(path, text)
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


def test_the_rooms_have_an_order():
    for folder, rooms in ROOMS.items():
        placed = {name for names in rooms.values() for name in names if name.endswith(".h")}
        while not set(rooms) <= placed:
            ready = {room for room, below in rooms.items() if below <= placed} - placed
            assert ready, f"{folder}: {set(rooms) - placed} include each other in a circle"
            placed |= ready


def test_each_room_has_its_invariant_in_the_docs():
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([\w/-]+)` (\|.*\|)$", text, re.MULTILINE))
    rooms = {f"{folder}/{room}" for folder in ROOMS for room in ROOMS[folder] if room != "."}
    assert rooms == {name for name in rows if "/" in name}
    for name in rooms:
        assert all(cell.strip() for cell in rows[name].split("|")[1:-1]), name


MOST_FILES = 22  # a room is seen at one glance


def test_no_room_has_more_files_than_a_glance_takes():
    counts = {
        f"{folder}/{room}": sum(file.is_file() for file in (ROOT / folder / room).iterdir())
        for folder, rooms in {**{name: {".": set()} for name in MAY_INCLUDE}, **ROOMS}.items()
        for room in rooms
    }
    assert {room: count for room, count in counts.items() if count > MOST_FILES} == {}


def test_only_base_allocates_and_analysis_does_no_io():
    assert tree_faults(call_faults) == []


@pytest.mark.parametrize(
    ("folder", "text"),
    [
        ("base", '#include "analysis/ir/ir.h"'),
        ("analysis", '#include "autodiff/backward.h"'),
        ("analysis", "#include <json-c/json.h>"),
        ("analysis", "  #  include <tree_sitter/api.h>"),
        ("analysis", '#include "tree_sitter/api.h"'),
        ("autodiff", '#include "gpu-runner/interp/tile.h"'),
        ("gpu-runner", '#include "autodiff/backward.h"'),
        ("server", '#include "gpu-runner/interp/tile.h"'),
        ("server", "#include <uv.h>"),
        ("server", '#include "options.h"'),
        ("analysis", "#include <fcntl.h>"),
        ("analysis/ir", '#include "analysis/build/build.h"'),
        ("autodiff/tape", '#include "autodiff/backward.h"'),
        ("server/queues", '#include "server/requests/workspace.h"'),
        ("server/parlour", "#include <stdio.h>"),
    ],
)
def test_a_forbidden_include_is_found(folder, text):
    folder, _, room = folder.partition("/")
    assert arrow_faults(folder, f"{room}/other.c" if room else "other.c", text)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("base/json_parse.c", "#include <json-c/json_tokener.h>"),
        ("analysis/syntax/syntax.c", "#include <tree_sitter/api.h>"),
        ("server/system/loop.c", "#include <uv.h>"),
        ("gpu-runner/cuda/device.c", '#include "gpu-runner/cuda/driver.h"'),
        ("server/cli/check.c", '#include "autodiff/backward.h"\n#include <stdio.h>'),
    ],
)
def test_a_permitted_include_is_not(path, text):
    folder, name = path.split("/", 1)
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
    folders = {match.group(2): match for match in re.finditer(library, lists)}
    assert set(folders) == set(MAY_INCLUDE)
    library_of = {match.group(1): folder for folder, match in folders.items()}
    for folder, match in folders.items():
        linked = {library_of[name] for name in (match.group(3) or "").split()}
        assert linked <= MAY_INCLUDE[folder], f"CMakeLists.txt: {folder}/ links {linked}"


def test_a_kept_derivation_owns_what_it_points_to():
    """Each pointer of a derivation's result is copied where it is kept: its own arena goes."""
    text = re.sub(r"//[^\n]*", "", (ROOT / "autodiff/state/result.h").read_text(encoding="utf-8"))
    kept = (ROOT / "autodiff/kept.c").read_text(encoding="utf-8")
    elsewhere = {"PassObserver", "GivenUse", "BackwardOptions"}  # no results, or of the snapshot
    structs = re.findall(r"typedef struct (\w+) \{(.*?)\} \1;", text, re.DOTALL)
    fields = {
        (struct, name)
        for struct, body in structs
        if struct not in elsewhere
        for line in re.findall(r"const \w+\s*\*+([^;]*);", body)
        for name in re.findall(r"(\w+)(?:\s*\[\w+\])?\s*(?:,|$)", line)
    }
    assert len(fields) > 40
    assert {f for f in fields if not re.search(rf"\b{f[1]}\b", kept)} == set()
