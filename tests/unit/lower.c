// Lowering with everything known (for execution), and rules of the operation table.
#include "analysis/lowering/lower.h"
#include "analysis/build/build.h"
#include "analysis/ir/ir_verify.h"
#include "analysis/lowering/rule.h"
#include "analysis/snapshot.h"
#include "tests/support/check.h"

static Snapshot *snapshot;

static void build_file(const char *text) {
    const char *header = "import triton\nimport triton.language as tl\n";
    Arena *arena = arena_new();
    SnapshotOptions options = {.skip_checks = true};
    snapshot =
        snapshot_build("k.py", str_from(arena_printf(arena, "%s%s", header, text)), &options);
    arena_free(arena);
}

typedef struct Counts {
    int codes[OP_COUNT];
} Counts;

static bool count_op(void *context, Op *op) {
    ((Counts *)context)->codes[op->code]++;
    return true;
}

static Counts count_ops(const Function *function) {
    Counts counts = {{0}};
    region_walk(function->body, count_op, &counts);
    return counts;
}

static Function *lower_with(Diagnostics *diagnostics, const char *name, int64_t n) {
    Constant *value = ARENA_NEW(snapshot->arena, Constant);
    *value = (Constant){.kind = CONSTANT_INT, .integer = n};
    Binding *binding = ARENA_NEW(snapshot->arena, Binding);
    *binding = (Binding){.name = str_from(name), .constant = value};
    LowerOptions options = {.bindings = binding, .binding_count = 1, .unroll_static = true};
    const Kernel *kernel = snapshot_find_kernel(snapshot, STR("k"));
    return lower_kernel(snapshot->arena, kernel->definition, &options, diagnostics);
}

TEST(bound_constexprs_fold_and_unroll) {
    build_file(
        "@triton.jit\ndef k(x, N: tl.constexpr):\n"
        "    if N > 2:\n        for i in tl.static_range(N):\n            tl.store(x + i, i)\n"
        "    else:\n        tl.store(x, 7)\n");
    Counts symbolic = count_ops(snapshot->kernels.items[0].function);
    CHECK_EQ_INT(symbolic.codes[OP_IF], 1);
    CHECK_EQ_INT(symbolic.codes[OP_STATIC_FOR], 1);
    Counts large = count_ops(lower_with(NULL, "N", 5));
    CHECK_EQ_INT(large.codes[OP_STORE], 5);
    CHECK_EQ_INT(large.codes[OP_IF] + large.codes[OP_STATIC_FOR], 0);
    CHECK_EQ_INT(count_ops(lower_with(NULL, "N", 1)).codes[OP_STORE], 1);
    snapshot_release(snapshot);
}

TEST(recursion_on_constexprs) {
    build_file(
        "@triton.jit\ndef f(n: tl.constexpr):\n    if n < 2:\n        return n\n    return f(n - 1) + f(n - 2)\n"
        "@triton.jit\ndef k(x, N: tl.constexpr):\n    tl.store(x, f(N))\n");
    Function *function = lower_with(NULL, "N", 10);
    int64_t stored = 0;
    for (const Op *op = function->body->first; op; op = op->next)
        if (op->code == OP_STORE) CHECK(value_is_int(op->operands[1], &stored));
    CHECK_EQ_INT(stored, 55);
    snapshot_release(snapshot);
}

TEST(limits_are_said) {
    build_file("@triton.jit\ndef k(x, N: tl.constexpr):\n"
               "    for i in tl.static_range(N):\n        for j in tl.static_range(N):\n"
               "            tl.store(x + i * 9 + j, i)\n");
    Diagnostics diagnostics = {.arena = snapshot->arena};
    lower_with(&diagnostics, "N", 1000000);
    int limits = 0;
    for (LIST_EACH(int, i, diagnostics.list))
        limits += diagnostics.list.items[i].id == DIAGNOSTIC_LIMIT_REACHED;
    CHECK_EQ_INT(limits, 3);  // both loops, and all of it
    snapshot_release(snapshot);
}

static const Diagnostic *find_diagnostic(const char *name) {
    for (LIST_EACH(int, i, snapshot->diagnostics.list))
        if (strcmp(diagnostic_rows[snapshot->diagnostics.list.items[i].id].name, name) == 0)
            return &snapshot->diagnostics.list.items[i];
    return NULL;
}

typedef struct Complaint {
    const char *body;
    const char *name;
    Severity severity;
} Complaint;

