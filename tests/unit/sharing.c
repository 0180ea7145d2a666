// What sharing leaves of two equal values: one, also in the sizes of tiles.
#include "analysis/build/build.h"
#include "analysis/ir/poly.h"
#include "autodiff/rewrite/rewrite.h"
#include "tests/support/check.h"

static Arena *arena;
static Function *function;
static Builder builder;

static Value *append(OpCode code, Value *a, Value *b, Type type) {
    Value *operands[] = {a, b};
    Op *op = op_append(&builder, code, operands, 2, 1);
    op->results[0]->type = type;
    return op->results[0];
}

TEST(sizes_of_tiles_are_shared) {
    arena = arena_new();
    function = function_new(arena, "kernel");
    builder = (Builder){.function = function, .region = function->body};
    const Type number = {
        .kind = TYPE_NUMBER, .element = dtype_of(DTYPE_INT32), .is_constexpr = true};
    Value *width = function_add_parameter(function, "D", number);
    Value *four = build_int(&builder, 4), *zero = build_int(&builder, 0);
    // D // 4, written twice; the second is the size of a tile
    Value *first = append(OP_FLOORDIV, width, four, number);
    Value *second = append(OP_FLOORDIV, width, four, number);
    const Poly **dims = ARENA_ARRAY(arena, const Poly *, 1);
    dims[0] = poly_atom(arena, second);
    const Type tile = {
        .kind = TYPE_NUMBER, .element = dtype_of(DTYPE_INT32), .rank = 1, .dims = dims};
    Value *lanes = append(OP_ARANGE, zero, second, tile);
    CHECK(function_share(function) == 1);
    CHECK(lanes->op->operands[1] == first);
    CHECK(poly_equal(lanes->type.dims[0], poly_atom(arena, first)));
    CHECK(!poly_mentions(lanes->type.dims[0], second));
    arena_free(arena);
}

TEST_MAIN(TEST_ROW(sizes_of_tiles_are_shared))
