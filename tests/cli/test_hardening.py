"""The built programs: what they load, and what the compiler and the linker have put in against memory errors."""

import os
import platform
import re
import shutil
import subprocess

import pytest

from tests.cli.conftest import BIN, CLEAN, Workspace

PROGRAMS = ["tad-lsp", "tad-runner"]
# Of the C library and the compiler: the loader finds them in the system's folders.
SYSTEM = re.compile(r"(libc|libm|libdl|libpthread|librt|libgcc_s|ld-linux[-\w]*)\.so\.\d")
RELEASE = pytest.mark.skipif(
    "-fsanitize=" in (BIN / "build.ninja").read_text() if (BIN / "build.ninja").exists() else False,
    reason="sanitized builds go without",
)


def readelf(program: str, *options: str) -> str:
    run = subprocess.run(["readelf", "-W", *options, BIN / program], capture_output=True, text=True, check=True)
    return run.stdout


def dynamic(program: str, tag: str) -> list[str]:
    """Values of the dynamic section's entries of one tag."""
    return re.findall(rf"\({tag}\)\s+(?:.*?: )?\[?(.*?)\]?$", readelf(program, "-d"), re.MULTILINE)


@pytest.mark.parametrize("program", PROGRAMS)
def test_libraries_come_from_the_system_or_from_beside_the_program(program: str) -> None:
    paths = dynamic(program, "RUNPATH") + dynamic(program, "RPATH")
    needed = dynamic(program, "NEEDED")
    assert needed, "readelf's output is read"
    others = [name for name in needed if not SYSTEM.fullmatch(name)]
    assert paths in ([], ["$ORIGIN"])
    assert not others or paths == ["$ORIGIN"]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(
    "library", ["libcjson.so.1", "libjson-c.so.5", "libuv.so.1", "libtree-sitter.so.0", "libm.so.6"]
)
def test_a_library_of_the_current_folder_is_not_run(workspace: Workspace, program: str, library: str) -> None:
    source = '#include <stdio.h>\n__attribute__((constructor)) static void run(void) { fputs("EVIL", stderr); }\n'
    workspace.write({"evil.c": source, "a.py": CLEAN})
    evil = workspace.path / library
    command = ["gcc", "-shared", "-fPIC", "-o", evil, workspace.path / "evil.c"]
    subprocess.run(command, check=True)
    for folder in (workspace.path, workspace.path / "sub"):
        folder.mkdir(exist_ok=True)
        if folder != workspace.path:
            shutil.copy(evil, folder)
        env = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
        command = [BIN / program, "--help"]
        run = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
        assert (run.returncode, "EVIL" in run.stderr) == (0, False)


@RELEASE
@pytest.mark.parametrize("program", PROGRAMS)
def test_addresses_are_random_and_tables_are_read_only(program: str) -> None:
    segments = readelf(program, "-l")
    assert "DYN (" in readelf(program, "-h")
    assert re.search(r"^\s*GNU_RELRO\s", segments, re.MULTILINE)
    assert any("NOW" in flags and "PIE" in flags for flags in dynamic(program, "FLAGS_1"))
    stack = re.search(r"^\s*GNU_STACK\s.*$", segments, re.MULTILINE)
    assert stack and "RWE" not in stack[0] and "RW" in stack[0]


@RELEASE
@pytest.mark.parametrize("program", PROGRAMS)
def test_stacks_and_copies_are_checked(program: str) -> None:
    symbols = readelf(program, "--dyn-syms")
    assert "__stack_chk_fail" in symbols
    for function in ("snprintf", "vsnprintf", "memcpy"):
        assert f"__{function}_chk" in symbols


@RELEASE
@pytest.mark.skipif(platform.machine() != "x86_64", reason="an extension of x86-64")
@pytest.mark.parametrize("program", PROGRAMS)
def test_returns_and_jumps_are_marked(program: str) -> None:
    """The program has a shadow stack; marks of jumps are lost where one archive of the system was built without."""
    notes = readelf(program, "-n")
    assert re.search(r"x86 feature: (IBT, )?SHSTK", notes)
    if "IBT" in notes:
        return
    folders = ["tad-server", "tree-sitter"]
    objects = [file for folder in folders for file in BIN.glob(f"CMakeFiles/{folder}.dir/**/*.o")]
    assert objects, "a copied program must carry the property itself"
    notes = subprocess.run(["readelf", "-Wn", *objects], capture_output=True, text=True, check=True).stdout
    assert notes.count("x86 feature: IBT, SHSTK") == len(objects)