TEST(complaints) {
    static const Complaint complaints[] = {
        {"    tl.store(x, tl.maximun(1, 2))\n", "unknown-operation", SEVERITY_ERROR},
        {"    tl.store(x, 1, msak=True)\n", "wrong-argument", SEVERITY_ERROR},
        {"    tl.store(x)\n", "wrong-argument", SEVERITY_ERROR},
        {"    tl.store(x, missing)\n", "undefined-name", SEVERITY_ERROR},
        {"    if N:\n        tl.store(x, missing)\n", "undefined-name", SEVERITY_WARNING},
        {"    for i in range(4):\n        y = i\n    tl.store(x, y)\n", "undefined-name",
         SEVERITY_ERROR},
        {"    try:\n        pass\n    except ValueError:\n        pass\n", "unsupported-python",
         SEVERITY_ERROR},
        {"    for i in range(4):\n        break\n", "unsupported-python", SEVERITY_ERROR},
        {"    y = 1 < 2 < 3\n", NULL, SEVERITY_ERROR},
        {"    if N == 1:\n        y = 1\n    else:\n        raise ValueError(N)\n    tl.store(x, y)\n",
         NULL, SEVERITY_ERROR},
        {"    raise ValueError(N)\n", "unsupported-python", SEVERITY_ERROR},
        {"    for i in range(4):\n        return\n", "return-in-loop", SEVERITY_ERROR},
        {"    tl.store(x, plain(1))\n", "undecorated-helper", SEVERITY_ERROR},
        {"    tl.store(x, SIZE)\n", "global-not-constexpr", SEVERITY_WARNING},
        {"    y = 1 +\n", "syntax-error", SEVERITY_HINT},
        {"    tl.store(x, SIZE_OK)\n", "global-not-constexpr", SEVERITY_WARNING},
        {"    tl.store(x, GOOD)\n", NULL, SEVERITY_ERROR},
        {"    tl.store(x, compiled(1))\n", NULL, SEVERITY_ERROR},
        {"    if N:\n        y = 1\n    if N:\n        tl.store(x, y)\n", NULL, SEVERITY_ERROR},
    };
    for (size_t i = 0; i < sizeof complaints / sizeof *complaints; i++) {
        Arena *arena = arena_new();
        build_file(arena_printf(
            arena,
            "SIZE = 4\nSIZE_OK: tl.constexpr = 4\nGOOD = tl.constexpr(2)\n"
            "def plain(y):\n    return y\n@triton.jit\ndef compiled(y):\n    return y\n"
            "@triton.jit\ndef k(x, N: tl.constexpr):\n%s",
            complaints[i].body));
        if (!complaints[i].name) {
            CHECK_EQ_INT(snapshot->diagnostics.list.count, 0);
        } else {
            const Diagnostic *found = find_diagnostic(complaints[i].name);
            if (!found) printf("not found: %s in\n%s", complaints[i].name, complaints[i].body);
            CHECK(found != NULL);
            if (found) CHECK_EQ_INT(found->severity, complaints[i].severity);
        }
        snapshot_release(snapshot);
        arena_free(arena);
    }
}

static const char *parameter_type(int index) {
    return type_print(snapshot->arena,
                      snapshot->kernels.items[0].function->parameters[index].value->type);
}

/// Scalars that no use decides are all settled, however many there are.
TEST(undecided_parameters) {
    build_file("@triton.jit\ndef k(x, a, b, c, d, e, f, g, h, i, j, D: tl.constexpr):\n"
               "    for y in tl.static_range(2):\n"
               "        tl.store(x + y, tl.full((1,), a, D) + tl.full((1,), b, D)"
               " + tl.full((1,), c, D) + tl.full((1,), d, D) + tl.full((1,), e, D)"
               " + tl.full((1,), f, D) + tl.full((1,), g, D) + tl.full((1,), h, D)"
               " + tl.full((1,), i, D) + tl.full((1,), j - 1, D))\n");
    for (int i = 1; i <= 10; i++) CHECK_EQ_STR(parameter_type(i), "i32");
    snapshot_release(snapshot);
}

/// Addresses in memory, cast to pointers to a type that a constexpr chooses.
TEST(pointers_to_a_chosen_type) {
    build_file("@triton.jit\ndef k(table, out, D: tl.constexpr):\n"
               "    chosen = tl.float32\n    if D == tl.float16:\n        chosen = tl.float16\n"
               "    p = tl.load(table).to(tl.pointer_type(chosen))\n"
               "    tl.store(out, tl.load(p + 1))\n");
    Counts counts = count_ops(snapshot->kernels.items[0].function);
    CHECK_EQ_INT(counts.codes[OP_UNKNOWN], 0);
    const Op *store = snapshot->kernels.items[0].function->body->last;
    while (store && store->code != OP_STORE) store = store->previous;
    CHECK(store != NULL);
    if (store) CHECK_EQ_INT(store->operands[1]->type.kind, TYPE_NUMBER);
    snapshot_release(snapshot);
}

