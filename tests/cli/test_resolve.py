"""Helpers in other files: found by relative and absolute imports, in cycles, and missed without harm."""

import pytest

from tests.cli.conftest import CLEAN, HEADER, Workspace

HELPER = HEADER + "@triton.jit\ndef twice(x):\n    return x * 2\n"


def caller(imports: str, call: str = "twice") -> str:
    # The call has one argument too many, which only one who has seen the helper can know.
    return (
        HEADER.replace("\n\n\n", f"\n{imports}\n\n\n")
        + f"""@triton.jit
def kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    tl.store(y_ptr + offsets, {call}(x, 3))
"""
    )


LAYOUTS = {
    "sibling": ("main.py", "helpers.py", "from helpers import twice", "twice"),
    "sibling module": ("main.py", "helpers.py", "import helpers", "helpers.twice"),
    "relative": ("pkg/main.py", "pkg/helpers.py", "from .helpers import twice", "twice"),
    "relative module": ("pkg/main.py", "pkg/helpers.py", "from . import helpers", "helpers.twice"),
    "parent": ("pkg/sub/main.py", "pkg/helpers.py", "from ..helpers import twice as t2", "t2"),
    "package root": (
        "src/pkg/sub/main.py",
        "src/pkg/tools/helpers.py",
        "from pkg.tools.helpers import twice",
        "twice",
    ),
    "module alias": (
        "src/pkg/main.py",
        "src/pkg/tools/helpers.py",
        "import pkg.tools.helpers as h",
        "h.twice",
    ),
    "no package": ("scripts/main.py", "lib/helpers.py", "from lib.helpers import twice", "twice"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_helper_is_found(workspace: Workspace, layout: str) -> None:
    main, helper, imports, call = LAYOUTS[layout]
    packages = {"pkg/__init__.py": "", "pkg/sub/__init__.py": "", "pkg/tools/__init__.py": ""}
    prefix = "src/" if main.startswith("src/") else ""
    workspace.write({prefix + name: text for name, text in packages.items()})
    workspace.write({main: caller(imports, call), helper: HELPER})
    result = workspace.tad("--check", main, "-f", "json")
    assert result.names == ["wrong-argument"], result.stdout
    absolute = workspace.tad("--check", workspace.path / main, "-f", "json")
    assert absolute.names == ["wrong-argument"]


PROJECTS = {
    "plain src": ("pyproject.toml", "", "src/pkg"),
    "no pyproject": ("setup.py", "", "src/pkg"),
    "package-dir": ("pyproject.toml", '[tool.setuptools]\npackage-dir = {"" = "lib"}\n', "lib/pkg"),
    "package-dir of a package": (
        "pyproject.toml",
        '[tool.setuptools.package-dir]\npkg = "code/pkg"\n',
        "code/pkg",
    ),
    "find": ("pyproject.toml", '[tool.setuptools.packages.find]\nwhere = ["py", "c"]\n', "py/pkg"),
    "poetry": (
        "pyproject.toml",
        '[tool.poetry]\npackages = [{include = "x"}, {include = "pkg", from = "lib"}]\n',
        "lib/pkg",
    ),
    "hatch": (
        "pyproject.toml",
        '[tool.hatch.build.targets.wheel]\npackages = ["a/pkg/"]\n',
        "a/pkg",
    ),
    "maturin": ("pyproject.toml", '[tool.maturin]\npython-source = "python"\n', "python/pkg"),
    "pytest": ("pyproject.toml", '[tool.pytest.ini_options]\npythonpath = ["here"]\n', "here/pkg"),
}


@pytest.mark.parametrize("project", PROJECTS)
def test_packages_that_a_project_keeps_elsewhere(workspace: Workspace, project: str) -> None:
    mark, text, package = PROJECTS[project]
    workspace.write({mark: text, f"{package}/helpers.py": HELPER, f"{package}/__init__.py": ""})
    workspace.write({"tests/kernels/main.py": caller("from pkg.helpers import twice")})
    result = workspace.tad("--check", "tests/kernels/main.py", "-f", "json")
    assert result.names == ["wrong-argument"], result.stdout


def test_src_is_nothing_special_outside_of_a_project(workspace: Workspace) -> None:
    workspace.write(
        {"src/pkg/helpers.py": HELPER, "tests/main.py": caller("from pkg.helpers import twice")}
    )
    assert workspace.tad("--check", "tests/main.py", "-f", "json").names == []


def test_the_projects_own_folder_comes_first(workspace: Workspace) -> None:
    fine = HELPER.replace("def twice(x)", "def twice(x, y)")
    workspace.write({"pyproject.toml": "", "pkg/helpers.py": fine, "src/pkg/helpers.py": HELPER})
    workspace.write({"tests/main.py": caller("from pkg.helpers import twice")})
    assert workspace.tad("--check", "tests/main.py", "-f", "json").names == []


def test_a_malformed_project_is_no_error_of_imports(workspace: Workspace) -> None:
    text = "[tool.setuptools]\npackage-dir = 3\n[tool.poetry]\npackages = [1, [2]]\n"
    for project in (text, "[tool.setuptools\n"):
        workspace.write({"pyproject.toml": project, "src/pkg/helpers.py": HELPER})
        workspace.write({"main.py": caller("from pkg.helpers import twice")})
        assert workspace.tad("--check", "main.py", "-f", "json").names == ["wrong-argument"]


def test_through_an_init_file_and_a_star(workspace: Workspace) -> None:
    workspace.write(
        {"pkg/__init__.py": "from .ops import *\n", "pkg/ops.py": "from .deep import twice\n"}
    )
    workspace.write({"pkg/deep.py": HELPER, "main.py": caller("from pkg import twice")})
    assert workspace.tad("--check", "main.py", "-f", "json").names == ["wrong-argument"]


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ("LIMIT = 3\n", "understood"),
        ("from .lost import *\n", "understood"),  # of whole numbers they are Python's
        ("def min(a, b): ...\n", "partly"),
    ],
    ids=["without it", "not found", "with it"],
)
def test_a_star_leaves_names_of_python_that_its_file_lacks(
    workspace: Workspace, settings: str, word: str
) -> None:
    text = caller("from .settings import *", "min").replace(
        "min(x, 3)", "x * min(offsets.shape[0], 3)"
    )
    workspace.write({"pkg/__init__.py": "", "pkg/main.py": text, "pkg/settings.py": settings})
    assert workspace.tad("--dump", "coverage", "pkg/main.py").stdout.startswith(f"{word} ")


