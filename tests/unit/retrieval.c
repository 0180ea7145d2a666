// What kernels are built of, and which Functions launch them both ways.
#include "analysis/snapshot.h"
#include "server/retrieval/collect.h"
#include "server/retrieval/pairs.h"
#include "server/retrieval/similar.h"
#include "server/retrieval/words.h"
#include "tests/support/check.h"

#define PRELUDE "import torch\nimport triton\nimport triton.language as tl\n"

#define SOFTMAX(kernel, x, number)                                                                 \
    "@triton.jit\n"                                                                                \
    "def " kernel "(out, inp, n, SIZE: tl.constexpr):\n"                                           \
    "    at = tl.arange(0, SIZE)\n"                                                                \
    "    row = tl.program_id(0) * " number "\n"                                                    \
    "    " x " = tl.load(inp + row + at, mask=at < n, other=-float('inf'))\n"                      \
    "    " x " = tl.exp(" x " - tl.max(" x ", axis=0))\n"                                          \
    "    tl.store(out + row + at, " x " / tl.sum(" x ", axis=0), mask=at < n)\n"

#define SCALE(kernel)                                                                              \
    "@triton.jit\n"                                                                                \
    "def " kernel "(out, inp, n, SIZE: tl.constexpr):\n"                                           \
    "    at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)\n"                                      \
    "    tl.store(out + at, tl.load(inp + at, mask=at < n) * 2.0, mask=at < n)\n"

static Snapshot *snapshot_of(const char *text) {
    return snapshot_build("a.py", str_from(text), &(SnapshotOptions){.skip_checks = true});
}

static StoredKernel stored(Arena *arena, const Snapshot *snapshot, const char *name) {
    const Kernel *kernel = snapshot_find_kernel(snapshot, str_from(name));
    return (StoredKernel){
        .path = "/a.py", .name = name, .structure = structure_of(arena, kernel->function)};
}

TEST(names_and_numbers_are_no_structure) {
    Arena *arena = arena_new();
    Snapshot *snapshot =
        snapshot_of(PRELUDE SOFTMAX("one", "x", "n") SOFTMAX("other", "value", "n"));
    CHECK_EQ_STR(structure_text(arena, snapshot_find_kernel(snapshot, STR("one"))->function),
                 structure_text(arena, snapshot_find_kernel(snapshot, STR("other"))->function));
    snapshot_release(snapshot);
    arena_free(arena);
}

TEST(traits_rise_and_are_there_once) {
    Arena *arena = arena_new();
    Snapshot *snapshot = snapshot_of(PRELUDE SOFTMAX("one", "x", "n"));
    Structure structure = structure_of(arena, snapshot->kernels.items[0].function);
    CHECK(structure.count > 20);
    for (int i = 1; i < structure.count; i++)
        CHECK(structure.traits[i - 1].hash < structure.traits[i].hash);
    for (int i = 0; i < structure.count; i++) CHECK(structure.traits[i].weight >= 0);
    snapshot_release(snapshot);
    arena_free(arena);
}

TEST(the_nearest_comes_first_and_copies_are_one) {
    Arena *arena = arena_new();
    Snapshot *snapshot = snapshot_of(PRELUDE SOFTMAX("one", "x", "n") SOFTMAX("other", "y", "n")
                                         SOFTMAX("third", "z", "n") SCALE("scale"));
    StoredKernels kernels = {0};
    const char *const names[] = {"scale", "one", "other", "third"};
    for (int i = 0; i < 4; i++) LIST_PUSH(arena, &kernels.list, stored(arena, snapshot, names[i]));
    SimilarOptions options = {.top_k = 5};
    StoredKernel asked = kernels.list.items[1];
    Similars found = similar_find(arena, &kernels, &asked, &options);
    CHECK_EQ_INT(found.list.count, 2);
    CHECK_NEAR(found.list.items[0].similarity, 1, 1e-6);
    CHECK_EQ_INT(found.list.items[0].copies.count, 1);
    CHECK_EQ_STR(found.list.items[1].kernel->name, "scale");
    CHECK(found.list.items[1].similarity < 0.9);
    options.top_k = 1;
    found = similar_find(arena, &kernels, &asked, &options);
    CHECK_EQ_INT(found.list.count, 1);
    CHECK_EQ_INT(found.list.items[0].copies.count, 1);
    const char *const pattern[] = {"/other/*", "*.py"};
    options = (SimilarOptions){.top_k = 5, .excluded = pattern, .excluded_count = 2};
    asked.path = "/b.py";
    found = similar_find(arena, &kernels, &asked, &options);
    CHECK_EQ_INT(found.list.count, 0);
    snapshot_release(snapshot);
    arena_free(arena);
}

