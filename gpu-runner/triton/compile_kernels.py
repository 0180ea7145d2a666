"""Compiles extracted kernels with the Triton of this Python; the child of tad-runner that times kernels.

It needs no GPU and no PyTorch, and never runs the user's module: of a text it takes jit functions, plain constants
and imports of Triton. One JSON object a line on stdin:

    {"source", "path", "modules", "kernel", "arguments", "options", "architecture"}

`modules` and `path` are those of `gradcheck`, `arguments` those of `plan`, each buffer with "aligned". One line each on
stdout: {"cubin" in base64, "symbol", "lines", "warps"...} as `described` makes it, or {"error", "line", "is_refusal"}.
The first line, before any request, is {"triton", "python"} or {"error"}.
"""

import ast
import base64
import contextlib
import glob
import hashlib
import importlib.util
import json
import linecache
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import types

DTYPES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32", "fp64": "float64"}
DISASSEMBLY_SECONDS = 20
MOST_CACHED = 64 << 20  # bytes of all cubins together
CALLS = {"float", "int", "bool", "min", "max", "abs", "len", "tuple"}
CALLS_OF_TRITON = {"constexpr", "cdiv", "next_power_of_2"}
PURE = (
    ast.Constant,
    ast.Name,
    ast.Attribute,
    ast.UnaryOp,
    ast.unaryop,
    ast.BinOp,
    ast.operator,
    ast.BoolOp,
    ast.boolop,
    ast.Compare,
    ast.cmpop,
    ast.IfExp,
    ast.Tuple,
    ast.List,
    ast.Subscript,
    ast.expr_context,
    ast.keyword,
)


class Trouble(Exception):
    """What keeps a kernel from being compiled, in a sentence; `line` counts in the kernel's text.

    `is_refusal`: Triton itself says so, and would say it again.
    """

    is_refusal = False

    def __init__(self, message, line=None):
        super().__init__(message)
        self.line = line


# ---- a module of kernels out of a text ---------------------------------------------------------------------------


def dotted(node):
    """`triton.language.constexpr` of a name or an attribute; "" for anything else."""
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return f"{before}.{node.attr}" if before and not node.attr.startswith("_") else ""
    return node.id if isinstance(node, ast.Name) else ""


def is_pure(node):
    """Whether evaluating it reads names and computes, and does nothing else."""
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and not dotted(part):
            return False
        if isinstance(part, ast.Call):
            name = dotted(part.func)
            last = name.rpartition(".")[2]
            if not (name in CALLS or name.startswith("math.") or last in CALLS_OF_TRITON):
                return False
        elif not isinstance(part, PURE):
            return False
    return True


