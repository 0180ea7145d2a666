"""What every generator of launchers shares: a file, launches as text, and the finished case."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tests.oracle.case import Call, Case, Input
from tests.oracle.generate.kit import BLOCKS, LAUNCHERS, SIZES, File, Kernel, Names, expression


class Maker:
    """One case under construction."""

    def __init__(self, kind: str, seed: int):
        self.kind, self.seed = kind, seed
        self.random = Random(f"{kind}:{seed}")
        self.file = File(self.random)
        self.launcher = self.file.names.fresh(LAUNCHERS)
        self.rows, self.columns = self.random.randint(2, 4), self.random.randint(3, 8)
        self.block = self.random.choice([8, 16]) if self.columns > 4 else self.random.choice([4, 8])
        if self.columns > self.block:
            self.block = 8
        self.calls: list[Call] = []
        self.others: dict[str, str] = {}

    @property
    def shape(self) -> list[int]:
        """The shape of the usual input: a row fits one block."""
        return [self.rows, self.columns]

    def pick(self, *choices: object) -> object:
        """One of them."""
        return self.random.choice(choices)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def launch(
        self,
        kernel: Kernel,
        ins: Sequence[str],
        outs: Sequence[str],
        of: str,
        grid: str = "",
        **more: str,
    ) -> str:
        """A launch over the tensor `of`; `more` binds flags, block and others by parameter."""
        bound = {
            **dict(zip(kernel.inputs, ins, strict=True)),
            **dict(zip(kernel.outputs, outs, strict=True)),
        }
        bound[kernel.size] = f"{of}.shape[-1]" if kernel.rows else f"{of}.numel()"
        bound[kernel.block] = str(self.block)
        bound |= dict.fromkeys(kernel.flags, "True")
        bound |= more
        grid = grid or kernel.default_grid(self.random, of, self.block)
        return kernel.launch(self.random, bound, grid)

    def output(self, like: str) -> str:
        """An allocation of the shape of `like`."""
        return self.random.choice(
            [
                f"torch.empty_like({like})",
                f"torch.empty({like}.shape, dtype={like}.dtype, device={like}.device)",
                f"torch.zeros_like({like})",
                f"{like}.new_empty({like}.shape)",
                f"torch.empty_like({like}, memory_format=torch.contiguous_format)",
            ]
        )

    def function(self, parameters: str, body: str, name: str = "") -> None:
        """A function of the file: a launcher."""
        lines = "\n".join("    " + line if line else "" for line in body.strip("\n").splitlines())
        self.file.add(f"def {name or self.launcher}({parameters}):\n{lines}\n")

    def call(self, text: str, inputs: dict[str, object], **more: object) -> None:
        """A call; inputs are shapes or Inputs."""
        given = {n: i if isinstance(i, Input) else Input(list(i)) for n, i in inputs.items()}  # type: ignore[call-overload]
        self.calls.append(Call(text, given, seed=self.seed + 1, **more))  # type: ignore[arg-type]

    def case(self) -> Case:
        files = {"user.py": self.file.text(), **self.others}
        return Case(f"{self.kind}-{self.seed:03d}", self.kind, files, self.calls)

    def strided(self, n_in: int, n_out: int, loads_other: str = "0.0") -> Strided:
        """A kernel over rows whose tensors each have two strides."""
        return Strided(self, n_in, n_out, loads_other)


class Strided:
    """A kernel with a program per row and explicit strides; added to the file."""

    def __init__(self, maker: Maker, n_in: int, n_out: int, other: str):
        random = maker.random
        self.inputs, self.outputs = maker.file.parameters(n_in, n_out)
        own = Names(random)
        own.taken |= {*self.inputs, *self.outputs}
        self.name = maker.file.names.fresh(
            ("strided", "rowwise", "view_kernel", "copy_act", "pack", "split_fwd")
        )
        self.size, self.block = own.fresh(SIZES), own.fresh(BLOCKS)
        pointers = [*self.inputs, *self.outputs]
        random.shuffle(pointers)
        style = random.choice(["s{0}{1}", "stride_{0}_{1}", "{0}_stride{1}"])
        self.strides = {p: [style.format(p, i) for i in (0, 1)] for p in pointers}
        lines = [
            "r = tl.program_id(0)",
            f"c = tl.arange(0, {self.block})",
            f"inside = c < {self.size}",
        ]
        values = []
        for i, p in enumerate(self.inputs):
            s0, s1 = self.strides[p]
            lines.append(f"v{i} = tl.load({p} + r * {s0} + c * {s1}, mask=inside, other={other})")
            values.append(f"v{i}")
        for p in self.outputs:
            s0, s1 = self.strides[p]
            lines.append(
                f"tl.store({p} + r * {s0} + c * {s1}, {expression(random, values)}, mask=inside)"
            )
        self.together = random.random() < 0.5
        self.parameters = []
        for p in pointers:
            self.parameters += [p] if self.together else [p, *self.strides[p]]
        for p in pointers if self.together else []:
            self.parameters += self.strides[p]
        self.parameters += [self.size, self.block]
        declared = [f"{p}: tl.constexpr" if p == self.block else p for p in self.parameters]
        body = "\n".join("    " + line for line in lines)
        maker.file.add(f"@triton.jit\ndef {self.name}({', '.join(declared)}):\n{body}\n")
        self.maker = maker

    def launch(
        self, ins: Sequence[str], outs: Sequence[str], rows: str, size: str, block: int
    ) -> str:
        """A launch; strides are asked of each tensor."""
        random = self.maker.random
        bound = dict(zip([*self.inputs, *self.outputs], [*ins, *outs], strict=True))
        for p in [*self.inputs, *self.outputs]:
            for i, s in enumerate(self.strides[p]):
                bound[s] = f"{bound[p]}.stride({i})"
        bound |= {self.size: size, self.block: str(block)}
        first = random.choice([len(self.parameters) - 1, len(self.parameters), 0])
        arguments = [bound[p] for p in self.parameters[:first]]
        arguments += [f"{p}={bound[p]}" for p in self.parameters[first:]]
        return f"{self.name}[({rows},)]({', '.join(arguments)})"