def test_missing_module_is_no_error(workspace: Workspace) -> None:
    workspace.write({"main.py": caller("from nowhere.at_all import twice")})
    result = workspace.tad("--check", "main.py", "-f", "json")
    assert result.names == []
    assert result.status == 0


FROM_ELSEWHERE = {
    "absolute": "from package.compat import tl, triton",
    "relative": "from ..compat import HAS_TRITON, tl, triton",
    "apart": "from package.compat import triton\nfrom package.language import tl",
    "renamed": "from package.compat import tl as tl\nfrom package.compat import triton as triton",
}


@pytest.mark.parametrize("imports", FROM_ELSEWHERE.values(), ids=FROM_ELSEWHERE)
def test_triton_from_a_file_that_is_not_there(workspace: Workspace, imports: str) -> None:
    """Packages import Triton in one file, and take it from there; the names mean the same without that file."""
    workspace.write({"pkg/sub/main.py": f"{imports}\n\n\n" + CLEAN.removeprefix(HEADER)})
    result = workspace.tad("--check", "--grad", "pkg/sub/main.py", "-f", "json")
    assert result.names == []
    assert [kernel["status"] for kernel in result.json["kernels"]] == ["proved"]


def test_other_names_from_a_file_that_is_not_there(workspace: Workspace) -> None:
    """Nothing is known of `tl` under another name, or of a `tl` that a file which was found gives another meaning."""
    body = CLEAN.removeprefix(HEADER)
    workspace.write({"main.py": "from compat import language as tl, triton\n\n\n" + body})
    assert not workspace.tad("--check", "--grad", "main.py", "-f", "json").json["kernels"]
    workspace.write({"main.py": "from compat import tl, triton\n\n\n" + body})
    workspace.write({"compat.py": "import triton\n\n\ndef tl(x):\n    return x\n"})
    assert not workspace.tad("--check", "--grad", "main.py", "-f", "json").json["kernels"]


