"""Times a forward kernel and its backward on this machine's GPU; the child of `tad-lsp --time`
where gpu-runner/triton does not launch them.

One JSON object on stdin: {"module": text with the kernels and their helpers, "kernel", "plan": the answer of
tad-runner's `plan`, "launches": the backward's, as in `gradcheck`, whose numbers the plan has, "helpers": the
Python by which written launchers choose tiles}. One on stdout:
{"device", "forward": {"median_ms", ...}, "backward", "bytes"} or {"error"}. Only the text that is given is
imported, from a folder of its own: the kernels, their helpers and the imports that these need.

With "reference" nothing of these is timed, but what the user says computes the same in PyTorch: {"expression"} over the
kernel's parameters, or {"file", "function"} of his, which is run. "inputs" and "outputs" name the kernel's. Then the
answer is {"torch", "eager": {"forward", "backward" or "no_backward"}, "compile": the same or {"problem"}, "compared"}.
"""

import ast
import importlib.util
import inspect
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


DEVICE = "cuda"


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
            data = torch.zeros(count, device=DEVICE)
        elif dtype.is_floating_point:
            low, high = argument["low"], argument["high"]
            data = torch.rand(count, device=DEVICE)
            uniform = argument["content"] == "uniform"
            data = data * (high - low) + low if uniform else data * 2 - 1
        elif argument["content"] == "monotone":
            data = torch.arange(count, device=DEVICE) * max(int(argument["high"]), 1)
        elif argument["content"] == "distinct":
            data = torch.arange(count, device=DEVICE)
        elif argument["content"] == "small" and argument["high"] > argument["low"]:
            data = torch.randint(
                int(argument["low"]), int(argument["high"]), (count,), device=DEVICE
            )
        else:
            data = torch.zeros(count, device=DEVICE)
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
        if kind == "int" or (
            isinstance(value, float) and value.is_integer() and kind == "constant"
        ):
            return int(value)
        return float(value) if kind == "float" else value

    def forward_values(self):
        """The forward's arguments, descriptors made of the tensors that they describe."""
        values = dict(self.values)
        for name, argument in self.by_name.items():
            if argument.get("block"):
                from triton.tools.tensor_descriptor import TensorDescriptor

                layout = (
                    [int(size) for size in argument[key]] for key in ("shape", "strides", "block")
                )
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
        return [
            self.torch.empty(0, device=DEVICE, dtype=self.dtype(dtypes[int(w)]))
            for w in block["widths"]
        ]

    def chosen(self, launch):
        """Sizes, grid and options as the written Function chooses them on this GPU, or as the forward has them."""
        own = launch.get("own")
        grid = tuple(int(size) for size in launch.get("grid", self.grid))
        if not own:
            return {}, grid, self.options_of(launch)
        said = {
            name: int(own[name]) for name in ("num_warps", "num_stages", "widest") if name in own
        }
        parts = own.get("parts")
        loop = own.get("loop") or parts
        if loop:
            counts = {
                name: tuple(map(int, loop[name]))
                for name in ("products", "kept", "loaded", "divides")
            }
            counts |= {"rows": int(loop["rows"]), "owned": loop["is_owned"]}
            counts["fixed"] = loop.get("is_fixed", False)
            size, warps, stages = self.helpers["_loop_tile"](
                int(loop["size"]), self.tensors(loop), **counts, **said
            )
            sizes = {} if loop is parts else {loop["name"]: size}
            if parts:
                rows = size if loop is parts else int(parts["part"])
                sizes[parts["name"]] = int(parts["size"]) // rows
            return sizes, grid, {"num_warps": warps, "num_stages": stages}
        row = own.get("row")
        if row:
            given = int(row["size"]), int(row["length"]), *self.tensors(row)
            said.pop("widest", None)
            size, warps = self.helpers["_row_block"](*given, lanes=int(row["lanes"]), **said)
            stages = {"num_stages": said["num_stages"]} if "num_stages" in said else {}
            return {row["name"]: size}, grid, {"num_warps": warps, **stages}
        wide = own.get("elements")
        if wide:
            given = int(wide["axis"]), int(wide["size"]), int(wide["length"]), *self.tensors(wide)
            said.pop("widest", None)
            grid, size, warps = self.helpers["_wide_block"](
                self.grid, *given, lanes=int(wide["lanes"]), **said
            )
            stages = {"num_stages": said["num_stages"]} if "num_stages" in said else {}
            return {wide["name"]: size}, grid, {"num_warps": warps, **stages}
        together = own.get("programs")
        if together:
            said.pop("widest", None)
            given = int(together["axis"]), int(together["lanes"]), *self.tensors(together)
            grid, count, warps = self.helpers["_together"](self.grid, *given, **said)
            stages = {"num_stages": said["num_stages"]} if "num_stages" in said else {}
            return {together["name"]: count}, grid, {"num_warps": warps, **stages}
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
            raise Trouble(first_line(error)) from error
        low, median, high = self.triton.testing.do_bench(launches, quantiles=[0.1, 0.5, 0.9])
        return {"median_ms": median, "low_ms": low, "high_ms": high}

    def bytes(self):
        """Each buffer once: what the forward has to move at the least."""
        buffers = (
            value for name, value in self.values.items() if self.by_name[name]["kind"] == "buffer"
        )
        return sum(value.numel() * value.element_size() for value in buffers)