TEST(behind_the_nearest_stands_what_is_unlike_it) {
    Arena *arena = arena_new();
    // `second` is as near as `first`, and like it; `other` is less near, and unlike both.
    Trait asked[] = {{1, 1, 0}, {2, 1, 0}, {3, 1, 0}, {4, 1, 0}};
    Trait first[] = {{1, 1, 0}, {2, 1, 0}, {3, 1, 0}, {5, 1, 0}};
    Trait second[] = {{1, 1, 0}, {2, 1, 0}, {3, 1, 0}, {6, 1, 0}};
    Trait other[] = {{4, 1, 0}, {7, 1, 0}};
    StoredKernels kernels = {0};
    LIST_PUSH(arena, &kernels.list,
              (StoredKernel){.path = "/a.py", .name = "first", .structure = {first, 4}});
    LIST_PUSH(arena, &kernels.list,
              (StoredKernel){.path = "/b.py", .name = "second", .structure = {second, 4}});
    LIST_PUSH(arena, &kernels.list,
              (StoredKernel){.path = "/c.py", .name = "other", .structure = {other, 2}});
    StoredKernel kernel = {.path = "", .name = "", .structure = {asked, 4}};
    SimilarOptions options = {.top_k = 5};
    Similars found = similar_find(arena, &kernels, &kernel, &options);
    CHECK_EQ_INT(found.list.count, 3);
    CHECK_EQ_STR(found.list.items[0].kernel->name, "first");
    CHECK_EQ_STR(found.list.items[1].kernel->name, "other");
    CHECK_EQ_STR(found.list.items[2].kernel->name, "second");
    CHECK(found.list.items[1].similarity < found.list.items[2].similarity);
    arena_free(arena);
}

TEST(an_index_of_nothing_has_nothing_similar) {
    Arena *arena = arena_new();
    Snapshot *snapshot = snapshot_of(PRELUDE SCALE("scale"));
    StoredKernel asked = {.path = "", .name = ""};
    asked.structure = structure_of(arena, snapshot->kernels.items[0].function);
    SimilarOptions options = {.top_k = 5};
    StoredKernels none = {0}, odd = {0};
    CHECK_EQ_INT(similar_find(arena, &none, &asked, &options).list.count, 0);
    // What a file says may be any number.
    Trait traits[] = {{1, NAN, 0}, {2, INFINITY, 0}, {3, -1, 0}};
    LIST_PUSH(arena, &odd.list,
              (StoredKernel){.path = "/b.py", .name = "b", .structure = {traits, 3}});
    LIST_PUSH(arena, &odd.list, (StoredKernel){.path = "/c.py", .name = "c"});
    CHECK_EQ_INT(similar_find(arena, &odd, &asked, &options).list.count, 2);
    snapshot_release(snapshot);
    arena_free(arena);
}

TEST(words_tell_where_structures_differ) {
    Arena *arena = arena_new();
    Snapshot *snapshot = snapshot_of(PRELUDE SOFTMAX("fused_gate_fwd", "x", "n") SCALE("scale")
                                         SCALE("swiglu") SOFTMAX("nothing", "value", "n"));
    StoredKernels kernels = {0};
    const char *const paths[] = {"/a/gate.py", "/a/scaling.py"};
    for (int i = 0; i < 2; i++)
        LIST_PUSH(arena, &kernels.list,
                  collect_kernel(arena, paths[i], &snapshot->kernels.items[i]));
    SimilarOptions options = {.top_k = 5};
    // What is built as another is, is more than what is only called so; a copy under other names stays one.
    StoredKernel asked = collect_kernel(arena, "/mine.py", &snapshot->kernels.items[3]);
    Similars found = similar_find(arena, &kernels, &asked, &options);
    CHECK_EQ_STR(found.list.items[0].kernel->name, "fused_gate_fwd");
    CHECK_NEAR(found.list.items[0].similarity, 1, 1e-6);
    double far = found.list.items[1].similarity;
    asked = collect_kernel(arena, "/scaling.py", &snapshot->kernels.items[3]);
    found = similar_find(arena, &kernels, &asked, &options);
    CHECK(found.list.items[1].similarity > far + 0.1);
    CHECK(found.list.items[1].similarity > found.list.items[1].structure);
    snapshot_release(snapshot);
    arena_free(arena);
}