def test_unreadable_module_is_no_error(workspace: Workspace) -> None:
    workspace.write({"main.py": caller("from helpers import twice"), "helpers.py": b"\0"})
    assert workspace.tad("--check", "main.py", "-f", "json").status == 0


def test_cycles_end(workspace: Workspace) -> None:
    workspace.write(
        {
            "pkg/__init__.py": "from .a import *\nfrom .b import *\n",
            "pkg/a.py": "from .b import *\nfrom . import b\n" + HELPER,
            "pkg/b.py": "from .a import *\nfrom . import a\n" + caller("from .a import twice"),
            "pkg/self.py": "from .self import nothing\nfrom . import self\n"
            + caller("from .self import nothing"),
        }
    )
    result = workspace.tad("--check", "pkg", "-f", "json", limit=30)
    assert result.names.count("wrong-argument") >= 1
    assert result.status == 1


def test_finding_in_a_shared_helper_is_reported_once(workspace: Workspace) -> None:
    users = {
        f"user{i}.py": caller("from helpers import twice").replace("(x, 3)", "(x)")
        for i in range(4)
    }
    workspace.write({"helpers.py": HELPER.replace("x * 2", "tl.lod(x)"), **users})
    result = workspace.check()
    places = [
        (d["file"], d["range"]["start"]["line"], d["message"]) for d in result.json["diagnostics"]
    ]
    assert len(places) == len(set(places))


def test_a_proof_with_modules_that_all_import_each_other(workspace: Workspace) -> None:
    names = [f"part{i}" for i in range(12)]

    def module(own: str) -> str:
        others = [name for name in names if name != own]
        imports = "".join(f"from .{name} import wrap_{name}\n" for name in others)
        wrapped = "".join(f"{name} = wrap_{name}(print)\n" for name in others)
        return f"{imports}\n\ndef wrap_{own}(f):\n    return f\n\n\n{wrapped}"

    workspace.write({f"pkg/{name}.py": module(name) for name in names} | {"pkg/__init__.py": ""})
    kernel = CLEAN.replace(
        "\n\n\n", "\nfrom .part0 import wrap_part0\n\n\nwrapped = wrap_part0(print)\n\n", 1
    )
    workspace.write({"pkg/main.py": kernel})
    report = workspace.tad("--check", "--grad", "pkg/main.py", "-f", "json").json
    assert [(k["status"], k["reason"]) for k in report["kernels"]] == [("proved", "")]


def test_what_only_raises_is_not_the_function(workspace: Workspace) -> None:
    assembly = '    return tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [x], tl.float32, True, 1)\n'
    helper = "@triton.jit\ndef twice(x):\n" + assembly
    indented = "".join(f"    {line}\n" for line in helper.splitlines())
    fallback = "    def twice(*arguments):\n        raise RuntimeError('needs Triton')\n"
    text = (
        HEADER
        + "from elsewhere import has_triton\n\nif has_triton():\n\n"
        + indented
        + "\nelse:\n\n"
        + fallback
    )
    workspace.write(
        {
            "helpers.py": text,
            "main.py": caller("from helpers import twice").replace("(x, 3)", "(x)"),
        }
    )
    assert workspace.tad("--check", "main.py", "-f", "json").names == []


TAIL = """@triton.jit
def row_of(x_ptr, row, TAIL: tl.constexpr):
    offsets = tl.arange(0, TAIL) if TAIL > 0 else 0
    return x_ptr + row * 64 + offsets
"""
PYTHON_CONDITION = """@triton.jit
def kernel(x_ptr, B: tl.constexpr):
    WHOLE: tl.constexpr = 2 ** (B.value.bit_length() - 1)
    row = tl.program_id(0)
    tl.store(row_of(x_ptr, row, WHOLE), 1.0)
"""


