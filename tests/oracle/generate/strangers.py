"""What PyTorch's users do around a launcher: checkpoints, hooks that pack what is saved, threads, copies of modules."""

from __future__ import annotations

from tests.oracle.generate.maker import Maker

PACKED = (  # how a hook keeps a tensor, and gives it back
    ("t.clone(memory_format=torch.contiguous_format)", "t"),
    ("t.detach().contiguous().clone()", "t"),
    ("t.tolist(), t.dtype", "torch.tensor(t[0], dtype=t[1])"),
    ("t.t().contiguous() if t.dim() == 2 else t", "t.t() if t.dim() == 2 else t"),
)
VIEWS = ("{0}", "{0}.t()", "{0}[:, ::2]", "{0}[:, 1:4]", "{0}[1:]", "{0}[:1].expand(4, -1)")


def strangers(m: Maker) -> None:
    """A launcher of strided tensors, used in one of these ways."""
    [packed, on_cpu, checkpointed, in_thread, copied, changed][m.seed % 6](m)


def launcher(m: Maker) -> tuple[str, list[str]]:
    """A function of two tensors, and views of square ones that it is called with."""
    k = m.strided(2, 1)
    name = m.file.names.fresh(("inner_call", "activation", "mixed"))
    body = f"o = torch.empty(x.shape, dtype=x.dtype)\n{k.launch(['x', 'w'], ['o'], 'x.shape[0]', 'x.shape[1]', 8)}"
    m.function("x, w", body + "\nreturn o", name)
    view = m.pick(*VIEWS)
    return name, [str(view).format(n) for n in ("x", "w")]


def called(m: Maker, given: list[str], function: str = "") -> None:
    shape = [4, 4] if ".t()" in given[0] else [4, 6]
    m.call(f"m.{function or m.launcher}({', '.join(given)})", {"x": shape, "w": shape})


def packed(m: Maker) -> None:
    name, given = launcher(m)
    pack, unpack = m.random.choice(PACKED)
    body = (
        f"with torch.autograd.graph.saved_tensors_hooks(lambda t: ({pack}), lambda t: ({unpack})):\n"
        f"    return {name}(x, w)"
    )
    m.function("x, w", body)
    called(m, given)


def on_cpu(m: Maker) -> None:
    name, given = launcher(m)
    m.function("x, w", f"with torch.autograd.graph.save_on_cpu():\n    return {name}(x, w) * w")
    called(m, given)


def checkpointed(m: Maker) -> None:
    name, given = launcher(m)
    m.file.add("from torch.utils.checkpoint import checkpoint\n")
    m.function("x, w", f"return checkpoint({name}, x, w, use_reentrant={m.chance(0.5)})")
    called(m, given)


def in_thread(m: Maker) -> None:
    name, given = launcher(m)
    m.file.add("import threading\n")
    body = (
        f"found = []\nrun = threading.Thread(target=lambda: found.append({name}(x, w)))\n"
        "run.start()\nrun.join()\nreturn found[0]"
    )
    m.function("x, w", body)
    called(m, given)


def copied(m: Maker) -> None:
    name, given = launcher(m)
    m.file.add("import copy\nimport pickle\n")
    m.file.add(
        f"class Layer(torch.nn.Module):\n    def forward(self, x, w):\n        return {name}(x, w)\n"
    )
    way = m.pick("copy.deepcopy(Layer())", "pickle.loads(pickle.dumps(Layer()))")
    m.function("x, w", f"layer = {way}\nreturn layer(x, w)")
    called(m, given)


def changed(m: Maker) -> None:
    """What the backward needs is changed behind the launch: autograd counts versions."""
    name, given = launcher(m)
    change = m.pick("w.mul_(2)", "w[0] = 1.0", "w.copy_(x.detach())", "x.add_(w.detach())")
    body = f"x, w = x * 1.0, w * 1.0\ny = {name}(x, w)\n{change}\nreturn y"
    m.function("x, w", body)
    called(m, given)
