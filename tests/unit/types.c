// Promotion as Triton has it, folding as Python has it, and the inferred types of every family of operations.
#include "analysis/build/build.h"
#include "analysis/build/infer.h"
#include "analysis/build/value_poly.h"
#include "analysis/ir/ir_verify.h"
#include "tests/support/check.h"

static Arena *arena;
static Function *function;
static Builder builder;

static void start(void) {
    arena = arena_new();
    function = function_new(arena, "kernel");
    builder = (Builder){.function = function, .region = function->body};
}

static Value *parameter(const char *name, TypeKind kind, DTypeCode code, bool is_constexpr) {
    return function_add_parameter(
        function, name,
        (Type){.kind = kind, .element = dtype_of(code), .is_constexpr = is_constexpr});
}

static Value *integer(int64_t value) { return build_int(&builder, value); }
static Value *binary(OpCode code, Value *a, Value *b) { return build_binary(&builder, code, a, b); }
static Value *tuple(Value *a, Value *b) {
    Value *items[] = {a, b};
    return build_tuple(&builder, items, 2);
}
static Value *tile(DTypeCode code, Value *shape) {
    return build_ternary(&builder, OP_FULL, shape, integer(0),
                         build_dtype(&builder, dtype_of(code)));
}
static Value *tile_1d(DTypeCode code, int64_t size) {
    Value *items[] = {integer(size)};
    return tile(code, build_tuple(&builder, items, 1));
}
static const char *type_of(const Value *value) {
    return value ? type_print(arena, value->type) : "(null)";
}

static const char *promoted(DTypeCode a, bool a_constexpr, DTypeCode b, bool b_constexpr,
                            bool division) {
    return dtype_short_name(
        dtype_promote(dtype_of(a), a_constexpr, dtype_of(b), b_constexpr, division).code);
}

TEST(promotion_of_tiles) {
    CHECK_EQ_STR(promoted(DTYPE_FLOAT16, false, DTYPE_FLOAT16, false, false), "f16");
    CHECK_EQ_STR(promoted(DTYPE_FLOAT16, false, DTYPE_BFLOAT16, false, false), "f16");
    CHECK_EQ_STR(promoted(DTYPE_BFLOAT16, false, DTYPE_INT32, false, false), "f32");
    CHECK_EQ_STR(promoted(DTYPE_FLOAT16, false, DTYPE_INT64, false, false), "f16");
    CHECK_EQ_STR(promoted(DTYPE_FLOAT16, false, DTYPE_FLOAT16, false, true), "f32");
    CHECK_EQ_STR(promoted(DTYPE_FLOAT32, false, DTYPE_FLOAT64, false, false), "f64");
    CHECK_EQ_STR(promoted(DTYPE_FLOAT8E5, false, DTYPE_FLOAT8E4NV, false, false), "f16");
    CHECK_EQ_STR(promoted(DTYPE_INT32, false, DTYPE_INT64, false, false), "i64");
    CHECK_EQ_STR(promoted(DTYPE_UINT32, false, DTYPE_INT32, false, false), "u32");
    CHECK_EQ_STR(promoted(DTYPE_UINT8, false, DTYPE_INT32, false, false), "i32");
    CHECK_EQ_STR(promoted(DTYPE_INT1, false, DTYPE_INT8, false, false), "i8");
    CHECK_EQ_STR(promoted(DTYPE_INT1, false, DTYPE_INT1, false, false), "i1");
}

TEST(promotion_of_constexprs) {
    CHECK_EQ_STR(promoted(DTYPE_BFLOAT16, false, DTYPE_FLOAT32, true, false), "bf16");
    CHECK_EQ_STR(promoted(DTYPE_INT32, true, DTYPE_INT8, false, false), "i8");
    CHECK_EQ_STR(promoted(DTYPE_INT32, false, DTYPE_FLOAT32, true, false), "f32");
    CHECK_EQ_STR(promoted(DTYPE_INT1, false, DTYPE_INT32, true, false), "i32");
    CHECK_EQ_STR(promoted(DTYPE_INT64, true, DTYPE_FLOAT16, false, true), "f32");
    CHECK_EQ_STR(promoted(DTYPE_INT32, true, DTYPE_INT64, true, false), "i64");
}

