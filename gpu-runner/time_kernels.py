"""Times a forward kernel and its backward on this machine's GPU; the child of `tad-lsp --time`
where gpu-runner/triton does not launch them.

One JSON object on stdin: {"module": text with the kernels and their helpers, "kernel", "plan": the answer of
tad-runner's `plan`, "launches": the backward's, as in `gradcheck`}. One on stdout: {"device", "forward": {"median_ms",
...}, "backward", "bytes"} or {"error"}. Only the text that is given is imported, from a folder of its own: the
kernels, their helpers and the imports that these need.
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
        self.values = {name: self.value(argument) for name, argument in self.by_name.items()}
        self.made = {}
        self.steps = {}
        self.grid = tuple(int(size) for size in self.plan["grid"])
        self.options = {name: int(value) for name, value in self.plan.get("options", {}).items()}

    def dtype(self, name):
        return getattr(self.torch, DTYPES.get(name, name))

    def buffer(self, argument):
        """Elements with the content that the plan asks for; addresses start `first` elements into it."""
        torch, count = self.torch, max(int(argument["elements"]), 1)
        dtype = self.dtype(argument["dtype"])
        if dtype.is_floating_point:
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
        if "mark" in argument:
            data[1 :: int(argument["mark_each"])] = int(argument["mark"])
        return data.to(dtype)[-int(argument["first"]) :]

    def value(self, argument):
        kind = argument["kind"]
        if kind == "buffer":
            return self.buffer(argument)
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
            if "block" in argument:
                from triton.tools.tensor_descriptor import TensorDescriptor

                layout = ([int(size) for size in argument[key]] for key in ("shape", "strides", "block"))
                values[name] = TensorDescriptor(values[name], *layout)
        return values

    def number(self, text):
        """What an expression over the arguments comes to; the derivation wrote it."""
        names = {"triton": self.triton, "min": min, "max": max, "__builtins__": {}}
        return eval(text, names, {**self.values, **self.steps})

    def room(self, source):
        """Steps of a tape, as the launchers that are written count them."""
        trips = source.get("trips")
        limit = 1 << (28 if trips else 26)
        most = limit // max(1, self.programs() * self.number(source["elements"]))
        return max(1, min(most, self.number(trips) if trips else 1024))

    def programs(self):
        count = 1
        for size in self.grid:
            count *= size
        return count

    def scratch(self, source):
        """Memory of any contents."""
        torch = self.torch
        doubles = any(getattr(value, "dtype", None) == torch.float64 for value in self.values.values())
        dtype = self.dtype(source.get("dtype", "float64" if doubles else "float32"))
        count = max(self.programs() * self.number(source["elements"]), 1)
        return torch.empty(count, device="cuda", dtype=dtype)

    def bound(self, launch):
        """The arguments of one launch of the backward."""
        arguments = launch["arguments"]
        self.steps = {name: self.room(source) for name, source in arguments.items() if "steps" in source}
        own = {"slices", "stages"}  # these have defaults
        return {name: self.actual(source) for name, source in arguments.items() if not own & source.keys()}

    def chosen(self, launch, planned):
        """What the plan has for a launch beside what is bound: warps, and stages of its loops."""
        numbers = {name: int(value) for name, value in (planned.get("options") or {}).items()}
        for argument in planned.get("arguments") or []:
            if "stages" in launch["arguments"].get(argument["name"], {}):
                numbers[argument["name"]] = int(argument["value"])
        return numbers

    def actual(self, source):
        """What an argument of the backward is bound to."""
        torch = self.torch
        if "same" in source:
            return self.values[source["same"]]
        if "axis" in source:
            which = "shape" if "shape" in source else "strides"
            of = source["shape"] if "shape" in source else source["stride"]
            return int(self.by_name[of][which][int(source["axis"])])
        if "programs" in source:
            return self.grid[int(source["programs"])]
        if "value" in source:
            return source["value"]
        if "steps" in source:
            return self.steps[source["steps"]]
        key = json.dumps(source, sort_keys=True)
        if "scratch" in source:  # what one launch leaves there is what the next one reads
            if key not in self.made:
                self.made[key] = self.scratch(source)
            return self.made[key]
        if key not in self.made:
            of = next((source[k] for k in ("upstream", "gradient", "running", "before", "amid") if k in source), None)
            if of not in self.values:
                raise Trouble(f"the backward's argument {source} cannot be timed")
            like = self.values[of]
            if like is None:
                return None
            if isinstance(like, (int, float)):  # the gradient of a scalar: a sum for each program
                self.made[key] = torch.zeros(max(self.programs(), 1), device="cuda", dtype=self.dtype(source["dtype"]))
                return self.made[key]
            dtype = self.dtype(source["dtype"]) if "dtype" in source else like.dtype
            is_given = "upstream" in source or "running" in source
            if "before" in source or "amid" in source:
                made = like.clone()
            else:
                make = torch.randn if is_given and like.dtype.is_floating_point else torch.zeros
                made = make(like.shape, device="cuda").to(dtype)
            self.made[key] = made
        return self.made[key]

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
        "forward": timer.measure(lambda: forward[timer.grid](**values, **timer.options)),
    }
    planned = {launch["kernel"]: launch for launch in request["plan"].get("launches") or []}
    launches = [
        (
            kernel_of(module, launch["kernel"], triton),
            {**timer.bound(launch), **timer.chosen(launch, planned.get(launch["kernel"], {}))},
        )
        for launch in request.get("launches", [])
    ]

    def backward():
        for kernel, arguments in launches:
            kernel[timer.grid](**{**timer.options, **arguments})

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