/// What may come as a pointer or as a descriptor of the host is taken for a pointer.
TEST(descriptor_or_pointer) {
    build_file("@triton.jit\ndef described(x):\n"
               "    if isinstance(x, tl.tensor_descriptor):\n        return x\n"
               "    else:\n        return tl.make_tensor_descriptor(x, [8], [1], [8])\n"
               "@triton.jit\ndef k(x, y):\n"
               "    described(y).store([0], described(x).load([0]))\n");
    const Function *kernel = snapshot_find_kernel(snapshot, STR("k"))->function;
    CHECK_EQ_INT(kernel->parameters[0].value->type.kind, TYPE_POINTER);
    Counts counts = count_ops(kernel);
    CHECK_EQ_INT(counts.codes[OP_UNKNOWN] + counts.codes[OP_IF], 0);
    CHECK_EQ_INT(counts.codes[OP_MAKE_TENSOR_DESCRIPTOR], 2);
    snapshot_release(snapshot);
}

/// No type of Triton's is one of PyTorch's; what a launch passes for a constexpr may be.
TEST(types_of_pytorch) {
    build_file("import torch\n@triton.jit\n"
               "def k(x, y, D: tl.constexpr):\n    a = tl.load(x)\n"
               "    if a.dtype == torch.float16:\n        a = a * 2\n"
               "    if torch.float32 != x.dtype.element_ty:\n        tl.store(y, a)\n"
               "    if D == torch.float16:\n        tl.store(y, 1)\n");
    Counts counts = count_ops(snapshot->kernels.items[0].function);
    CHECK_EQ_INT(counts.codes[OP_IF], 1);
    CHECK_EQ_INT(counts.codes[OP_MUL], 0);
    CHECK_EQ_INT(counts.codes[OP_STORE], 2);
    snapshot_release(snapshot);
}

/// Blocks of the launcher's descriptors: by dots and reshapes, by the steps of offsets, and one that nothing tells.
TEST(blocks_of_descriptors) {
    build_file(
        "@triton.jit\ndef k(a, b, c, d, n, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):\n"
        "    acc = tl.zeros((M, N), dtype=tl.float32)\n"
        "    at = 0\n"
        "    for i in range(n):\n"
        "        x = tl.reshape(a.load([i, tl.program_id(0) * M, at]), [M, K])\n"
        "        acc += tl.dot(x, b.load([tl.program_id(1) * N, at]).T)\n"
        "        at += K\n"
        "    c.store([tl.program_id(0) * M, 0], acc * tl.sum(d.load([n])))\n");
    CHECK_EQ_STR(parameter_type(0), "descriptor element0[1, M, K]");
    CHECK_EQ_STR(parameter_type(1), "descriptor element1[N, K]");
    CHECK_EQ_STR(parameter_type(2), "descriptor element2[M, N]");
    CHECK_EQ_STR(parameter_type(3), "descriptor element3[?]");
    snapshot_release(snapshot);
}

static Value *rule(Builder *builder, const char *text, Value *x, Error *error) {
    NamedValue names[] = {{"x", x}, {"grad", x}, {"axis", build_none(builder)}};
    return lower_expression(builder, text, names, 3, error);
}

TEST(rules) {
    Arena *arena = arena_new();
    Function *function = function_new(arena, "f");
    Builder builder = {.function = function, .region = function->body};
    Type type = {.kind = TYPE_NUMBER, .element = dtype_of(DTYPE_FLOAT32)};
    Value *x = function_add_parameter(function, "x", type);
    Error error = NULL;
    const Value *value = rule(&builder, "grad * exp(x)", x, &error);
    CHECK(error == NULL && value && value->op->code == OP_MUL &&
          value->op->operands[1]->op->code == OP_EXP);
    value = rule(&builder, "x if axis is None else exp(x)", x, &error);
    CHECK(error == NULL && value == x);
    value = rule(&builder, "libdevice.tanh(x) + tl.zeros([4], tl.float32)", x, &error);
    CHECK(error == NULL && value && value->type.rank == 1);
    CHECK(rule(&builder, "grad * (", x, &error) == NULL && error != NULL);
    CHECK(rule(&builder, "nonsense(x)", x, &error) == NULL && error != NULL);
    NamedValue name = {"x", x};
    value = lower_body(&builder, "y = x + 1\nz = y * y\nreturn z - x", &name, 1, &error);
    CHECK(error == NULL && value && value->op->code == OP_SUB);
    CHECK_EQ_STR(function_verify(arena, function), NULL);
    arena_free(arena);
}

TEST_MAIN(TEST_ROW(bound_constexprs_fold_and_unroll), TEST_ROW(recursion_on_constexprs),
          TEST_ROW(limits_are_said), TEST_ROW(complaints), TEST_ROW(undecided_parameters),
          TEST_ROW(pointers_to_a_chosen_type), TEST_ROW(descriptor_or_pointer),
          TEST_ROW(types_of_pytorch), TEST_ROW(blocks_of_descriptors), TEST_ROW(rules))
