// Random numbers, bit for bit as the interpreter's: Philox, uniform floats, Box-Muller rounded to float32 at each step.
#include "gpu-runner/staging/staged.h"

enum { WORDS = 4 };  // of a counter, and drawn by it

/// What a draw starts from: expressions over the element `i`.
typedef struct StagedDraw {
    int rank;
    int64_t dims[TYPE_MAX_RANK];
    const Staged *counters[WORDS];  // NULL: 0
    bool has_high;                  // the first counter's upper half is the second
    const char *key[2];
    bool wide;  // words of 64 bits
    int64_t rounds;
} StagedDraw;

static const Staged *whole_operand(Staging *staging, const Op *op, int index) {
    const Staged *staged = staged_number(staging, op, index);
    if (staged_is_float(staged))
        stage_refuse(staging, "%s of what is no whole number", op_rows[op->code].id);
    return staged;
}

static const char *counter_text(Staging *staging, const StagedDraw *draw, int k) {
    bool is_upper = k == 1 && draw->has_high;
    const Staged *counter = is_upper ? draw->counters[0] : draw->counters[k];
    if (!counter) return "0";
    const char *at = staged_broadcast_at(staging, counter, draw->rank, draw->dims, "i");
    return arena_printf(staging->arena, is_upper ? "TAD_U(%s) >> 32" : "TAD_U(%s)", at);
}

/// The op's results, word by word.
static void bind_draw(Staging *staging, const Op *op, const StagedDraw *draw, int count) {
    bool normal = op->code == OP_RANDN || op->code == OP_RANDN4X,
         uniform = op->code == OP_RAND || op->code == OP_RAND4X;
    DTypeCode words = draw->wide ? DTYPE_UINT64 : DTYPE_UINT32;
    const Staged *results[WORDS];
    for (int k = 0; k < count; k++)
        results[k] = staged_new(staging, TILE_NUMBER, normal || uniform ? DTYPE_FLOAT32 : words,
                                draw->rank, draw->dims);
    staging->draws = true;
    stage_open(staging, "EACH_OR_ONE(i, %lld)", (long long)results[0]->count);
    stage_line(staging, "const TadWords drawn = tad_philox(%s, %s, %s, %s, %s, %s, %lld, %d);",
               counter_text(staging, draw, 0), counter_text(staging, draw, 1),
               counter_text(staging, draw, 2), counter_text(staging, draw, 3), draw->key[0],
               draw->key[1], (long long)draw->rounds, draw->wide);
    for (int k = 0; k < count; k++) {
        const char *into = staged_at(staging, results[k], "i");
        if (normal)
            stage_line(staging,
                       "%s = TAD_REAL(tad_normal(tad_part(drawn.w[%d], %d), tad_part(drawn.w[%d], "
                       "%d), %d));",
                       into, k / 2 * 2, draw->wide, k / 2 * 2 + 1, draw->wide, k % 2);
        else if (uniform)
            stage_line(staging, "%s = TAD_REAL(tad_part(drawn.w[%d], %d));", into, k, draw->wide);
        else
            stage_line(staging, "%s = (long long)drawn.w[%d];", into, k);
    }
    stage_close(staging);
    if (results[0]->count > 1) stage_barrier(staging);
    if (count == 1)
        stage_result(staging, op, results[0]);
    else
        stage_results(staging, op, results, count);
}

static void common_shape(Staging *staging, StagedDraw *draw) {
    for (int k = 0; k < WORDS; k++)
        if (draw->counters[k] &&
            !staged_shapes_broadcast(&draw->rank, draw->dims, draw->counters[k]))
            stage_refuse(staging, "random counters that do not broadcast");
}

/// philox(seed, c0..c3) and philox_impl(c0..c3, k0, k1).
void stage_philox(Staging *staging, const Op *op) {
    bool bare = op->code == OP_PHILOX_IMPL;
    StagedDraw draw = {.rounds = staged_int(staging, op, "n_rounds", 10)};
    for (int k = 0; k < WORDS; k++)
        draw.counters[k] = whole_operand(staging, op, k + (bare ? 0 : 1));
    draw.wide = dtype_bits(draw.counters[0]->dtype) == 64;
    const char *seed = staged_at(staging, whole_operand(staging, op, bare ? WORDS : 0), "0");
    draw.key[0] = arena_printf(staging->arena, "TAD_U(%s)", seed);
    draw.key[1] = bare
                      ? arena_printf(staging->arena, "TAD_U(%s)",
                                     staged_at(staging, whole_operand(staging, op, WORDS + 1), "0"))
                  : draw.wide ? "0"
                              : arena_printf(staging->arena, "TAD_U(%s) >> 32", seed);
    common_shape(staging, &draw);
    bind_draw(staging, op, &draw, WORDS);
}

void stage_random(Staging *staging, const Op *op) {
    const Staged *offset = whole_operand(staging, op, 1);
    StagedDraw draw = {.counters = {offset},
                       .has_high = dtype_bits(offset->dtype) > 32,
                       .rounds = staged_int(staging, op, "n_rounds", 10)};
    const char *seed = staged_at(staging, whole_operand(staging, op, 0), "0");
    draw.key[0] = arena_printf(staging->arena, "TAD_U(%s)", seed);
    draw.key[1] = arena_printf(staging->arena, "TAD_U(%s) >> 32", seed);
    common_shape(staging, &draw);
    bool four = op->code == OP_RAND4X || op->code == OP_RANDN4X || op->code == OP_RANDINT4X;
    bind_draw(staging, op, &draw, four ? WORDS : 1);
}

void stage_random_floats(Staging *staging, const Op *op) {
    const Staged *a = staged_number(staging, op, 0);
    staging->draws = true;
    if (op->code == OP_UINT_TO_UNIFORM_FLOAT) {
        if (staged_is_float(a)) stage_refuse(staging, "uniform numbers of what is no whole number");
        Staged *result = staged_new(staging, TILE_NUMBER, DTYPE_FLOAT32, a->rank, a->dims);
        stage_fill(staging, result,
                   arena_printf(staging->arena, "TAD_REAL(tad_part(TAD_U(%s), %d))",
                                staged_at(staging, a, "i"), dtype_bits(a->dtype) == 64));
        stage_result(staging, op, result);
        return;
    }
    const Staged *b = staged_number(staging, op, 1), *normals[2];
    if (a->count != b->count || !staged_is_float(a) || !staged_is_float(b))
        stage_refuse(staging, "normal numbers of such tiles");
    if (staging->is_dual) stage_refuse(staging, "the derivative of %s", op_rows[op->code].id);
    for (int k = 0; k < 2; k++) {
        normals[k] = staged_new(staging, TILE_NUMBER, DTYPE_FLOAT32, a->rank, a->dims);
        stage_fill(staging, normals[k],
                   arena_printf(staging->arena, "TAD_REAL(tad_normal(TAD_V(%s), TAD_V(%s), %d))",
                                staged_at(staging, a, "i"), staged_at(staging, b, "i"), k));
    }
    stage_results(staging, op, normals, 2);
}