TEST(promotion_of_what_is_known_in_part) {
    DType element = {.code = DTYPE_OF_PARAMETER, .parameter = 2, .parameter_class = CLASS_FLOAT};
    CHECK(dtype_equal(dtype_promote(element, false, element, false, false), element));
    CHECK_EQ_INT(dtype_promote(element, false, dtype_of(DTYPE_FLOAT32), false, false).code,
                 DTYPE_FLOAT32);
    CHECK_EQ_INT(dtype_promote(element, false, dtype_of(DTYPE_FLOAT16), false, false).code,
                 DTYPE_ANY_FLOAT);
    CHECK(
        dtype_equal(dtype_promote(element, false, dtype_of(DTYPE_FLOAT32), true, false), element));
    CHECK_EQ_STR(promoted(DTYPE_ANY_INT, false, DTYPE_INT32, false, false), "int");
    CHECK_EQ_STR(promoted(DTYPE_ANY_NUMBER, false, DTYPE_FLOAT32, false, false), "f32");
    CHECK_EQ_STR(promoted(DTYPE_UNKNOWN, false, DTYPE_INT32, false, false), "?");
}

TEST(folding_is_pythons) {
    start();
    int64_t value = 0;
    CHECK(value_is_int(binary(OP_FLOORDIV, integer(-7), integer(2)), &value) && value == -4);
    CHECK(value_is_int(binary(OP_MOD, integer(-7), integer(3)), &value) && value == 2);
    CHECK(value_is_int(binary(OP_POW, integer(3), integer(4)), &value) && value == 81);
    CHECK(value_is_int(binary(OP_SHL, integer(1), integer(10)), &value) && value == 1024);
    double number = 0;
    CHECK(value_is_number(binary(OP_DIV, integer(1), integer(4)), &number) && number == 0.25);
    bool truth = true;
    CHECK(value_is_bool(binary(OP_LT, integer(3), build_float(&builder, 2.5)), &truth) && !truth);
    CHECK(value_is_bool(binary(OP_EQ, build_string(&builder, "a"), build_string(&builder, "a")),
                        &truth) &&
          truth);
    CHECK(value_is_bool(binary(OP_NE, build_none(&builder), integer(0)), &truth) && truth);
    CHECK(value_is_bool(build_unary(&builder, OP_IS_NONE, build_none(&builder)), &truth) && truth);
    CHECK(value_is_int(binary(OP_LOGICAL_OR, integer(0), integer(5)), &value) && value == 5);
    CHECK(!binary(OP_FLOORDIV, integer(1), integer(0))->constant);
    CHECK(!binary(OP_MUL, integer(INT64_MAX), integer(2))->constant);
    CHECK(value_is_bool(binary(OP_AND, build_bool(&builder, true), build_bool(&builder, false)),
                        &truth) &&
          !truth);
    CHECK(function_verify(arena, function) == NULL);
    arena_free(arena);
}

TEST(a_parameter_may_be_none_but_a_tile_is_not) {
    start();
    Value *pointer = parameter("bias", TYPE_POINTER, DTYPE_FLOAT32, false);
    CHECK(!build_unary(&builder, OP_IS_NONE, pointer)->constant);
    bool truth = true;
    CHECK(value_is_bool(build_unary(&builder, OP_IS_NONE, tile_1d(DTYPE_FLOAT32, 8)), &truth) &&
          !truth);
    arena_free(arena);
}

