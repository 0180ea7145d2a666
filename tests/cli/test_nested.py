"""Kernels inside functions and classes: their launches are found, and what is written can be imported and run."""

import ast

from tests.cli.conftest import HEADER, Workspace

TORCH = HEADER.replace("\n\n\n", "\nimport torch\n\n\n")


def kernel(name: str, value: str = "x * x", indent: str = "    ") -> str:
    lines = [
        "@triton.jit",
        f"def {name}(x_ptr, y_ptr, n, BLOCK: tl.constexpr):",
        "    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)",
        "    x = tl.load(x_ptr + offsets, mask=offsets < n)",
        f"    tl.store(y_ptr + offsets, {value}, mask=offsets < n)",
    ]
    return "".join(f"{indent}{line}\n" for line in lines)


def launch(callee: str, indent: str = "        ") -> str:
    lines = [
        "y = torch.empty_like(x)",
        "n = x.numel()",
        f"{callee}[(triton.cdiv(n, 64),)](x, y, n, BLOCK=64)",
        "return y",
    ]
    return "".join(f"{indent}{line}\n" for line in lines)


METHOD = (
    TORCH
    + "class Square(torch.nn.Module):\n    @staticmethod\n"
    + kernel("square")
    + "\n    def forward(self, x):\n"
)
CLOSURE = TORCH + "def make(factor):\n" + kernel("inner", "VALUE") + "\n    def call(x):\n"


def written(workspace: Workspace, text: str) -> ast.Module:
    workspace.write({"a.py": text})
    report = workspace.check("--grad").json
    assert {(k["status"], k["reason"]) for k in report["kernels"]} == {("proved", "")}
    return ast.parse(workspace.tad("--backward", "a.py").stdout)


def names_at_module_level(module: ast.Module) -> list[str]:
    return [node.name for node in module.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]


def source_of(module: ast.Module, name: str) -> str:
    return next(ast.unparse(node) for node in module.body if getattr(node, "name", "") == name)


def test_static_methods(workspace: Workspace) -> None:
    for callee in ("self.square", "Square.square"):
        module = written(workspace, METHOD + launch(callee))
        names = names_at_module_level(module)
        assert names.count("square") == 1, "the Function launches it from outside of the class"
        assert "staticmethod" not in source_of(module, "square")
        assert "SquareFunction.apply(" in source_of(module, "Square")


def test_a_closure_that_uses_nothing_around_it(workspace: Workspace) -> None:
    module = written(
        workspace, CLOSURE.replace("VALUE", "x * x") + launch("inner") + "\n    return call\n"
    )
    assert names_at_module_level(module).count("inner") == 1
    assert "InnerFunction.apply(" in source_of(module, "make")


def test_a_closure_that_uses_a_variable_around_it(workspace: Workspace) -> None:
    text = CLOSURE.replace("def make(factor):\n", "def make(factor):\n    root = tl.sqrt\n\n")
    text = text.replace("VALUE", "root(x * x + 1.0)") + launch("inner") + "\n    return call\n"
    module = written(workspace, text)
    assert names_at_module_level(module)[0] == "make"
    make = source_of(module, "make")
    assert "def inner_backward(" in make and "class InnerFunction" in make


def test_a_closure_under_autotune(workspace: Workspace) -> None:
    tuned = (
        '    @triton.autotune(configs=[triton.Config({"BLOCK": 64})], key=["n"])\n    @triton.jit\n'
    )
    text = CLOSURE.replace("    @triton.jit\n", tuned).replace("VALUE", "x * x")
    text += launch("inner").replace(", BLOCK=64", "") + "\n    return call\n"
    module = written(workspace, text)
    assert "autotune" in source_of(module, "inner")
    module = written(workspace, text.replace("configs=[", "configs=[*factor, "))
    assert "configs=[*factor," in source_of(module, "make").split("def inner_backward")[0][-200:]


def test_two_methods_of_one_name(workspace: Workspace) -> None:
    second = (
        METHOD.split("\n\n\n", 1)[1]
        .replace("class Square", "class Cube")
        .replace("x * x", "x * x * x")
    )
    workspace.write(
        {"a.py": METHOD + launch("self.square") + "\n\n" + second + launch("self.square")}
    )
    text = workspace.tad("--backward", "a.py").stdout
    assert names_at_module_level(ast.parse(text)).count("square") == 1
    assert "`square` shares its name" in text