class Extract:
    """Runs the statements of a text that define kernels, their helpers and constants, into a module."""

    count = 0

    def __init__(self, text, path, modules):
        Extract.count += 1
        self.path, self.modules, self.known = path, modules, {}
        self.file = f"<tad kernels {Extract.count}>"
        self.module = types.ModuleType(f"tad_kernels_{Extract.count}")
        self.module.__file__ = self.file
        self.space = self.module.__dict__
        try:
            tree = ast.parse(text)
        except SyntaxError as error:
            raise Trouble(f"the kernel's text does not parse: {error.msg}", error.lineno) from error
        lines = text.splitlines(keepends=True)
        # Triton reads sources from there.
        linecache.cache[self.file] = (len(text), None, lines, self.file)
        sys.modules[self.module.__name__] = self.module
        self.statements(tree.body)

    def forget(self):
        sys.modules.pop(self.module.__name__, None)
        linecache.cache.pop(self.file, None)
        for other in self.known.values():
            other.forget()

    def statements(self, body):
        for node in body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                self.imports(node)
            elif isinstance(node, ast.FunctionDef):
                self.function(node)
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                self.constant(node)
            elif isinstance(node, ast.If) and is_pure(node.test):
                try:
                    holds = eval(self.code(ast.Expression(node.test), "eval"), self.space)
                except Exception:
                    continue
                self.statements(node.body if holds else node.orelse)
            elif isinstance(node, ast.Try):
                self.statements(node.body)

    def code(self, tree, mode="exec"):
        ast.fix_missing_locations(tree)
        return compile(tree, self.file, mode, dont_inherit=True)

    def run(self, node):
        exec(self.code(ast.Module([node], [])), self.space)

    def imports(self, node):
        """Triton and math are imported; other modules are made of the texts that came along."""
        if isinstance(node, ast.Import):
            names = [
                name for name in node.names if name.name.partition(".")[0] in ("triton", "math")
            ]
            if names:
                self.attempt(ast.copy_location(ast.Import(names), node))
        elif not node.level and (node.module or "").partition(".")[0] in ("triton", "math"):
            self.attempt(node)
        elif node.module != "__future__":
            self.take(node)

    def attempt(self, node):
        with contextlib.suppress(ImportError):  # of another release; whoever uses the name is told
            self.run(node)

    def take(self, node):
        other = self.other("." * node.level + (node.module or ""))
        for alias in node.names:
            if other and alias.name == "*":
                public = {
                    name: value for name, value in other.space.items() if not name.startswith("_")
                }
                self.space.update(public)
            elif other and alias.name in other.space:
                self.space[alias.asname or alias.name] = other.space[alias.name]
            else:
                inner = self.other(
                    "." * node.level + ".".join(filter(None, (node.module, alias.name)))
                )
                if inner:
                    self.space[alias.asname or alias.name] = inner.module

    def other(self, name):
        for entry in self.modules:
            if entry.get("from", self.path) != self.path or entry.get("dotted") != name:
                continue
            path, text = entry.get("path", name), entry.get("source")
            if path == self.path or not isinstance(text, str):
                return None
            if path not in self.known:
                rest = [other for other in self.modules if other is not entry]  # ends circles
                self.known[path] = Extract(text, path, rest)
            return self.known[path]
        return None

    def function(self, node):
        """A jit function without its other decorators: what is compiled is one configuration."""
        decorators = []
        for decorator in node.decorator_list:
            call = decorator if isinstance(decorator, ast.Call) else None
            name = dotted(call.func if call else decorator)
            if name.rpartition(".")[2] not in ("jit", "constexpr_function"):
                continue
            plain = [word for word in call.keywords if is_pure(word.value)] if call else []
            decorators.append(
                ast.Call(call.func, [], plain) if plain else call.func if call else decorator
            )
        if not decorators:
            return
        everything = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
        for argument in everything:
            if argument.annotation and not is_pure(argument.annotation):
                argument.annotation = None
        node.returns = None
        defaults = node.args.defaults + [default for default in node.args.kw_defaults if default]
        if not all(is_pure(default) for default in defaults):
            return
        node.decorator_list = decorators
        try:
            self.run(node)
        except Exception as error:
            raise Trouble(f"`{node.name}`: {type(error).__name__}: {error}", node.lineno) from error

    def constant(self, node):
        if node.value is None or not is_pure(node.value):
            return
        if isinstance(node, ast.AnnAssign) and not is_pure(node.annotation):
            return
        with contextlib.suppress(Exception):  # a name was left out; whoever uses it is told
            self.run(node)


# ---- what a cubin has of each line ----------------------------------------------------------------------------------