TEST(equal_constexpr_expressions_are_one_value) {
    start();
    Value *block = parameter("BLOCK", TYPE_NUMBER, DTYPE_ANY_INT, true);
    Op *branch = op_append(&builder, OP_IF, &block, 1, 0);
    Region *branches[] = {op_add_region(&builder, branch), op_add_region(&builder, branch)};
    Builder inside = builder;
    inside.region = branches[0];
    Value *half = build_binary(&inside, OP_FLOORDIV, block, build_int(&inside, 2));
    for (int i = 0; i < 2; i++) {
        inside.region = branches[i];
        op_append(&inside, OP_YIELD, NULL, 0, 0);
    }
    CHECK(half == binary(OP_FLOORDIV, block, integer(2)));  // so it stands before the branch
    CHECK(half != binary(OP_FLOORDIV, block, integer(4)));
    Value *pid = build_unary(&builder, OP_PROGRAM_ID, integer(0));
    CHECK(pid == build_unary(&builder, OP_PROGRAM_ID, integer(0)));
    CHECK(integer(1) != build_bool(&builder, true) && integer(1) != build_float(&builder, 1.0));
    CHECK_EQ_STR(type_of(tile(DTYPE_FLOAT32, tuple(half, binary(OP_MUL, block, integer(2))))),
                 "f32[BLOCK // 2, 2 * BLOCK]");
    const char *problem = function_verify(arena, function);
    CHECK_EQ_STR(problem, NULL);
    arena_free(arena);
}

TEST(pointers_and_memory) {
    start();
    Value *x = parameter("x", TYPE_POINTER, DTYPE_BFLOAT16, false);
    Value *block = parameter("BLOCK", TYPE_NUMBER, DTYPE_ANY_INT, true);
    Value *n = parameter("n", TYPE_NUMBER, DTYPE_INT32, false);
    Value *lanes = binary(OP_ARANGE, integer(0), block);
    CHECK_EQ_STR(type_of(lanes), "i32[BLOCK]");
    Value *mask = binary(OP_LT, lanes, n);
    CHECK_EQ_STR(type_of(mask), "i1[BLOCK]");
    Value *pointers = binary(OP_ADD, x, lanes);
    CHECK_EQ_STR(type_of(pointers), "*bf16[BLOCK]");
    Value *loaded = build_ternary(&builder, OP_LOAD, pointers, mask, build_float(&builder, 0));
    CHECK_EQ_STR(type_of(loaded), "bf16[BLOCK]");
    CHECK_EQ_STR(type_of(binary(OP_MUL, loaded, build_float(&builder, 2))), "bf16[BLOCK]");
    CHECK_EQ_STR(type_of(binary(OP_DIV, loaded, loaded)), "f32[BLOCK]");
    CHECK_EQ_STR(type_of(binary(OP_DIV, lanes, integer(2))), "f32[BLOCK]");
    CHECK(build_ternary(&builder, OP_STORE, pointers, loaded, mask) == NULL);
    CHECK_EQ_STR(type_of(build_ternary(&builder, OP_ATOMIC_ADD, pointers, loaded, mask)),
                 "bf16[BLOCK]");
    Value *pointer_dtype = build_constant(
        &builder,
        (Constant){.kind = CONSTANT_DTYPE, .dtype = dtype_of(DTYPE_INT8), .is_pointer = true});
    CHECK_EQ_STR(type_of(binary(OP_CAST, x, pointer_dtype)), "*i8");
    CHECK_EQ_STR(type_of(binary(OP_CAST, loaded, build_dtype(&builder, dtype_of(DTYPE_FLOAT32)))),
                 "f32[BLOCK]");
    CHECK(binary(OP_CAST, loaded, build_dtype(&builder, dtype_of(DTYPE_BFLOAT16))) == loaded);
    CHECK(build_unary(&builder, OP_ELEMENT_TYPE_OF, x)->constant->dtype.code == DTYPE_BFLOAT16);
    arena_free(arena);
}