def test_a_branch_that_python_decides_is_no_error(workspace: Workspace) -> None:
    """What the condition comes to is not known here; Triton knows it when it compiles."""
    main = HEADER.replace("\n\n\n", "\nfrom helpers import row_of\n\n\n") + PYTHON_CONDITION
    workspace.write({"main.py": main, "helpers.py": HEADER + TAIL})
    result = workspace.tad("--check", "main.py", "-f", "json")
    assert "branch-type" not in result.names, result.stdout


UNKNOWN_MODULE = """import triton
import triton.language

tl = choose_language()


@triton.jit
def kernel(x_ptr, y_ptr, n, B: triton.language.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, tl.sum(tl.abs(x), axis=0), mask=i < n)
"""


def test_operations_of_what_is_not_known_are_no_errors(workspace: Workspace) -> None:
    """`tl.store(p, x, mask=m)` is no method `store` of a tensor `tl` that gets its mask twice."""
    workspace.write({"main.py": UNKNOWN_MODULE})
    result = workspace.tad("--check", "main.py", "-f", "json")
    assert "wrong-argument" not in result.names, result.stdout


CORE = """from functools import wraps

from ..runtime.jit import jit

TRITON_BUILTIN = "__triton_builtin__"


def builtin(fn):
    @wraps(fn)
    def wrapper(*args, **kwargs):
        if kwargs.get("_builder") is None:
            raise ValueError("Did you forget to add @triton.jit ?")
        return fn(*args, **kwargs)

    setattr(wrapper, TRITON_BUILTIN, True)
    return wrapper


def _unwrapped(value):
    try:
        return value.value
    except AttributeError:
        return value


@builtin
def maximum(x, y, _builder=None):
    return [_unwrapped(value) for value in (x, y)]


@builtin
def mystery(x, _builder=None):
    return _unwrapped(x)
"""
STANDARD = """from ..runtime.jit import jit
from . import core


@jit
def largest(x):
    y: core.constexpr = core._unwrapped(x)
    return core.mystery(core.maximum(x, 0)) + y
"""


@pytest.mark.parametrize("folder", ["triton/language/", "python/triton/language/", ""])
def test_a_copy_of_tritons_own_library_has_no_errors(workspace: Workspace, folder: str) -> None:
    # Python in these files runs in the compiler: Triton allows it by the name of its module.
    workspace.write(
        {f"{folder}core.py": CORE, f"{folder}standard.py": STANDARD, f"{folder}__init__.py": ""}
    )
    result = workspace.tad("--check", f"{folder}core.py", f"{folder}standard.py", "-f", "json")
    assert result.names == [], result.stdout


def test_elsewhere_plain_python_is_still_an_error(workspace: Workspace) -> None:
    text = STANDARD.replace("from ..runtime.jit import jit", "from triton import jit")
    workspace.write(
        {"mine/core.py": CORE.split("@builtin")[0].replace("from ..runtime.jit", "from triton")}
    )
    workspace.write({"mine/standard.py": text, "mine/__init__.py": ""})
    result = workspace.tad("--check", "mine/standard.py", "-f", "json")
    assert "undecorated-helper" in result.names, result.stdout


def test_numbers_of_a_module_by_its_name(workspace: Workspace) -> None:
    """Triton refuses a plain global by name alone; `module.NAME` is what the module has."""
    text = HEADER + "import sizes\nfrom sizes import LIMIT\n\n\n"
    kernel = "@triton.jit\ndef {0}(x_ptr):\n    tl.store(x_ptr, {1})\n"
    workspace.write({"sizes.py": "LIMIT = 4\n", "k.py": text + kernel.format("a", "sizes.LIMIT")})
    assert workspace.tad("--check", "k.py", "-f", "json").names == []
    workspace.write({"k.py": text + kernel.format("a", "LIMIT")})
    assert workspace.tad("--check", "k.py", "-f", "json").names == ["global-not-constexpr"]