# By what the name of an instruction begins with, in this order.
KINDS = (
    ("local_loads", ("LDL",)),
    ("local_stores", ("STL",)),
    ("shared_loads", ("LDSM", "LDS")),
    ("shared_stores", ("STSM", "STS")),
    ("barriers", ("BAR", "UBAR", "SYNCS", "WARPSYNC", "DEPBAR", "LDGDEPBAR", "WARPGROUP")),
    ("shuffles", ("SHFL", "REDUX", "CREDUX")),
    ("constants", ("LDC", "ULDC", "LDCU")),
    ("loads", ("LDGSTS", "LDG", "LD", "UTMALDG", "UBLKCP", "UBLKPF")),
    ("stores", ("STG", "ST", "UTMASTG", "UTMAREDG")),
    ("atomics", ("ATOM", "RED")),
    (
        "matrix",
        ("HMMA", "IMMA", "DMMA", "QMMA", "BMMA", "OMMA", "HGMMA", "IGMMA", "QGMMA", "BGMMA", "UTC"),
    ),
    ("special", ("MUFU",)),
    (
        "float",
        ("FADD", "FMUL", "FFMA", "FMNMX", "HADD", "HMUL", "HFMA", "HMNMX", "DADD", "DMUL", "DFMA"),
    ),
)
INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?(\w+)")
PLACE = re.compile(r'"([^"]*)", line (\d+)')
# No instructions of the kernel: they fill up its end, or wait in a circle there.
FILLING = {"NOP", "BRA"}


def kind_of(name):
    return next((kind for kind, heads in KINDS if name.startswith(heads)), None)


def with_lines_of_blocks(ptx):
    """LLVM counts lines within inline assembly, too: what stands there belongs to the line before."""
    kept, is_inside = [], False
    for line in ptx.splitlines(keepends=True):
        if line.strip() in ("// begin inline asm", "// end inline asm"):
            is_inside = "begin" in line
        if not (is_inside and line.lstrip().startswith(".loc")):
            kept.append(line)
    return "".join(kept)


@contextlib.contextmanager
def exact_lines(backend):
    """Line tables of cubins name the lines of the text."""
    kind = type(backend)
    original = getattr(kind, "make_cubin", None)
    if original is None:
        yield
        return

    def make_cubin(self, source, *rest, **named):
        source = with_lines_of_blocks(source) if isinstance(source, str) else source
        return original(self, source, *rest, **named)

    kind.make_cubin = make_cubin
    try:
        yield
    finally:
        kind.make_cubin = original


def disassembler():
    """nvdisasm: Triton's own, a package's, one of the path; or None."""
    import triton

    folders = [os.path.join(os.path.dirname(triton.__file__), "backends", "nvidia", "bin")]
    spec = importlib.util.find_spec("nvidia")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        folders += sorted(glob.glob(os.path.join(folder, "*", "bin")))
    return shutil.which("nvdisasm", path=os.pathsep.join(folders)) or shutil.which("nvdisasm")


def line_counts(listing, file):
    """Of a listing: {line of the text, 0 for others: {"instructions", kinds...}}."""
    counts, line, is_new = {}, 0, True
    for row in listing.splitlines():
        if row.lstrip().startswith("//##"):
            # Innermost first; the first row after an instruction begins another place.
            line = 0 if is_new else line
            is_new = False
            places = PLACE.findall(row)
            own = [int(number) for name, number in places if name == file]
            line = line or (own[0] if own else 0)
            continue
        found = INSTRUCTION.match(row)
        if not found or found.group(1) in FILLING:
            continue
        is_new = True
        of_line = counts.setdefault(line, {"instructions": 0})
        of_line["instructions"] += 1
        kind = kind_of(found.group(1))
        if kind:
            of_line[kind] = of_line.get(kind, 0) + 1
    return counts


def line_table(cubin, file):
    """[{"line", "instructions", kinds...}] by line; [] where that cannot be had."""
    program = disassembler()
    if not program:
        return []
    with tempfile.NamedTemporaryFile(suffix=".cubin") as holder:
        holder.write(cubin)
        holder.flush()
        try:
            run = subprocess.run(
                [program, "-gi", "-c", holder.name],
                capture_output=True,
                text=True,
                timeout=DISASSEMBLY_SECONDS,
            )
        except (OSError, subprocess.TimeoutExpired):
            return []
    counts = line_counts(run.stdout, file) if run.returncode == 0 else {}
    return [{"line": line, **counts[line]} for line in sorted(counts)]


# ---- one kernel ------------------------------------------------------------------------------------------------------


