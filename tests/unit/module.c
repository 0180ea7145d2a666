// Functions, decorators, parameters, launches and names of a file.
#include "analysis/module/module_launch.h"
#include "analysis/module/module_scope.h"
#include "analysis/syntax/syntax_nodes.h"
#include "tests/support/check.h"

static Arena *arena;
static Module *module;

static void build_with(const char *text, const Resolver *resolver) {
    arena = arena_new();
    Diagnostics diagnostics = {.arena = arena};
    module = module_build(arena, source_new(arena, "m.py", str_from(text)), resolver, &diagnostics);
}

static void build_module(const char *text) { build_with(text, NULL); }

static void finish(void) {
    module_release(module);
    arena_free(arena);
}

static const FunctionDefinition *find(const char *name) {
    return module_find_function(module, str_from(name));
}

static bool is_jit(const char *name) {
    const FunctionDefinition *function = find(name);
    return function && function->is_jit;
}

TEST(decorators) {
    build_module("import triton\nfrom triton import jit, autotune as tune\nimport numba\n"
                 "import flydsl.compiler as flyc\n"
                 "import project\nmy_jit = triton.jit\n"
                 "def wrap(f):\n    return triton.jit(f)\n"
                 "@triton.jit\ndef a(): pass\n"
                 "@jit\ndef b(): pass\n"
                 "@triton.jit(noinline=True)\ndef c(): pass\n"
                 "@my_jit\ndef d(): pass\n"
                 "@wrap\ndef e(): pass\n"
                 "@project.special_jit\ndef f(): pass\n"
                 "@numba.jit\ndef g(): pass\n"
                 "@flyc.jit\ndef k(): pass\n"
                 "@staticmethod\ndef h(): pass\n"
                 "def i(): pass\ni = tune(configs=[], key=[])(jit(i))\n"
                 "def j(): pass\n");
    const char *const compiled[] = {"a", "b", "c", "d", "e", "f", "i"};
    for (size_t k = 0; k < sizeof compiled / sizeof *compiled; k++) CHECK(is_jit(compiled[k]));
    const char *const plain[] = {"g", "h", "j", "k", "wrap"};
    for (size_t k = 0; k < sizeof plain / sizeof *plain; k++) CHECK(!is_jit(plain[k]));
    CHECK(find("i")->is_autotuned);
    finish();
}

TEST(jit_of_another_language) {
    build_module("import triton\nfrom triton.experimental import gluon\n"
                 "def tuned(**options):\n    return lambda f: triton.jit(f)\n"
                 "@tuned(key=[])\n@gluon.jit\ndef a(): pass\n"
                 "@tuned(key=[])\n@triton.jit\ndef b(): pass\n"
                 "@gluon.jit(do_not_specialize=['n'])\ndef c(n): pass\n");
    CHECK(!is_jit("a"));
    CHECK(is_jit("b"));
    CHECK(!is_jit("c"));
    finish();
}

static Str alternative_of(const char *name) {
    ScopeEntry entry = module_resolve(arena, module, str_from(name));
    return entry.kind == SCOPE_ASSIGNED ? node_text(module->source, entry.node) : STR("none");
}

TEST(alternatives) {
    build_module(
        "import os\nimport torch\nimport triton\nimport triton.language as tl\n"
        "from packaging import version\n"
        "HAS = hasattr(tl, 'gather')\nOLD = hasattr(tl, 'no_such_operation')\n"
        "NEW = version.parse(triton.__version__) >= version.parse('3.2')\n"
        "if not HAS:\n    a = 1\nelse:\n    a = 2\n"
        "if OLD:\n    b = 1\nelif NEW:\n    b = 2\nelse:\n    b = 3\n"
        "if os.environ.get('X', '0').lower() in ('1', 'true'):\n    c = 1\nelse:\n    c = 2\n"
        "if torch.cuda.is_available():\n    d = 1\nelse:\n    d = 2\n"
        "if torch.cuda.is_available() and 'Y' in os.environ:\n    e = 1\nelse:\n    e = 2\n"
        "f = 1\nif NEW and not OLD:\n    f = 2\n"
        "if HAS:\n    if OLD:\n        g = 1\n    else:\n        g = 2\nelse:\n    g = 3\n");
    CHECK_EQ_TEXT(alternative_of("a"), "2");
    CHECK_EQ_TEXT(alternative_of("b"), "2");
    CHECK_EQ_TEXT(alternative_of("c"), "2");
    CHECK_EQ_TEXT(alternative_of("d"), "1");
    CHECK_EQ_TEXT(alternative_of("e"), "2");
    CHECK_EQ_TEXT(alternative_of("f"), "2");
    CHECK_EQ_TEXT(alternative_of("g"), "2");
    finish();
}