def test_the_jit_of_another_compiler_whose_source_is_there(workspace: Workspace) -> None:
    """In a checkout of it, or beside an installed one, its decorator is found as a function of its name."""
    kernel = "from tilelang import jit\n\n\n@jit\ndef matmul(M, N):\n"
    kernel += "    def main(a):\n        return a\n\n    return main\n"
    workspace.write(
        {
            "tilelang/__init__.py": "from .jit import jit\n",
            "tilelang/jit.py": "def jit(function=None):\n    return function\n",
            "examples/matmul.py": "import triton.language as tl\n" + kernel,
        }
    )
    for place in ("examples/matmul.py", workspace.path / "examples/matmul.py"):
        assert workspace.tad("--check", place, "-f", "json").names == []
    wrapper = "import triton\n\n\ndef jit(function=None):\n    return triton.jit(function)\n"
    workspace.write({"tilelang/jit.py": wrapper})
    assert (
        "unsupported-python" in workspace.tad("--check", "examples/matmul.py", "-f", "json").names
    )


PACKAGE = {"ops/__init__.py": "", "ops/core.py": HELPER + "\n\nSCALE = 2\n"}
ENVIRONMENTS = {
    "beside the project": (".venv/lib/python3.11/site-packages", {}),
    "VIRTUAL_ENV": ("elsewhere/lib/python3.12/site-packages", {"VIRTUAL_ENV": "elsewhere"}),
    "CONDA_PREFIX": ("conda/lib/python3.10/site-packages", {"CONDA_PREFIX": "conda"}),
    "PYTHONPATH": ("paths/b", {"PYTHONPATH": "paths/a:paths/b"}),
}


def test_a_jit_of_unknown_origin_beside_nothing_of_triton(workspace: Workspace) -> None:
    """What `_tool.Language.jit` is cannot be seen; a file that never speaks of Triton has none of its kernels."""
    body = "def body(x):\n    import os\n\n    return [a for a in (x.shape, *x.stride)]\n"
    workspace.write(
        {
            "pkg/__init__.py": "",
            "pkg/language/__init__.py": "from .. import _tool\n\njit = _tool.Language.jit\n",
            "pkg/use.py": f"import pkg.language as lang\n\n\n@lang.jit\n{body}",
            "pkg/ours.py": f"import triton\nimport pkg.language as lang\n\n\n@triton.jit\n{body}",
        }
    )
    assert workspace.tad("--check", "pkg/use.py", "-f", "json").names == []
    assert "unsupported-python" in workspace.tad("--check", "pkg/ours.py", "-f", "json").names


@pytest.mark.parametrize("environment", ENVIRONMENTS)
@pytest.mark.parametrize(
    ("imports", "call"),
    [
        ("from ops.core import twice", "twice"),
        ("from ops import core", "core.twice"),
        ("import ops.core as o", "o.twice"),
    ],
)
def test_helper_of_an_installed_package(
    workspace: Workspace, environment: str, imports: str, call: str
) -> None:
    """The text of what is installed is read; nothing of it is run."""
    folder, variables = ENVIRONMENTS[environment]
    workspace.write({f"{folder}/{name}": text for name, text in PACKAGE.items()})
    workspace.write({".venv/pyvenv.cfg": "", "kernels/main.py": caller(imports, call)})
    named = {
        key: ":".join(str(workspace.path / part) for part in value.split(":"))
        for key, value in variables.items()
    }
    result = workspace.tad("--check", "kernels/main.py", "-f", "json", env=named)
    assert result.names == ["wrong-argument"], result.stdout


def test_a_package_that_is_not_there_is_named(workspace: Workspace) -> None:
    """And one that has no such function: its version may be another one."""
    workspace.write({"main.py": caller("from ops.core import thrice", "thrice")})
    result = workspace.tad("--check", "main.py")
    assert "no file of the package `ops` was found; install it" in result.stdout, result.stdout
    installed = ".venv/lib/python3.11/site-packages"
    workspace.write({f"{installed}/{name}": text for name, text in PACKAGE.items()})
    workspace.write({".venv/pyvenv.cfg": ""})
    result = workspace.tad("--check", "main.py")
    said = "in the package `ops` as it was found `ops.core.thrice` is no Triton function"
    assert said in result.stdout, result.stdout


