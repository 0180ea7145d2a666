// Random numbers, bit for bit as Triton's: Philox, its conversion to uniform floats, Box-Muller in float32.
#include "gpu-runner/interp/interp_random.h"

#include <math.h>
#include <string.h>

#include "gpu-runner/interp/interp.h"
#include "gpu-runner/interp/philox.h"

void philox_4x32(uint32_t counter[4], uint32_t key0, uint32_t key1, int rounds) {
    for (int round = 0; round < rounds; round++) {
        uint64_t a = (uint64_t)counter[0] * 0xD2511F53u, b = (uint64_t)counter[2] * 0xCD9E8D57u;
        uint32_t next0 = (uint32_t)(b >> 32) ^ counter[1] ^ key0,
                 next2 = (uint32_t)(a >> 32) ^ counter[3] ^ key1;
        counter[0] = next0;
        counter[1] = (uint32_t)b;
        counter[2] = next2;
        counter[3] = (uint32_t)a;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
}

void philox_4x64(uint64_t counter[4], uint64_t key0, uint64_t key1, int rounds) {
    __extension__ typedef unsigned __int128 Wide;
    for (int round = 0; round < rounds; round++) {
        Wide a = (Wide)counter[0] * 0xD2E7470EE14C6C93u, b = (Wide)counter[2] * 0xCA5A826395121157u;
        uint64_t next0 = (uint64_t)(b >> 64) ^ counter[1] ^ key0,
                 next2 = (uint64_t)(a >> 64) ^ counter[3] ^ key1;
        counter[0] = next0;
        counter[1] = (uint64_t)b;
        counter[2] = next2;
        counter[3] = (uint64_t)a;
        key0 += 0x9E3779B97F4A7C15u;
        key1 += 0xBB67AE8584CAA73Bu;
    }
}

float philox_uniform32(uint32_t bits) {
    int32_t value = (int32_t)bits;
    if (value < 0) value = ~value;
    return (float)value * 4.6566127342e-10f;
}

float philox_uniform64(uint64_t bits) {
    int64_t value = (int64_t)bits;
    if (value < 0) value = ~value;
    return (float)value * 1.0842020432385337e-19f;
}

static void box_muller(float u1, float u2, float *first, float *second) {
    if (!(u1 > 1.0e-7f)) u1 = 1.0e-7f;
    float angle = 6.283185307179586f * u2, radius = sqrtf(-2.0f * logf(u1));
    *first = radius * cosf(angle);
    *second = radius * sinf(angle);
}

/// Four random words per counter; counters broadcast together.
typedef struct Draw {
    bool wide;  // 64-bit counters
    int rank;
    int64_t dims[TYPE_MAX_RANK];
    int64_t count;
    uint64_t *words[4];
} Draw;

static Draw draw(Interp *interp, Tile *const counters[4], bool wide, const uint64_t key[2],
                 int rounds) {
    Draw result = {.wide = wide, .count = 1};
    Tile *all[4];
    for (int k = 0; k < 4; k++)
        if (counters[k] && !shapes_broadcast(&result.rank, result.dims, counters[k]))
            interp_stop(interp, "random counters do not broadcast");
    result.count = shape_count(result.rank, result.dims);
    for (int k = 0; k < 4; k++) {
        result.words[k] = pool_block(&interp->pool, sizeof(uint64_t) * (size_t)result.count);
        all[k] = counters[k] ? tile_broadcast(&interp->pool, counters[k], result.rank, result.dims)
                             : NULL;
    }
    for (int64_t i = 0; i < result.count; i++) {
        uint64_t words[4] = {0};
        for (int k = 0; k < 4; k++)
            if (all[k]) words[k] = (uint64_t)tile_integer_at(all[k], i);
        if (wide) {
            philox_4x64(words, key[0], key[1], rounds);
        } else {
            uint32_t small[4];
            for (int k = 0; k < 4; k++) small[k] = (uint32_t)words[k];
            philox_4x32(small, (uint32_t)key[0], (uint32_t)key[1], rounds);
            for (int k = 0; k < 4; k++) words[k] = small[k];
        }
        for (int k = 0; k < 4; k++) result.words[k][i] = words[k];
    }
    for (int k = 0; k < 4; k++) tile_release(&interp->pool, all[k]);
    return result;
}

/// The words as Triton's integers; normal and uniform numbers from them.
static void bind_draw(Interp *interp, const Op *op, const Draw *drawn, int count) {
    bool normal = op->code == OP_RANDN || op->code == OP_RANDN4X,
         uniform = op->code == OP_RAND || op->code == OP_RAND4X;
    DTypeCode words = drawn->wide ? DTYPE_UINT64 : DTYPE_UINT32;
    Tile *tiles[4];
    for (int k = 0; k < count; k++) {
        tiles[k] = tile_new(&interp->pool, TILE_NUMBER, normal || uniform ? DTYPE_FLOAT32 : words,
                            drawn->rank, drawn->dims);
        for (int64_t i = 0; i < drawn->count; i++) {
            if (!normal && !uniform) {
                tiles[k]->integer[i] = (int64_t)drawn->words[k][i];
                continue;
            }
            float u[4], pair[2];
            for (int w = 0; w < 4; w++)
                u[w] = drawn->wide ? philox_uniform64(drawn->words[w][i])
                                   : philox_uniform32((uint32_t)drawn->words[w][i]);
            box_muller(u[k < 2 ? 0 : 2], u[k < 2 ? 1 : 3], &pair[0], &pair[1]);
            tiles[k]->number[i] = normal ? (double)pair[k % 2] : (double)u[k];
        }
    }
    if (count == 1)
        interp_result(interp, op, tiles[0]);
    else
        interp_results(interp, op, tiles, count);
}

static void draw_free(Interp *interp, const Draw *drawn) {
    for (int k = 0; k < 4; k++)
        pool_free(&interp->pool, drawn->words[k], sizeof(uint64_t) * (size_t)drawn->count);
}

static uint64_t scalar_word(Interp *interp, const Op *op, int index) {
    Tile *tile = operand_number(interp, op, index);
    return (uint64_t)tile_integer_at(tile, 0);
}

/// philox(seed, c0..c3) and philox_impl(c0..c3, k0, k1).
static void run_philox(Interp *interp, const Op *op) {
    bool bare = op->code == OP_PHILOX_IMPL;
    Tile *counters[4];
    for (int k = 0; k < 4; k++) counters[k] = operand_number(interp, op, k + (bare ? 0 : 1));
    bool wide = dtype_bits(counters[0]->dtype) == 64;
    uint64_t key[2], seed = scalar_word(interp, op, bare ? 4 : 0);
    key[0] = seed;
    key[1] = bare ? scalar_word(interp, op, 5) : wide ? 0 : seed >> 32;
    Draw drawn = draw(interp, counters, wide, key, (int)operand_int(interp, op, "n_rounds", 10));
    bind_draw(interp, op, &drawn, 4);
    draw_free(interp, &drawn);
}

static void run_conversion(Interp *interp, const Op *op) {
    Tile *a = operand_number(interp, op, 0);
    if (op->code == OP_UINT_TO_UNIFORM_FLOAT) {
        Tile *result = tile_like(&interp->pool, a, DTYPE_FLOAT32);
        bool wide = dtype_bits(a->dtype) == 64;
        for (int64_t i = 0; i < a->count; i++) {
            uint64_t bits = (uint64_t)tile_integer_at(a, i);
            result->number[i] =
                (double)(wide ? philox_uniform64(bits) : philox_uniform32((uint32_t)bits));
        }
        interp_result(interp, op, result);
        return;
    }
    Tile *b = operand_number(interp, op, 1), *normals[2];
    if (a->count != b->count) interp_stop(interp, "uniform tiles of unlike shapes");
    for (int k = 0; k < 2; k++) normals[k] = tile_like(&interp->pool, a, DTYPE_FLOAT32);
    for (int64_t i = 0; i < a->count; i++) {
        float first, second;
        box_muller((float)tile_number_at(a, i), (float)tile_number_at(b, i), &first, &second);
        normals[0]->number[i] = (double)first;
        normals[1]->number[i] = (double)second;
    }
    interp_results(interp, op, normals, 2);
}

void run_random(Interp *interp, const Op *op) {
    if (op->code == OP_PHILOX || op->code == OP_PHILOX_IMPL) {
        run_philox(interp, op);
        return;
    }
    if (op->code == OP_UINT_TO_UNIFORM_FLOAT || op->code == OP_PAIR_UNIFORM_TO_NORMAL) {
        run_conversion(interp, op);
        return;
    }
    Tile *offset = operand_number(interp, op, 1), *high = NULL;
    if (tile_is_float(offset)) interp_stop(interp, "random offsets must be integers");
    if (dtype_bits(offset->dtype) > 32) {
        high = tile_like(&interp->pool, offset, DTYPE_UINT32);
        for (int64_t i = 0; i < offset->count; i++)
            high->integer[i] = (int64_t)((uint64_t)offset->integer[i] >> 32);
    }
    Tile *counters[4] = {offset, high, NULL, NULL};
    uint64_t seed = scalar_word(interp, op, 0), key[2] = {seed, seed >> 32};
    Draw drawn = draw(interp, counters, false, key, (int)operand_int(interp, op, "n_rounds", 10));
    bool four = op->code == OP_RAND4X || op->code == OP_RANDN4X || op->code == OP_RANDINT4X;
    bind_draw(interp, op, &drawn, four ? 4 : 1);
    draw_free(interp, &drawn);
    tile_release(&interp->pool, high);
}
