"""Times a forward kernel and its backward on this machine's GPU; the child of `tad-lsp --time`
where gpu-runner/triton does not launch them.

One JSON object on stdin: {"module": text with the kernels and their helpers, "kernel", "plan": the answer of
tad-runner's `plan`, "launches": the backward's, as in `gradcheck`, whose numbers the plan has, "helpers": the
Python by which written launchers choose tiles}. One on stdout:
{"device", "forward": {"median_ms", ...}, "backward", "bytes"} or {"error"}. Only the text that is given is
imported, from a folder of its own: the kernels, their helpers and the imports that these need.
"""

import importlib.util
import json
import os
import sys
import tempfile

DTYPES = {
    "int1": "bool",
    "float8e4nv": "float8_e4m3fn",
    "float8e5": "float8_e5m2",
    "bf16": "bfloat16",
    "fp16": "float16",
    "fp32": "float32",
    "fp64": "float64",
}


class Trouble(Exception):
    """Something that the user can do something about. `lacks`: what this machine has not, "python" or "gpu"."""

    def __init__(self, words, lacks=None):
        super().__init__(words)
        self.lacks = lacks


def load(text, folder):
    """The module that the text is. Triton reads the source of kernels from a file, so there has to be one."""
    path = os.path.join(folder, "timed_kernels.py")
    with open(path, "w") as file:
        file.write(text)
    spec = importlib.util.spec_from_file_location("timed_kernels", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["timed_kernels"] = module
    spec.loader.exec_module(module)
    return module


def kernel_of(module, name, triton):
    """The jit function itself, without autotuning: what is timed is the configuration of the plan."""
    kernel = getattr(module, name)
    while not isinstance(kernel, triton.runtime.JITFunction) and hasattr(kernel, "fn"):
        kernel = kernel.fn
    return kernel


class Timer:
    """The buffers of one plan on the GPU, and launches over them."""

    def __init__(self, torch, triton, request):
        self.torch, self.triton = torch, triton
        self.plan = request["plan"]
        self.by_name = {argument["name"]: argument for argument in self.plan["arguments"]}
        torch.manual_seed(0)
        self.made = {}
        self.values = {name: self.value(argument) for name, argument in self.by_name.items()}
        self.grid = tuple(int(size) for size in self.plan["grid"])
        self.helpers = {"torch": torch}
        exec(request.get("helpers", ""), self.helpers)

    def dtype(self, name):
        return getattr(self.torch, DTYPES.get(name, name))

    def buffer(self, argument):
        """Elements with the content that the plan asks for; addresses start `first` elements into it."""
        torch, count = self.torch, max(int(argument["elements"]), 1)
        dtype = self.dtype(argument["dtype"])
        if argument["content"] in ("zero", "any"):
            data = torch.zeros(count, device="cuda")
        elif dtype.is_floating_point:
            low, high = argument["low"], argument["high"]
            data = torch.rand(count, device="cuda")
            uniform = argument["content"] == "uniform"
            data = data * (high - low) + low if uniform else data * 2 - 1
        elif argument["content"] == "monotone":
            data = torch.arange(count, device="cuda") * max(int(argument["high"]), 1)
        elif argument["content"] == "distinct":
            data = torch.arange(count, device="cuda")
        elif argument["content"] == "small" and argument["high"] > argument["low"]:
            data = torch.randint(int(argument["low"]), int(argument["high"]), (count,), device="cuda")
        else:
            data = torch.zeros(count, device="cuda")
        if argument.get("mark") is not None:
            data[1 :: int(argument["mark_each"])] = int(argument["mark"])
        return data.to(dtype)[-int(argument["first"]) :]

    def value(self, argument):
        kind = argument["kind"]
        if kind == "buffer":  # what one launch leaves there is what the next one reads
            key = argument.get("key", argument["name"])
            if key not in self.made:
                self.made[key] = self.buffer(argument)
            return self.made[key]
        if "type" in argument:
            return getattr(self.triton.language, DTYPES.get(argument["type"], argument["type"]))
        value = argument.get("value")
        if kind == "int" or (isinstance(value, float) and value.is_integer() and kind == "constant"):
            return int(value)
        return float(value) if kind == "float" else value

    def forward_values(self):
        """The forward's arguments, descriptors made of the tensors that they describe."""
        values = dict(self.values)
        for name, argument in self.by_name.items():
            if argument.get("block"):
                from triton.tools.tensor_descriptor import TensorDescriptor

                layout = ([int(size) for size in argument[key]] for key in ("shape", "strides", "block"))
                values[name] = TensorDescriptor(values[name], *layout)
        return values

    def bound(self, launch):
        """The arguments of one launch of the backward."""
        return {argument["name"]: self.value(argument) for argument in launch["arguments"]}

    def options_of(self, launch):
        """Warps and stages: its own, or the forward's."""
        options = launch.get("options") or self.plan.get("options") or {}
        return {name: int(value) for name, value in options.items()}

    def tensors(self, block):
        """Empty ones, of elements as wide as those that a block's tiles are loaded of."""
        dtypes = {1: "int8", 2: "float16", 4: "float32", 8: "float64"}
        return [self.torch.empty(0, device="cuda", dtype=self.dtype(dtypes[int(w)])) for w in block["widths"]]

    def chosen(self, launch):
        """Sizes, grid and options as the written Function chooses them on this GPU, or as the forward has them."""
        own = launch.get("own")
        if not own:
            return {}, self.grid, self.options_of(launch)
        said = {name: int(own[name]) for name in ("num_warps", "num_stages", "widest") if name in own}
        loop = own.get("loop")
        if loop:
            counts = {name: tuple(map(int, loop[name])) for name in ("products", "kept", "loaded", "divides")}
            counts |= {"rows": int(loop["rows"]), "owned": loop["is_owned"]}
            size, warps, stages = self.helpers["_loop_tile"](int(loop["size"]), self.tensors(loop), **counts, **said)
            return {loop["name"]: size}, self.grid, {"num_warps": warps, "num_stages": stages}
        sides = {role: own[role] for role in ("rows", "columns", "terms")}
        given = {
            role: (int(side["size"]), side["axis"], int(side["length"]), *self.tensors(side))
            for role, side in sides.items()
        }
        grid, *sizes, warps, stages = self.helpers["_product_tiles"](self.grid, **given, **said)
        chosen = {side["name"]: sizes[i] for i, side in enumerate(sides.values())}
        return chosen, grid, {"num_warps": warps, "num_stages": stages}

    def measure(self, launches):
        """Median and spread over many launches, the L2 cache flushed between them."""
        try:
            launches()
            self.torch.cuda.synchronize()
        except Exception as error:
            raise Trouble(
                f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"
            ) from error
        low, median, high = self.triton.testing.do_bench(launches, quantiles=[0.1, 0.5, 0.9])
        return {"median_ms": median, "low_ms": low, "high_ms": high}

    def bytes(self):
        """Each buffer once: what the forward has to move at the least."""
        buffers = (value for name, value in self.values.items() if self.by_name[name]["kind"] == "buffer")
        return sum(value.numel() * value.element_size() for value in buffers)


def time_kernels(request):
    try:
        import torch
        import triton
        import triton.testing
    except ImportError as error:
        raise Trouble(f"{sys.executable} cannot import what is needed: {error}", "python") from error
    if not torch.cuda.is_available():
        raise Trouble(f"PyTorch {torch.__version__} finds no GPU here", "gpu")
    if hasattr(triton, "set_allocator"):  # descriptors that kernels make
        triton.set_allocator(lambda size, alignment, stream: torch.empty(size, device="cuda", dtype=torch.int8))
    with tempfile.TemporaryDirectory() as folder:  # no longer than that: who is killed removes nothing
        module = load(request["module"], folder)
    timer = Timer(torch, triton, request)
    forward = kernel_of(module, request["kernel"], triton)
    values = timer.forward_values()
    result = {
        "device": torch.cuda.get_device_name(),
        "triton": triton.__version__,
        "torch": torch.__version__,
        "text": request["plan"]["text"],
        "bytes": timer.bytes(),
        "forward": timer.measure(lambda: forward[timer.grid](**values, **timer.options_of(timer.plan))),
    }
    if request.get("launches") and "launches" not in request["plan"]:
        raise Trouble(f"the backward: {request['plan'].get('refused', 'it cannot be timed')}")
    launches = [
        (kernel_of(module, launch["kernel"], triton), timer.bound(launch), *timer.chosen(launch))
        for launch in request["plan"].get("launches") or []
    ]

    def backward():
        for kernel, arguments, sizes, grid, options in launches:
            kernel[grid](**{**arguments, **sizes}, **options)

    if launches:
        result["backward"] = timer.measure(backward)
    return result


def main():
    # What imported modules print must not get into the answer.
    answer, sys.stdout = sys.stdout, sys.stderr
    try:
        result = time_kernels(json.load(sys.stdin))
    except Trouble as trouble:
        result = {"error": str(trouble), "lacks": trouble.lacks}
    except Exception as error:
        result = {"error": f"{type(error).__name__}: {error}"}
    json.dump(result, answer)
    answer.write("\n")


if __name__ == "__main__":
    main()