def test_host_code_of_an_installed_package_stays_a_name(workspace: Workspace) -> None:
    """Constants and functions of packages that are no Triton are what they were before."""
    workspace.write(
        {
            ".venv/pyvenv.cfg": "",
            ".venv/lib/python3.11/site-packages/ops.py": "def twice(x):\n    return 2\n",
            "main.py": caller("from ops import twice"),
        }
    )
    result = workspace.tad("--check", "main.py", "-f", "concise")
    assert "hint[not-understood] It is not known what `twice` computes" in result.stdout


def test_a_gradient_through_an_installed_helper_is_proved(workspace: Workspace) -> None:
    folder = ".venv/lib/python3.11/site-packages"
    workspace.write({f"{folder}/{name}": text for name, text in PACKAGE.items()})
    text = caller("from ops.core import twice").replace("(x, 3)", "(x)")
    workspace.write({".venv/pyvenv.cfg": "", "kernels/main.py": text})
    result = workspace.tad("--check", "--grad", "kernels/main.py", "-f", "concise")
    assert "1 forward kernel: 1 proved" in result.stdout, result.stdout
    written = workspace.tad("--backward", "kernels/main.py", "--no-proof")
    assert "from ops.core import twice" in written.stdout


@pytest.mark.parametrize(
    "given",
    [
        "triton, tl = load()",
        "triton = load()[0]\ntl = load()[1]",
        'triton, tl = pytest.importorskip("triton"), pytest.importorskip("triton.language")',
        'triton = pytest.importorskip("triton")\ntl = pytest.importorskip("triton.language")',
    ],
)
def test_modules_that_a_function_returns(workspace: Workspace, given: str) -> None:
    body = "    import triton\n    import triton.language as tl\n\n    return triton, tl\n\n\n"
    imports = f"import pytest\n\n\ndef load():\n{body}"
    kernel = (
        caller("")
        .replace(HEADER.rstrip("\n"), imports + given)
        .replace("twice(x, 3)", "tl.exp(x, 3, 4)")
    )
    workspace.write({"main.py": kernel})
    result = workspace.tad("--check", "main.py", "-f", "json")
    assert result.names == ["wrong-argument"], result.stdout


STATIC = HEADER + (
    "class Twice:\n    @staticmethod\n    @triton.jit\n    def forward(x):\n        return x * 2\n\n"
    "    @staticmethod\n    def plain(x):\n        return x * 2\n"
)


@pytest.mark.parametrize(
    ("init", "call"),
    [
        ("", "pkg.math.twice.Twice.forward"),
        ("from . import math\n", "pkg.math.Twice.forward"),
        ("from .math import *\n", "pkg.Twice.forward"),
    ],
)
def test_a_static_method_of_a_class(workspace: Workspace, init: str, call: str) -> None:
    """Also where a package's own file asks for a module of its own, `from . import math`."""
    workspace.write(
        {
            "pkg/__init__.py": init,
            "pkg/math/__init__.py": "from .twice import *\n",
            "pkg/math/twice.py": STATIC,
        }
    )
    imports = "import pkg.math.twice" if not init else "import pkg"
    workspace.write({"main.py": caller(imports, call)})
    result = workspace.tad("--check", "main.py", "-f", "json")
    assert result.names == ["wrong-argument"], result.stdout
    workspace.write({"main.py": caller(imports, call).replace("(x, 3)", "(x)")})
    result = workspace.tad("--check", "--grad", "main.py", "-f", "concise")
    assert "1 forward kernel: 1 proved" in result.stdout, result.stdout


def test_a_static_method_without_jit_is_no_helper(workspace: Workspace) -> None:
    workspace.write({"main.py": STATIC + caller("", "Twice.plain").removeprefix(HEADER)})
    result = workspace.tad("--check", "--grad", "main.py", "-f", "concise")
    assert "1 refused" in result.stdout, result.stdout