TEST(parameters) {
    build_module(
        "@jit\ndef f(a, b: tl.constexpr, c=1, d: \"*fp32\" = None, *e, g: int = 2): pass\n");
    const FunctionDefinition *function = find("f");
    CHECK_EQ_INT(function->parameter_count, 6);
    CHECK(function->parameters[1].is_constexpr);
    CHECK_EQ_TEXT(function->parameters[2].default_text, "1");
    CHECK_EQ_TEXT(function->parameters[3].annotation, "\"*fp32\"");
    CHECK(function->parameters[4].is_variadic);
    CHECK(function->parameters[5].is_keyword_only);
    CHECK_EQ_TEXT(function->parameters[5].name, "g");
    finish();
}

TEST(tuned_names) {
    build_module(
        "import triton\n"
        "def configs():\n    return [triton.Config({'BM': m, 'BN': 64}) for m in (1, 2)]\n"
        "SMALL = [triton.Config({'BM': 16}, num_warps=2)]\n"
        "@triton.autotune(configs=configs(), key=['N'])\n@triton.jit\ndef f(x, N, BM, BN, BK): pass\n"
        "@triton.autotune(SMALL, key=['N'])\n@triton.heuristics({'EVEN': lambda a: True})\n"
        "@triton.jit\ndef g(x, N, BM, EVEN): pass\n");
    CHECK_EQ_INT(find("f")->tuned_names.count, 2);
    CHECK_EQ_TEXT(find("f")->tuned_names.items[1], "BN");
    CHECK_EQ_INT(find("g")->tuned_names.count, 2);
    CHECK(find("g")->has_heuristics);
    finish();
}

TEST(launches_and_helpers) {
    build_module("import triton\n"
                 "@triton.jit\ndef helper(x):\n    return x\n"
                 "@triton.jit\ndef kernel(x):\n    helper(x)\n"
                 "class Op:\n    @staticmethod\n    def forward(ctx, x):\n        kernel[(1,)](x)\n"
                 "def other(x):\n    helper(x)\n"
                 "kernel[lambda meta: (2,)](0)\n");
    CHECK_EQ_INT(module->launches.count, 2);
    CHECK_EQ_TEXT(module->launches.items[0].launcher->name, "forward");
    CHECK(module->launches.items[1].launcher == NULL);
    CHECK(module->launches.items[0].kernel == find("kernel"));
    CHECK(find("helper")->is_helper);
    CHECK(!find("kernel")->is_helper);
    finish();
}