class Pointer:
    """What Triton asks of a tensor: its type and where it lies."""

    def __init__(self, dtype, aligned):
        self.dtype, self.aligned = dtype, aligned

    def data_ptr(self):
        return 256 if self.aligned else 257

    def element_size(self):
        return max(self.dtype.primitive_bitwidth // 8, 1)


def element_type(name):
    import triton.language as tl

    return getattr(tl, DTYPES.get(name, name))


def value_of(argument, space):
    """The Python value that a launch passes for it."""
    kind = argument["kind"]
    if kind == "buffer":
        pointer = Pointer(element_type(argument["dtype"]), argument.get("aligned", True))
        if not argument.get("block"):
            return pointer
        from triton.tools.tensor_descriptor import TensorDescriptor

        layout = ([int(size) for size in argument[key]] for key in ("shape", "strides", "block"))
        return TensorDescriptor(pointer, *layout)
    if "type" in argument:
        return element_type(argument["type"])
    if "function" in argument:
        name = argument["function"]
        if name not in space:
            raise Trouble(f"the function `{name}` of the launch is not in the kernel's text")
        return space[name]
    if "items" in argument:
        return tuple(value_of({"kind": "constant", **item}, space) for item in argument["items"])
    value = argument.get("value")
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if argument.get("dtype") == "int1":
        return bool(value)
    if kind == "float" or argument.get("is_float"):
        return float(value)
    return int(value) if float(value).is_integer() else float(value)


def bound(kernel, backend, arguments, options, space):
    """(signature, constexprs, attributes, options) as a launch by Triton itself makes them of these arguments."""
    from triton._utils import find_paths_if, get_iterable_path
    from triton.runtime.jit import create_function_from_signature

    values = {argument["name"]: value_of(argument, space) for argument in arguments}
    names = {parameter.name for parameter in kernel.params}
    values = {name: value for name, value in values.items() if name in names}
    keywords = {**values, **options}
    binder = create_function_from_signature(kernel.signature, kernel.params, backend)
    given, specialization, _ = binder(**keywords)
    # What JITFunction.run makes of these, in every release since 3.4.
    names = [parameter.name for parameter in kernel.params]
    kinds, marks = [row[0] for row in specialization], [row[1] for row in specialization]
    given = list(given.values())
    paths = find_paths_if(kinds, lambda _, kind: kind == "constexpr")
    constexprs = {path: get_iterable_path(given, path) for path in paths}
    paths = find_paths_if(marks, lambda _, mark: isinstance(mark, str))
    attributes = {path: backend.parse_attr(get_iterable_path(marks, path)) for path in paths}
    return (
        dict(zip(names, kinds, strict=True)),
        constexprs,
        attributes,
        backend.parse_options(keywords),
    )


def descriptor_slots(name, type_name, map_of):
    """What Triton's launcher makes of a tensor descriptor: a map of the driver's, or an address; then the layout.

    `map_of`: how the kernel reads by the map; None where it was compiled without one.
    """
    import dataclasses

    from triton.backends.nvidia.driver import TMA_DTYPE_DEVICE_TO_HOST
    from triton.tools.tensor_descriptor import TensorDescriptor

    found = re.match(r"tensordesc<([^\[>]*)\[([^\]]*)\]", type_name)
    if not found:
        raise Trouble(f"`{name}` is a tensor descriptor of a kind that only PyTorch passes")
    axes = range(found[2].count(",") + 1)
    sizes = [{"argument": name, "size": axis, "type": "i32"} for axis in axes]
    strides = [{"argument": name, "stride": axis, "type": "i64"} for axis in axes]
    if map_of is not None:
        own = {
            "argument": name,
            "swizzle": int(map_of["swizzle"]),
            "element": int(TMA_DTYPE_DEVICE_TO_HOST[map_of["elem_type"]]),
            "bytes": int(map_of["elem_size"]),
            "block": [int(size) for size in map_of["block_size"]],
            "doubled": bool(map_of["fp4_padded"]),
        }
        return [own, *sizes, *strides]
    # How lanes beyond the tensor are filled, and whether products round: releases since 3.5 and 3.7 pass them.
    fields = {field.name for field in dataclasses.fields(TensorDescriptor)}
    flags = len({"padding", "round_f32_to_tf32"} & fields)
    wide = [{**size, "type": "i64"} for size in sizes]
    no = [{"value": 0, "type": "i1"}] * flags
    return [{"argument": name, "type": f"*{found[1]}"}, *wide, *strides, *no, *sizes, *strides]


def tuple_slots(name, types, path):
    """The numbers of a tuple, and of tuples in it, in their order; each with its place."""
    slots = []
    for index, type_name in enumerate(types):
        here = [*path, index]
        if isinstance(type_name, tuple):
            slots += tuple_slots(name, type_name, here)
        elif type_name.startswith(("*", "tensordesc")):
            raise Trouble(f"`{name}` is a tuple of tensors: only PyTorch passes that")
        elif type_name != "constexpr":
            slots.append({"argument": name, "items": here, "type": type_name})
    return slots


def kernel_slots(signature, metadata):
    """What the kernel is launched with, in its order: arguments that are not constants, then scratch memory."""
    slots = []
    maps = list(getattr(metadata, "tensordesc_meta", None) or [])
    for name, type_name in signature.items():
        if isinstance(type_name, tuple):
            slots += tuple_slots(name, type_name, [])
        elif type_name.startswith("tensordesc"):
            slots += descriptor_slots(name, type_name, maps.pop(0) if maps else None)
        elif type_name != "constexpr":
            slots.append({"argument": name, "type": type_name})
    for kind in ("global", "profile"):
        size = getattr(metadata, f"{kind}_scratch_size", None)
        if size is not None:
            alignment = getattr(metadata, f"{kind}_scratch_align", 1)
            slots.append({"scratch": int(size), "alignment": int(alignment)})
    return slots


def described(compiled, signature, file):
    """How the cubin is loaded and launched, and what it has of each line of the text."""
    metadata = compiled.metadata
    blocks = int(getattr(metadata, "num_ctas", 1))
    cluster = [int(size) for size in getattr(metadata, "cluster_dims", ()) or (blocks, 1, 1)]
    return {
        "cubin": base64.b64encode(compiled.asm["cubin"]).decode(),
        "symbol": metadata.name,
        "lines": line_table(compiled.asm["cubin"], file),
        "shared": int(metadata.shared),
        "warps": int(metadata.num_warps),
        "cluster": cluster,
        "blocks": math.prod(cluster),
        "cooperative": bool(getattr(metadata, "launch_cooperative_grid", False)),
        "dependent": bool(getattr(metadata, "launch_pdl", False)),
        "slots": kernel_slots(signature, metadata),
    }


def compiled(request):
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler.compiler import ASTSource, make_backend

    path = request.get("path", "")
    extract = Extract(request["source"], path, request.get("modules") or [])
    try:
        kernel = extract.space.get(request["kernel"])
        if not isinstance(kernel, triton.runtime.JITFunction):
            raise Trouble(f"there is no kernel `{request['kernel']}` in the text")
        target = GPUTarget("cuda", int(request["architecture"]), 32)
        options = {
            name: value
            for name, value in (request.get("options") or {}).items()
            if value is not None
        }
        try:
            backend = make_backend(target)
            bindings = bound(kernel, backend, request["arguments"], options, extract.space)
            signature, constexprs, attributes, parsed = bindings
            source = ASTSource(kernel, signature, constexprs, attributes)
            with tempfile.TemporaryDirectory(prefix="tad-triton-") as folder, exact_lines(backend):
                os.environ["TRITON_CACHE_DIR"] = folder
                made = triton.compile(source, target=target, options=parsed.__dict__)
                return described(made, signature, extract.file)
        except Trouble:
            raise
        except Exception as error:
            raise trouble_of(error, kernel, extract) from error
    finally:
        extract.forget()


def trouble_of(error, kernel, extract):
    """Triton's error at the line that it names, of the kernel or of a function of its text."""
    line, innermost = None, error
    while error is not None:
        node = getattr(error, "node", None)
        if hasattr(node, "lineno"):
            innermost = error
            line = line_in_text(node.lineno, getattr(error, "src", None), kernel, extract)
        error = error.__cause__
    message = getattr(innermost, "error_message", None) or str(innermost).strip()
    trouble = Trouble(f"{type(innermost).__name__}: {message}", line)
    trouble.is_refusal = True
    return trouble


def line_in_text(line, source, kernel, extract):
    """Triton counts from the `def`; None where the function is none of the text."""
    of_text = [
        value
        for value in extract.space.values()
        if hasattr(value, "raw_src")
        and getattr(value, "__module__", None) == extract.module.__name__
    ]
    for function in [kernel, *of_text]:
        if source in (None, getattr(function, "src", None)):
            return line + function.starting_line_number + lines_before_def(function) - 1
    return None


def lines_before_def(kernel):
    """Decorators stand in front of what Triton counts from."""
    for index, text in enumerate(kernel.raw_src):
        if text.lstrip().startswith("def "):
            return index
    return 0


# ---- cubins that are kept --------------------------------------------------------------------------------------------


class Cache:
    """Answers by what they were made of, the latest `MOST_CACHED` bytes. Whatever goes wrong with it, it is without."""

    def __init__(self, release):
        home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        self.folder = os.path.join(home, "tad-lsp", "cubins")
        self.release = release
        with open(__file__, "rb") as file:
            self.release += hashlib.sha256(file.read()).hexdigest()

    def path(self, request):
        key = json.dumps([self.release, request], sort_keys=True)
        return os.path.join(self.folder, hashlib.sha256(key.encode()).hexdigest() + ".json")

    def find(self, request):
        try:
            path = self.path(request)
            with open(path) as file:
                answer = json.load(file)
            os.utime(path)
            return answer if "cubin" in answer else None
        except (OSError, ValueError, TypeError):
            return None

    def keep(self, request, answer):
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=self.folder, delete=False) as file:
                json.dump(answer, file)
            os.replace(file.name, self.path(request))
            self.forget_oldest()
        except OSError:
            pass

    def forget_oldest(self):
        with os.scandir(self.folder) as entries:
            rows = [(entry.stat().st_mtime, entry.stat().st_size, entry.path) for entry in entries]
        total = sum(size for _, size, _ in rows)
        for _, size, path in sorted(rows):
            if total <= MOST_CACHED:
                return
            os.unlink(path)
            total -= size