COMBINE = """@triton.jit
def merge(square_a, mean_a, count_a, square_b, mean_b, count_b):
    count = count_a + count_b
    apart = tl.math.pow(mean_b - mean_a, 2.0) * count_a * count_b / count
    return square_a + square_b + apart, (mean_a * count_a + mean_b * count_b) / count, count
"""
SPREAD = HEADER.replace("\n\n\n", "\nimport helpers\n\n\n") + (
    """@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    square, mean, count = tl.reduce((x * 0, x, x * 0 + 1), 0, helpers.merge)
    tl.store(y_ptr + tl.program_id(0), square / count)
"""
)


def test_a_combine_function_that_came_along_has_its_imports(workspace: Workspace) -> None:
    workspace.write({"helpers.py": HEADER + COMBINE, "main.py": SPREAD})
    written = workspace.tad("--backward", "main.py", "--no-proof").stdout
    assert "libdevice." not in written or "import libdevice" in written
    result = workspace.tad("--check", "--grad", "main.py", "-f", "concise")
    assert "1 forward kernel: 1 proved" in result.stdout, result.stdout


STAND_IN = (
    HEADER
    + """if IS_SUPPORTED and hasattr(tl, "make_tensor_descriptor"):
    make_tensor_descriptor = tl.make_tensor_descriptor
else:

    @triton.jit
    def make_tensor_descriptor(base, shape, strides, block_shape):
        # there is none
        return
"""
)
DESCRIBED = """@triton.jit
def kernel(x_ptr, y_ptr, n, USES: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    if USES:
        x = make_tensor_descriptor(x_ptr, [n], [1], [B]).load([0])
    else:
        x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, x * x, mask=i < n)
"""


@pytest.mark.parametrize(
    "supported", ['os.environ.get("TMA", "0") == "1"', "False", "some.where()"]
)
def test_a_function_that_gives_nothing_stands_in_for_an_operation(
    workspace: Workspace, supported: str
) -> None:
    helper = STAND_IN.replace("\n\n\n", f"\nimport os\n\nIS_SUPPORTED = {supported}\n\n\n", 1)
    kernel = (
        HEADER.replace("\n\n\n", "\nfrom op import make_tensor_descriptor\n\n\n", 1) + DESCRIBED
    )
    workspace.write({"op.py": helper, "main.py": kernel})
    result = workspace.tad("--check", "--grad", "main.py", "-f", "concise")
    assert "1 forward kernel: 1 proved" in result.stdout, result.stdout


def test_a_wrapper_around_the_jit_of_another_compiler(workspace: Workspace) -> None:
    """`tl` may be that compiler's own module, so the file seems to speak of Triton."""
    maker = "def main(a):\n        return a\n\n    return main\n"
    kernel = "@{0}(flags={{}})\ndef made(M, N):\n    size = tl.math.up(M)\n    " + maker
    wrapper = "def {0}(*args, **kwargs):\n    {1}\n    return {2}(*args, **kwargs)\n"
    uses = "from .tools import tilelang as tl\nfrom .tools import {0}\n\n\n"
    for name, text, is_tritons in (
        ("tilelang_jit", wrapper.format("tilelang_jit", "require()", "tilelang.jit"), False),
        ("cached_jit", wrapper.format("cached_jit", "require()", "tilelang.jit"), False),
        ("cached_jit", wrapper.format("cached_jit", "require()", "triton.jit"), True),
    ):
        workspace.write(
            {
                "pkg/__init__.py": "",
                "pkg/tools.py": text,
                "pkg/k.py": uses.format(name) + kernel.format(name),
            }
        )
        names = workspace.tad("--check", "pkg/k.py", "-f", "json").names
        assert ("unsupported-python" in names) == is_tritons, (name, names)
    alone = uses.format("tilelang_jit") + kernel.format("tilelang_jit")
    workspace.write({"alone.py": alone})
    assert workspace.tad("--check", "alone.py", "-f", "json").names == []