/// A launch of a name that is no kernel's is one of each kernel that the name may be, and none where it may be something else.
TEST(chosen_kernels) {
    build_module(
        "import triton\n"
        "@triton.jit\ndef a(x):\n    pass\n"
        "@triton.autotune([], key=[])\n@triton.jit\ndef b(x):\n    pass\n"
        "def by_flag(x, flag):\n    k = a if flag else b\n    k[(1,)](x)\n"
        "def bare(x, flag):\n"
        "    if flag:\n        k = b\n    else:\n        k = b.fn\n"
        "    k[(1,)](x)\n    b.fn[(2,)](x)\n"
        "def start(k, x):\n    k[(1,)](x)\n"
        "def run(x):\n    start(a, x)\n    start(x=x, k=(b))\n    start(  # again\n        a, x)\n"
        "def any_of(x, other):\n    k = a if other is None else other\n    k[(1,)](x)\n"
        "def looped(x):\n    for k in (a, b):\n        k[(1,)](x)\n"
        "def handed(x):\n    k = a\n    change(k)\n    k[(1,)](x)\n"
        "def taken(k, x):\n    k[(1,)](x)\n"
        "def uses(x):\n    taken(a, x)\n    return taken\n");
    const FunctionDefinition *a = find("a"), *b = find("b");
    struct {
        const char *launcher;
        const FunctionDefinition *kernel;
        int places;
        bool is_bare;
    } expected[] = {{"by_flag", a, 1, false}, {"by_flag", b, 1, false}, {"bare", b, 1, false},
                    {"bare", b, 1, true},     {"bare", b, 0, true},     {"start", a, 2, false},
                    {"start", b, 1, false}};
    CHECK_EQ_INT(module->launches.count, (int)(sizeof expected / sizeof *expected));
    for (int i = 0; i < module->launches.count; i++) {
        const LaunchSite *site = &module->launches.items[i];
        CHECK_EQ_TEXT(site->launcher->name, expected[i].launcher);
        CHECK(site->kernel == expected[i].kernel);
        CHECK_EQ_INT(site->chosen.count, expected[i].places);
        CHECK_EQ_INT(site->is_bare, expected[i].is_bare);
        CHECK_EQ_INT(launch_has_several(module, site), i != 4);
    }
    finish();
}

TEST(comment_above) {
    build_module(
        "x = 1  # not this\n# tad: x=f32[8]\n# more\n@triton.jit\ndef f(x): pass\n\n# apart\n\ndef g(): pass\n");
    CHECK_EQ_TEXT(find("f")->comment, "# tad: x=f32[8]\n# more\n");
    CHECK_EQ_TEXT(find("g")->comment, "");
    finish();
}

static void check_external(const char *name, const char *dotted) {
    ScopeEntry entry = module_resolve(arena, module, str_from(name));
    CHECK_EQ_INT(entry.kind, SCOPE_EXTERNAL);
    CHECK_EQ_TEXT(entry.dotted, dotted);
}

TEST(names_of_triton) {
    build_module(
        "import triton.language as tl\nfrom triton import language as lang\n"
        "from triton.language.extra import libdevice as dev\n"
        "try:\n    from triton.language.nowhere import rsqrt\n"
        "except ImportError:\n    from triton.language.math import rsqrt\n"
        "if x:\n    from triton.language import exp as e\nelse:\n    from triton.language import log as e\n");
    check_external("tl", "triton.language");
    check_external("lang", "triton.language");
    check_external("dev", "triton.language.extra.libdevice");
    check_external("rsqrt", "triton.language.math.rsqrt");
    check_external("e", "triton.language.exp");
    CHECK_EQ_INT(module_resolve(arena, module, STR("missing")).kind, SCOPE_MISSING);
    finish();
}

static const Module *resolve_itself(void *context, const Source *from, Str dotted, int level) {
    (void)from;
    return str_is(dotted, "circle") && level == 1 ? *(Module **)context : NULL;
}

TEST(imports_in_a_circle_end) {
    Resolver resolver = {resolve_itself, &module};
    build_with("from .circle import a\nfrom .circle import b as a2\nb = 1\n", &resolver);
    CHECK(module_resolve(arena, module, STR("a")).kind == SCOPE_OPAQUE);
    CHECK(module_resolve(arena, module, STR("a2")).kind == SCOPE_ASSIGNED);
    finish();
}

TEST(half_typed) {
    build_module("import triton\n@triton.jit\ndef f(x, \n\n@triton.jit\ndef g(x):\n    y = x[\n");
    CHECK(module->has_syntax_errors);
    finish();
    build_module("");
    CHECK_EQ_INT(module->functions.count, 0);
    finish();
}

TEST_MAIN(TEST_ROW(decorators), TEST_ROW(jit_of_another_language), TEST_ROW(alternatives),
          TEST_ROW(parameters), TEST_ROW(tuned_names), TEST_ROW(launches_and_helpers),
          TEST_ROW(chosen_kernels), TEST_ROW(comment_above), TEST_ROW(names_of_triton),
          TEST_ROW(imports_in_a_circle_end), TEST_ROW(half_typed))