TEST(block_pointers_and_descriptors) {
    start();
    Value *x = parameter("x", TYPE_POINTER, DTYPE_FLOAT16, false);
    Value *pair = tuple(integer(64), integer(32));
    Value *operands[] = {
        x, pair, pair, tuple(integer(0), integer(0)), pair, tuple(integer(1), integer(0))};
    Value *block = build(&builder, OP_MAKE_BLOCK_POINTER, operands, 6);
    CHECK_EQ_STR(type_of(block), "block pointer f16[64, 32]");
    CHECK_EQ_STR(type_of(build_unary(&builder, OP_LOAD, block)), "f16[64, 32]");
    CHECK_EQ_STR(type_of(binary(OP_ADVANCE, block, tuple(integer(64), integer(0)))),
                 "block pointer f16[64, 32]");
    Value *descriptor = build(&builder, OP_MAKE_TENSOR_DESCRIPTOR, operands, 4);
    CHECK_EQ_STR(type_of(descriptor), "descriptor f16[0, 0]");
    operands[3] = pair;
    descriptor = build(&builder, OP_MAKE_TENSOR_DESCRIPTOR, operands, 4);
    CHECK_EQ_STR(type_of(binary(OP_DESCRIPTOR_LOAD, descriptor, pair)), "f16[64, 32]");
    arena_free(arena);
}

TEST(shapes_move) {
    start();
    Value *m = parameter("M", TYPE_NUMBER, DTYPE_ANY_INT, true);
    Value *a = tile(DTYPE_FLOAT32, tuple(m, integer(16)));
    CHECK_EQ_STR(type_of(build_unary(&builder, OP_TRANS, a)), "f32[16, M]");
    CHECK_EQ_STR(type_of(binary(OP_PERMUTE, a, tuple(integer(1), integer(0)))), "f32[16, M]");
    CHECK_EQ_STR(type_of(binary(OP_EXPAND_DIMS, a, integer(-1))), "f32[M, 16, 1]");
    CHECK_EQ_STR(type_of(binary(OP_EXPAND_DIMS, a, tuple(integer(0), integer(2)))),
                 "f32[1, M, 1, 16]");
    CHECK_EQ_STR(type_of(binary(OP_RESHAPE, a, tuple(integer(16), m))), "f32[16, M]");
    CHECK_EQ_STR(type_of(binary(OP_JOIN, a, a)), "f32[M, 16, 2]");
    CHECK_EQ_STR(type_of(binary(OP_INTERLEAVE, a, a)), "f32[M, 32]");
    CHECK_EQ_STR(type_of(binary(OP_CAT, a, a)), "f32[2 * M, 16]");
    Value *halves = build_unary(&builder, OP_SPLIT, binary(OP_JOIN, a, a));
    CHECK_EQ_STR(type_of(halves), "tuple");
    CHECK_EQ_STR(type_of(binary(OP_ITEM, halves, integer(-1))), "f32[M, 16]");
    Value *row = binary(OP_EXPAND_DIMS, binary(OP_ARANGE, integer(0), integer(16)), integer(0));
    CHECK_EQ_STR(type_of(binary(OP_ADD, a, row)), "f32[M, 16]");
    CHECK_EQ_STR(type_of(binary(OP_BROADCAST_TO, row, tuple(m, integer(16)))), "i32[M, 16]");
    CHECK_EQ_STR(type_of(binary(OP_ADD, binary(OP_ARANGE, integer(0), integer(16)), a)),
                 "f32[M, 16]");
    arena_free(arena);
}

TEST(reductions_and_products) {
    start();
    Value *m = parameter("M", TYPE_NUMBER, DTYPE_ANY_INT, true);
    Value *a = tile(DTYPE_FLOAT16, tuple(m, integer(32)));
    CHECK_EQ_STR(type_of(binary(OP_SUM, a, integer(1))), "f16[M]");
    CHECK_EQ_STR(type_of(binary(OP_SUM, a, integer(-2))), "f16[32]");
    CHECK_EQ_STR(type_of(build_unary(&builder, OP_SUM, a)), "f16");
    CHECK_EQ_STR(
        type_of(build_ternary(&builder, OP_SUM, a, integer(1), build_bool(&builder, true))),
        "f16[M, 1]");
    CHECK_EQ_STR(type_of(binary(OP_MAX, a, integer(1))), "f32[M]");
    CHECK_EQ_STR(
        type_of(build_ternary(&builder, OP_MAX, a, integer(1), build_bool(&builder, true))),
        "tuple");
    CHECK_EQ_STR(type_of(binary(OP_ARGMAX, a, integer(0))), "i32[32]");
    CHECK_EQ_STR(type_of(binary(OP_SUM, tile_1d(DTYPE_INT8, 8), integer(0))), "i32");
    CHECK_EQ_STR(type_of(binary(OP_CUMSUM, a, integer(1))), "f16[M, 32]");
    Value *b = tile(DTYPE_FLOAT16, tuple(integer(32), integer(64)));
    CHECK_EQ_STR(type_of(binary(OP_DOT, a, b)), "f32[M, 64]");
    CHECK_EQ_STR(type_of(binary(OP_DOT, b, a)), "f32[32, 32]");  // 64 and M are taken as equal
    CHECK_EQ_STR(type_of(binary(OP_DOT, b, b)), "?");            // 64 and 32 are not
    CHECK_EQ_STR(type_of(binary(OP_TOPK, a, integer(4))), "f16[M, 4]");
    CHECK_EQ_STR(type_of(binary(OP_HISTOGRAM, tile_1d(DTYPE_INT32, 128), integer(16))), "i32[16]");
    arena_free(arena);
}