# ---- the loop ----------------------------------------------------------------------------------------------------


def release():
    """Of Triton, without the second that its import takes: that is for the first kernel that is not kept."""
    spec = importlib.util.find_spec("triton")
    if spec is None or not spec.origin:
        raise Trouble(f"{sys.executable} has no Triton")
    with open(spec.origin) as file:
        for line in file:
            if line.startswith("__version__"):
                stamp = os.stat(os.path.join(os.path.dirname(spec.origin), "_C")).st_mtime_ns
                return line.split("=")[1].strip().strip("'\""), str(stamp)
    import triton

    return triton.__version__, spec.origin


def answer_to(request, cache):
    try:
        answer = cache.find(request)
        if answer:
            return {**answer, "is_kept": True}
        answer = compiled(request)
        cache.keep(request, answer)
        return answer
    except Trouble as trouble:
        return {"error": str(trouble), "line": trouble.line, "is_refusal": trouble.is_refusal}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def main():
    # What compilers print must not get into the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for name in ("TRITON_INTERPRET", "TRITON_KERNEL_OVERRIDE", "TRITON_KERNEL_DUMP"):
        os.environ.pop(name, None)

    def say(answer):
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    try:
        version, stamp = release()
    except (Trouble, OSError, ImportError) as error:
        say({"error": str(error)})
        return
    say({"triton": version, "python": sys.version.split()[0]})
    cache = Cache(version + stamp + sys.version)
    for line in sys.stdin:
        say(answer_to(json.loads(line), cache))


if __name__ == "__main__":
    main()