TEST(vectors_tell_as_far_as_they_are_closer_than_usual) {
    Arena *arena = arena_new();
    Snapshot *snapshot = snapshot_of(PRELUDE SOFTMAX("a", "x", "n") SCALE("b") SCALE("c"));
    static const float vectors[][2] = {{0.8F, 0.6F}, {0.6F, 0.8F}, {1, 0}};
    StoredKernels kernels = {0};
    for (int i = 0; i < 2; i++) {
        StoredKernel kernel = stored(arena, snapshot, i ? "b" : "a");
        kernel.vector = (StoredVector){vectors[i], 2};
        LIST_PUSH(arena, &kernels.list, kernel);
    }
    StoredKernel asked = stored(arena, snapshot, "c");
    asked.structure.count = 0;  // the vectors alone
    SimilarOptions options = {.top_k = 5, .embedding_weight = 1};
    CHECK_NEAR(similar_find(arena, &kernels, &asked, &options).list.items[0].similarity, 0, 1e-6);
    asked.vector = (StoredVector){vectors[2], 2};
    Similars found = similar_find(arena, &kernels, &asked, &options);
    // 0.8 and 0.6, of which 0.7 is usual.
    CHECK_EQ_STR(found.list.items[0].kernel->name, "a");
    CHECK_NEAR(found.list.items[0].similarity, 1.0 / 3, 1e-5);
    CHECK_NEAR(found.list.items[1].similarity, 0, 1e-6);
    options.embedding_weight = 0.5;
    CHECK_NEAR(similar_find(arena, &kernels, &asked, &options).list.items[0].similarity, 1.0 / 6,
               1e-5);
    // Of another model.
    asked.vector.count = 1;
    CHECK_NEAR(similar_find(arena, &kernels, &asked, &options).list.items[0].similarity, 0, 1e-6);
    static const float odd[] = {NAN, INFINITY};
    asked.vector = (StoredVector){odd, 2};
    CHECK_EQ_INT(similar_find(arena, &kernels, &asked, &options).list.count, 2);
    snapshot_release(snapshot);
    arena_free(arena);
}

static bool has_words_of(Arena *arena, const char *text, const char *words) {
    Structure a = vocabulary_of(arena, "", "", str_from(text));
    Structure b = vocabulary_of(arena, "", "", str_from(words));
    if (a.count != b.count) return false;
    for (int i = 0; i < a.count; i++)
        if (a.traits[i].hash != b.traits[i].hash || a.traits[i].weight != b.traits[i].weight)
            return false;
    return true;
}

TEST(names_are_taken_apart_into_words) {
    Arena *arena = arena_new();
    CHECK(has_words_of(arena, "RMSNorm(inDim_2, x) # the_RMS", "rms norm in dim the rms"));
    CHECK(has_words_of(arena, "Rms_norm dX 1e-6", "rms norm"));
    CHECK(has_words_of(arena, "A_B 1 \xc3\xa4", ""));
    CHECK(!has_words_of(arena, "gate gate", "gate"));
    Structure named = vocabulary_of(arena, "/far/away/rope.old.py", "q", STR(""));
    Structure word = vocabulary_of(arena, "", "", STR("rope old"));
    CHECK_EQ_INT(named.count, 2);
    CHECK(named.traits[0].hash == word.traits[0].hash);
    CHECK(named.traits[0].weight > word.traits[0].weight);
    arena_free(arena);
}

/// The names of the kernels of the only pair, forwards then backwards.
static const char *pair_in(Arena *arena, const char *text) {
    Snapshot *snapshot = snapshot_of(text);
    KernelPairs pairs = pairs_find(arena, snapshot->module);
    Buffer out = buffer_new(arena);
    for (LIST_EACH(int, p, pairs.list)) {
        const KernelPair *pair = &pairs.list.items[p];
        buffer_printf(&out, "%s:", pair->name);
        for (LIST_EACH(int, i, pair->forwards))
            buffer_printf(&out, " %.*s", STR_ARGS(pair->forwards.items[i]->name));
        buffer_puts(&out, " |");
        for (LIST_EACH(int, i, pair->backwards))
            buffer_printf(&out, " %.*s", STR_ARGS(pair->backwards.items[i]->name));
        buffer_puts(&out, "\n");
    }
    const char *told = arena_strdup(arena, buffer_text(&out));
    snapshot_release(snapshot);
    return told;
}