TEST(certain_errors_make_unknown_values) {
    start();
    Diagnostics diagnostics = {.arena = arena};
    builder.diagnostics = &diagnostics;
    CHECK_EQ_STR(type_of(binary(OP_ADD, tile_1d(DTYPE_FLOAT32, 64), tile_1d(DTYPE_FLOAT32, 32))),
                 "?");
    CHECK_EQ_STR(
        type_of(binary(OP_RESHAPE, tile_1d(DTYPE_FLOAT32, 64), tuple(integer(4), integer(8)))),
        "?");
    CHECK_EQ_STR(type_of(binary(OP_SUM, tile_1d(DTYPE_FLOAT32, 64), integer(1))), "?");
    CHECK_EQ_STR(type_of(build_unary(&builder, OP_LOAD, tile_1d(DTYPE_INT32, 64))), "?");
    CHECK_EQ_INT(diagnostics.list.count, 4);
    Value *unknown = build_unknown(&builder, "something");
    CHECK_EQ_STR(type_of(binary(OP_ADD, unknown, integer(1))), "?");  // and says nothing more
    CHECK_EQ_INT(diagnostics.list.count, 4);
    arena_free(arena);
}

TEST(scalars_as_polynomials) {
    start();
    Value *n = parameter("n", TYPE_NUMBER, DTYPE_INT32, false);
    Value *block = parameter("BLOCK", TYPE_NUMBER, DTYPE_ANY_INT, true);
    Value *pid = build_unary(&builder, OP_PROGRAM_ID, integer(0));
    pid->name = "pid";
    Value *start_at = binary(OP_ADD, binary(OP_MUL, pid, block), binary(OP_SUB, n, integer(3)));
    CHECK_EQ_STR(poly_print(arena, value_poly(arena, start_at)), "BLOCK * pid + n - 3");
    Value *wide = binary(OP_CAST, n, build_dtype(&builder, dtype_of(DTYPE_INT64)));
    CHECK(poly_equal(value_poly(arena, wide), value_poly(arena, n)));
    Value *twice = binary(OP_MUL, block, integer(2));
    CHECK(poly_equal(value_poly(arena, binary(OP_FLOORDIV, twice, integer(2))),
                     value_poly(arena, block)));
    Value *doubling = n;
    for (int i = 0; i < 200; i++) doubling = binary(OP_ADD, doubling, doubling);
    CHECK(value_poly(arena, doubling) != NULL);  // ends, although the tree has 2^200 leaves
    arena_free(arena);
}

TEST_MAIN(TEST_ROW(promotion_of_tiles), TEST_ROW(promotion_of_constexprs),
          TEST_ROW(promotion_of_what_is_known_in_part), TEST_ROW(folding_is_pythons),
          TEST_ROW(a_parameter_may_be_none_but_a_tile_is_not),
          TEST_ROW(equal_constexpr_expressions_are_one_value), TEST_ROW(pointers_and_memory),
          TEST_ROW(block_pointers_and_descriptors), TEST_ROW(shapes_move),
          TEST_ROW(reductions_and_products), TEST_ROW(certain_errors_make_unknown_values),
          TEST_ROW(scalars_as_polynomials))