def packages():
    """PyTorch and Triton, ready for a GPU."""
    try:
        import torch
        import triton
        import triton.testing
    except ImportError as error:
        raise Trouble(
            f"{sys.executable} cannot import what is needed: {error}", "python"
        ) from error
    if not torch.cuda.is_available():
        raise Trouble(f"PyTorch {torch.__version__} finds no GPU here", "gpu")
    if hasattr(triton, "set_allocator"):  # descriptors that kernels make
        triton.set_allocator(
            lambda size, alignment, stream: torch.empty(size, device=DEVICE, dtype=torch.int8)
        )
    return torch, triton


def kernels_of(request):
    # No longer than that: who is killed removes nothing.
    with tempfile.TemporaryDirectory() as folder:
        return load(request["module"], folder)


def time_kernels(request):
    torch, triton = packages()
    module = kernels_of(request)
    timer = Timer(torch, triton, request)
    forward = kernel_of(module, request["kernel"], triton)
    values = timer.forward_values()
    result = {
        "device": torch.cuda.get_device_name(),
        "triton": triton.__version__,
        "torch": torch.__version__,
        "text": request["plan"]["text"],
        "bytes": timer.bytes(),
        "forward": timer.measure(
            lambda: forward[timer.grid](**values, **timer.options_of(timer.plan))
        ),
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


# ---- a reference in PyTorch ---------------------------------------------------------------------------------------

BUILT_IN = {"abs", "bool", "float", "int", "len", "max", "min", "range", "sum", "tuple"}
ALIKE = 5e-2  # more is no rounding


def expression_function(torch, text, names):
    """A function of those parameters that the expression has, and these; it reads nothing else but PyTorch and math."""
    import math

    import torch.nn.functional as F

    space = {"torch": torch, "F": F, "math": math}
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError as error:
        raise Trouble(f"`{text}` is no expression: {error.msg}") from error
    used = []
    for part in ast.walk(tree):
        if isinstance(part, ast.Attribute) and part.attr.startswith("_"):
            raise Trouble(f"`{part.attr}` begins with an underscore, which a reference may not use")
        if not isinstance(part, ast.Name) or part.id in space or part.id in BUILT_IN:
            continue
        if part.id not in names:
            raise Trouble(
                f"`{part.id}` is no parameter of the kernel; a reference has these, `torch`, `F` and `math`"
            )
        if part.id not in used:
            used.append(part.id)
    exec(f"def reference({', '.join(used)}):\n    return (\n{text}\n)", space)
    return space["reference"], used


def file_function(path, name, names):
    """The function of a file, which is run for it, and its parameters that the kernel has."""
    if not os.path.exists(path):
        raise Trouble(f"{path}: there is no such file where this Python runs")
    sys.path.insert(0, os.path.dirname(path))
    spec = importlib.util.spec_from_file_location("tad_reference", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["tad_reference"] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise Trouble(f"{path} does not run: {type(error).__name__}: {error}") from error
    function = getattr(module, name, None)
    if not inspect.isfunction(function):
        raise Trouble(f"{path} has no function `{name}`")
    used = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in names and parameter.kind in (
            parameter.POSITIONAL_OR_KEYWORD,
            parameter.KEYWORD_ONLY,
        ):
            used.append(parameter.name)
        elif parameter.default is parameter.empty:
            raise Trouble(
                f"the kernel has no parameter `{parameter.name}`, which `{name}` of {path} takes"
            )
    return function, used


def shaped(timer, name):
    """A copy of what the kernel is given, as the tensor that the configuration says it is."""
    value, argument = timer.values[name], timer.by_name[name]
    if not timer.torch.is_tensor(value):
        return value
    if not argument.get("dims"):
        return value.clone()
    sizes = ([int(number) for number in argument[key]] for key in ("dims", "steps"))
    try:
        return value.as_strided(*sizes, value.storage_offset()).clone()
    except RuntimeError as error:
        raise Trouble(f"`{name}` is smaller than its shape") from error


def first_line(error):
    lines = str(error).strip().splitlines()
    if isinstance(error, Trouble):
        return str(error)
    return f"{type(error).__name__}: {lines[0] if lines else ''}"


def tensors_of(torch, found):
    found = list(found) if isinstance(found, (tuple, list)) else [found]
    tensors = [one for one in found if torch.is_tensor(one)]
    if not tensors:
        raise Trouble("the reference gives no tensor")
    return tensors


def compared(timer, request, tensors):
    """How far the reference is from what the kernel stores, in words. The kernel runs once."""
    torch = timer.torch
    names = [
        name for name in request.get("outputs") or [] if torch.is_tensor(timer.values.get(name))
    ]
    shapes = {name: shaped(timer, name).shape for name in names}
    for tensor in tensors:
        if not any(tensor.numel() == shape.numel() for shape in shapes.values()):
            known = ", ".join(f"{name} {tuple(shape)}" for name, shape in shapes.items())
            raise Trouble(
                f"the reference gives a tensor of shape {tuple(tensor.shape)}; the kernel stores {known}"
            )
    if "module" not in request:
        return "not compared with what the kernel stores"
    try:
        kernel = kernel_of(kernels_of(request), request["kernel"], timer.triton)
        kernel[timer.grid](**timer.forward_values(), **timer.options_of(timer.plan))
        torch.cuda.synchronize()
    except Exception as error:
        return f"not compared with what the kernel stores: {first_line(error)}"
    words = []
    for tensor in tensors:
        errors = {}
        for name in names:
            if shapes[name].numel() == tensor.numel():
                own, other = (
                    shaped(timer, name).reshape(-1).double(),
                    tensor.detach().reshape(-1).double(),
                )
                finite = own.isfinite() & other.isfinite()
                scale = own[finite].norm().clamp_min(1e-300)
                same = bool((own.isfinite() == other.isfinite()).all())
                errors[name] = float((own - other)[finite].norm() / scale) if same else float("inf")
        name = min(errors, key=errors.get)
        words.append(
            f"{name} differs by {errors[name]:.1e}"
            + ("" if errors[name] <= ALIKE else ": it computes something else")
        )
    return ", ".join(words)


def measured(timer, function, arguments, inputs):
    """Its forward as it runs before a backward, and its backward alone."""
    torch = timer.torch

    def forward():
        return function(**arguments)

    result = {"forward": timer.measure(forward)}
    outputs = [one for one in tensors_of(torch, forward()) if one.requires_grad]
    if not inputs or not outputs:
        return {**result, "no_backward": "no tensor that it gives has a gradient"}
    upstreams = [torch.randn_like(one) for one in outputs]

    def backward():
        torch.autograd.grad(outputs, inputs, upstreams, retain_graph=True, allow_unused=True)

    return {**result, "backward": timer.measure(backward)}


def compile_time(timer, function, arguments, inputs):
    torch = timer.torch
    if not hasattr(torch, "compile"):
        return {"problem": f"PyTorch {torch.__version__} has none"}
    try:
        import torch._functorch.config as config

        config.donated_buffer = False  # a backward is run again and again
        return measured(timer, torch.compile(function), arguments, inputs)
    except Exception as error:
        return {"problem": first_line(error)}


def time_reference(request):
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise Trouble(
            f"{sys.executable} has no PyTorch ({error}), which a reference is timed with: "
            "name a Python that has it by `--python`"
        ) from error
    torch, triton = packages()
    timer = Timer(torch, triton, request)
    said, names = request["reference"], list(timer.by_name)
    if "expression" in said:
        function, used = expression_function(torch, said["expression"], names)
    else:
        function, used = file_function(said["file"], said["function"], names)
    arguments = {name: shaped(timer, name) for name in used}
    inputs = []
    for name in used:
        one = arguments[name]
        if (
            name in (request.get("inputs") or [])
            and torch.is_tensor(one)
            and one.is_floating_point()
        ):
            inputs.append(one.requires_grad_())
    try:
        tensors = tensors_of(torch, function(**arguments))
    except Trouble:
        raise
    except Exception as error:
        raise Trouble(f"the reference does not run: {first_line(error)}") from error
    return {
        "torch": torch.__version__,
        "compared": compared(timer, request, tensors),
        "eager": measured(timer, function, arguments, inputs),
        "compile": compile_time(timer, function, arguments, inputs),
    }


def main():
    # What imported modules print must not get into the answer.
    answer, sys.stdout = sys.stdout, sys.stderr
    try:
        request = json.load(sys.stdin)
        result = time_reference(request) if "reference" in request else time_kernels(request)
    except Trouble as trouble:
        result = {"error": str(trouble), "lacks": trouble.lacks}
    except Exception as error:
        result = {"error": f"{type(error).__name__}: {error}"}
    json.dump(result, answer)
    answer.write("\n")


if __name__ == "__main__":
    main()
