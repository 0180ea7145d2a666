// Tiles: pool, broadcasting, wrapping, and rounding to the small float types.
#include "gpu-runner/interp/tile.h"

#include "tests/support/check.h"

static TilePool pool_new(Arena *arena) { return (TilePool){.arena = arena}; }

TEST(blocks_are_reused) {
    Arena *arena = arena_new();
    TilePool pool = pool_new(arena);
    int64_t dims[2] = {4, 8};
    Tile *first = tile_new(&pool, TILE_NUMBER, DTYPE_FLOAT32, 2, dims);
    double *data = first->number;
    CHECK_EQ_INT(first->count, 32);
    tile_release(&pool, first);
    CHECK_EQ_INT(pool.live_bytes, 0);
    Tile *second = tile_new(&pool, TILE_NUMBER, DTYPE_INT32, 2, dims);
    CHECK((void *)second->integer == (void *)data);
    CHECK(second->number == NULL);
    arena_free(arena);
}

TEST(broadcast_repeats_axes_of_one) {
    Arena *arena = arena_new();
    TilePool pool = pool_new(arena);
    int64_t column[2] = {3, 1}, wide[2] = {3, 2}, three[3] = {2, 3, 2};
    Tile *tile = tile_new(&pool, TILE_NUMBER, DTYPE_INT32, 2, column);
    for (int i = 0; i < 3; i++) tile->integer[i] = 10 * i;
    tile_need_poison(&pool, tile)[2] = 1;
    Tile *result = tile_broadcast(&pool, tile, 2, wide);
    const int64_t expected[6] = {0, 0, 10, 10, 20, 20};
    for (int i = 0; i < 6; i++) CHECK_EQ_INT(result->integer[i], expected[i]);
    CHECK(!result->poison[3] && result->poison[4] && result->poison[5]);
    Tile *deeper = tile_broadcast(&pool, tile, 3, three);
    for (int i = 0; i < 12; i++) CHECK_EQ_INT(deeper->integer[i], expected[i % 6]);
    Tile *same = tile_broadcast(&pool, tile, 2, column);
    CHECK(same == tile && tile->references == 2);
    int rank = 1;
    int64_t unlike[TYPE_MAX_RANK] = {4};
    CHECK(!shapes_broadcast(&rank, unlike, result));
    arena_free(arena);
}

TEST(integers_wrap_to_their_width) {
    CHECK_EQ_INT(wrap_integer(200, DTYPE_INT8), -56);
    CHECK_EQ_INT(wrap_integer(-1, DTYPE_UINT16), 65535);
    CHECK_EQ_INT(wrap_integer((int64_t)1 << 31, DTYPE_INT32), INT32_MIN);
    CHECK_EQ_INT(wrap_integer(5, DTYPE_INT1), 1);
    CHECK_EQ_INT(wrap_integer(INT64_MIN, DTYPE_INT64), INT64_MIN);
}

TEST(floats_round_to_even) {
    CHECK_NEAR(round_float(1.0 + 0x1p-11, DTYPE_FLOAT16), 1.0, 0);
    CHECK_NEAR(round_float(1.0 + 3 * 0x1p-11, DTYPE_FLOAT16), 1.0 + 0x1p-9, 0);
    CHECK_NEAR(round_float(65519.0, DTYPE_FLOAT16), 65504.0, 0);
    CHECK(isinf(round_float(65520.0, DTYPE_FLOAT16)));
    CHECK_NEAR(round_float(0x1p-25, DTYPE_FLOAT16), 0.0, 0);  // half the smallest, to even
    CHECK_NEAR(round_float(0x1.8p-25, DTYPE_FLOAT16), 0x1p-24, 0);
    CHECK_NEAR(round_float(1.0 + 0x1p-8, DTYPE_BFLOAT16), 1.0, 0);
    CHECK_NEAR(round_float(3.3, DTYPE_BFLOAT16), 3.296875, 0);
    CHECK_NEAR(round_float(1000.0, DTYPE_FLOAT8E4NV), 448.0, 0);
    CHECK_NEAR(round_float(17.0, DTYPE_FLOAT8E4NV), 16.0, 0);
    CHECK_NEAR(round_float(-0.3, DTYPE_FLOAT8E5), -0.3125, 0);
    CHECK_NEAR(round_tf32(1.0 + 0x1p-11), 1.0, 0);
    CHECK_NEAR(round_tf32(1.0 + 0x1p-10), 1.0 + 0x1p-10, 0);
    CHECK(isnan(round_float(NAN, DTYPE_FLOAT16)));
}

TEST(bits_survive_a_round_trip) {
    static const DTypeCode dtypes[] = {DTYPE_FLOAT16, DTYPE_BFLOAT16, DTYPE_FLOAT8E5,
                                       DTYPE_FLOAT8E4NV};
    CHECK_EQ_INT(float_to_bits(1.0, DTYPE_FLOAT32), 0x3f800000);
    CHECK_EQ_INT(float_to_bits(-2.0, DTYPE_FLOAT16), 0xc000);
    CHECK_EQ_INT(float_to_bits(1.0, DTYPE_BFLOAT16), 0x3f80);
    CHECK_EQ_INT(float_to_bits(0x1p-24, DTYPE_FLOAT16), 1);
    CHECK(isinf(float_from_bits(0x7c00, DTYPE_FLOAT16)));
    CHECK(isnan(float_from_bits(0x7e00, DTYPE_FLOAT16)));
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
        int64_t count = (int64_t)1 << dtype_bits(dtypes[d]);
        for (int64_t bits = 0; bits < count; bits++) {
            double value = float_from_bits(bits, dtypes[d]);
            if (!isfinite(value)) continue;
            if (float_to_bits(value, dtypes[d]) != bits)
                CHECK_EQ_INT(float_to_bits(value, dtypes[d]), bits);
            if (round_float(value, dtypes[d]) - value != 0)
                CHECK_NEAR(round_float(value, dtypes[d]), value, 0);
        }
    }
}

TEST(casts_truncate_and_keep_tangents) {
    Arena *arena = arena_new();
    TilePool pool = pool_new(arena);
    Tile *tile = tile_float(&pool, -2.75, DTYPE_FLOAT32);
    tile_need_tangent(&pool, tile)[0] = 3;
    Tile *whole = tile_cast(&pool, tile, DTYPE_INT32, false);
    CHECK_EQ_INT(whole->integer[0], -2);
    CHECK(whole->tangent == NULL);
    Tile *half = tile_cast(&pool, tile, DTYPE_FLOAT16, true);
    CHECK_NEAR(half->number[0], -2.75, 0);
    CHECK_NEAR(half->tangent[0], 3, 0);
    Tile *weak = tile_weak_int(&pool, 3000000000);
    CHECK_EQ_INT(weak->dtype, DTYPE_UINT32);
    CHECK_EQ_INT(tile_weak_int(&pool, -3000000000)->dtype, DTYPE_INT64);
    arena_free(arena);
}

TEST_MAIN(TEST_ROW(blocks_are_reused), TEST_ROW(broadcast_repeats_axes_of_one),
          TEST_ROW(integers_wrap_to_their_width), TEST_ROW(floats_round_to_even),
          TEST_ROW(bits_survive_a_round_trip), TEST_ROW(casts_truncate_and_keep_tangents))