TEST(a_function_launches_through_helpers) {
    Arena *arena = arena_new();
    CHECK_EQ_STR(pair_in(arena, PRELUDE SCALE("fwd") SCALE("bwd")
                                    SCALE("unused") "def launch(kernel, x):\n"
                                                    "    kernel[(1,)](x, x, 4, 8)\n"
                                                    "    return x\n"
                                                    "def ahead(x):\n"
                                                    "    return launch(fwd, x)\n"
                                                    "class Own(torch.autograd.Function):\n"
                                                    "    @staticmethod\n"
                                                    "    def forward(ctx, x):\n"
                                                    "        return ahead(x)\n"
                                                    "    @staticmethod\n"
                                                    "    def backward(ctx, g):\n"
                                                    "        return Own.back(g)\n"
                                                    "    @staticmethod\n"
                                                    "    def back(g):\n"
                                                    "        def inner():\n"
                                                    "            bwd[(1,)](g, g, 4, 8)\n"
                                                    "        inner()\n"
                                                    "        ahead(g)\n"
                                                    "        return g\n"),
                 "Own: fwd | bwd\n");
    arena_free(arena);
}

TEST(a_kernel_may_be_its_own_backward) {
    Arena *arena = arena_new();
    CHECK_EQ_STR(pair_in(arena, PRELUDE SCALE("turn") "class Turn(torch.autograd.Function):\n"
                                                      "    def forward(ctx, x):\n"
                                                      "        turn[(1,)](x, x, 4, 8)\n"
                                                      "    def backward(ctx, g):\n"
                                                      "        turn[(1,)](g, g, 4, 8)\n"),
                 "Turn: turn | turn\n");
    arena_free(arena);
}

TEST(an_operator_has_the_backward_that_it_is_given) {
    Arena *arena = arena_new();
    CHECK_EQ_STR(
        pair_in(arena,
                PRELUDE SCALE("fwd")
                    SCALE("bwd") "@torch.library.custom_op('own::scale', mutates_args=())\n"
                                 "def scale(x):\n"
                                 "    fwd[(1,)](x, x, 4, 8)\n"
                                 "def scale_backward(ctx, g):\n"
                                 "    bwd[(1,)](g, g, 4, 8)\n"
                                 "torch.library.register_autograd('own::scale', scale_backward)\n"),
        "scale: fwd | bwd\n");
    arena_free(arena);
}

TEST(functions_that_call_each_other_end) {
    Arena *arena = arena_new();
    CHECK_EQ_STR(
        pair_in(
            arena,
            PRELUDE SCALE("fwd") SCALE(
                "bwd") "def a(x):\n    b(x)\n"
                       "def b(x):\n    a(x)\n    fwd[(1,)](x, x, 4, 8)\n"
                       "c = c\n"
                       "class Own(Function):\n"
                       "    def forward(ctx, x):\n        a(x); c(x); Own.forward(ctx, x)\n"
                       "    def backward(ctx, g):\n        bwd[(1,)](g, g, 4, 8); Own.backward(ctx, g)\n"),
        "Own: fwd | bwd\n");
    CHECK_EQ_STR(pair_in(arena, "class Own(Function):\n    def forward(ctx"), "");
    arena_free(arena);
}

TEST_MAIN(TEST_ROW(names_and_numbers_are_no_structure), TEST_ROW(traits_rise_and_are_there_once),
          TEST_ROW(the_nearest_comes_first_and_copies_are_one),
          TEST_ROW(behind_the_nearest_stands_what_is_unlike_it),
          TEST_ROW(an_index_of_nothing_has_nothing_similar),
          TEST_ROW(words_tell_where_structures_differ), TEST_ROW(names_are_taken_apart_into_words),
          TEST_ROW(vectors_tell_as_far_as_they_are_closer_than_usual),
          TEST_ROW(a_function_launches_through_helpers), TEST_ROW(a_kernel_may_be_its_own_backward),
          TEST_ROW(an_operator_has_the_backward_that_it_is_given),
          TEST_ROW(functions_that_call_each_other_end))
