// What hand-built loops carry.
#include "analysis/ir/loops.h"
#include "analysis/build/build.h"
#include "tests/support/check.h"

static Arena *arena;
static Function *function;
static Builder builder;
static Value *tile;   // f32[BLOCK], loaded before the loop
static Value *count;  // i32

static void start(void) {
    arena = arena_new();
    function = function_new(arena, "kernel");
    builder = (Builder){.function = function, .region = function->body};
    Value *x = function_add_parameter(
        function, "x", (Type){.kind = TYPE_POINTER, .element = dtype_of(DTYPE_FLOAT32)});
    count = function_add_parameter(function, "n",
                                   (Type){.kind = TYPE_NUMBER, .element = dtype_of(DTYPE_INT32)});
    Value *lanes =
        build_binary(&builder, OP_ARANGE, build_int(&builder, 0), build_int(&builder, 16));
    tile = build_unary(&builder, OP_LOAD, build_binary(&builder, OP_ADD, x, lanes));
}

static Value *op2(OpCode code, Value *a, Value *b) { return build_binary(&builder, code, a, b); }
static Value *op1(OpCode code, Value *a) { return build_unary(&builder, code, a); }

static Op *loop_begin(int carried_count, Value **initial) {
    Value *operands[8] = {build_int(&builder, 0), count, build_int(&builder, 1)};
    for (int i = 0; i < carried_count; i++) operands[3 + i] = initial[i];
    Op *loop = op_append(&builder, OP_FOR, operands, 3 + carried_count, carried_count);
    Region *body = op_add_region(&builder, loop);
    if (!body->argument_count) {
        region_add_argument(function, body, count->type, "i");
        for (int i = 0; i < carried_count; i++)
            region_add_argument(function, body, initial[i]->type, NULL);
    }
    builder.region = body;
    return loop;
}

static void loop_end(Op *loop, int carried_count, Value **next) {
    op_append(&builder, OP_YIELD, next, carried_count, 0);
    for (int i = 0; i < carried_count; i++) loop->results[i]->type = next[i]->type;
    builder.region = loop->parent;
}

static const char *class_of(const Op *loop, int index) {
    return carried_class_name(loop_classify(arena, loop)[index].class);
}

TEST(inductions_and_sums) {
    start();
    Value *initial[] = {count, tile, tile, tile};
    Op *loop = loop_begin(4, initial);
    Value **arguments = loop->regions[0]->arguments;
    Value *square = op2(OP_MUL, tile, tile);
    Value *next[] = {op2(OP_ADD, arguments[1], count), op2(OP_ADD, square, arguments[2]),
                     op2(OP_SUB, arguments[3], square), arguments[4]};
    loop_end(loop, 4, next);
    Carried *carried = loop_classify(arena, loop);
    CHECK_EQ_INT(carried[0].class, CARRIED_INDUCTION);
    CHECK(carried[0].step == count && !carried[0].negated);
    CHECK_EQ_INT(carried[1].class, CARRIED_SUM);
    CHECK(carried[1].term == square && !carried[1].negated);
    CHECK_EQ_INT(carried[2].class, CARRIED_SUM);
    CHECK(carried[2].term == square && carried[2].negated);
    CHECK_EQ_INT(carried[3].class, CARRIED_UNCHANGED);
    arena_free(arena);
}

TEST(a_partial_sum_that_is_read_is_no_sum) {
    start();
    Op *loop = loop_begin(1, &tile);
    Value *next = op2(OP_ADD, loop->regions[0]->arguments[1], tile);
    op1(OP_EXP, next);
    loop_end(loop, 1, &next);
    CHECK_EQ_STR(class_of(loop, 0), "recurrence");
    loop = loop_begin(1, &tile);
    Value *before = loop->regions[0]->arguments[1];
    next = op2(OP_ADD, before, op1(OP_EXP, before));
    loop_end(loop, 1, &next);
    CHECK_EQ_STR(class_of(loop, 0), "recurrence");
    arena_free(arena);
}

TEST(chains_branches_and_inner_loops) {
    start();
    Value *initial[] = {tile, tile};
    Op *loop = loop_begin(2, initial);
    Value **arguments = loop->regions[0]->arguments;
    Value *first = op2(OP_ADD, op2(OP_ADD, arguments[1], tile), tile);
    Value *condition = op2(OP_LT, arguments[0], count);
    Op *branch = op_append(&builder, OP_IF, &condition, 1, 1);
    Region *outer = builder.region;
    builder.region = op_add_region(&builder, branch);
    Value *inside = op2(OP_ADD, arguments[2], tile);
    op_append(&builder, OP_YIELD, &inside, 1, 0);
    builder.region = op_add_region(&builder, branch);
    op_append(&builder, OP_YIELD, &arguments[2], 1, 0);
    builder.region = outer;
    branch->results[0]->type = tile->type;
    Value *next[] = {first, branch->results[0]};
    loop_end(loop, 2, next);
    Carried *carried = loop_classify(arena, loop);
    CHECK_EQ_INT(carried[0].class, CARRIED_SUM);
    CHECK_EQ_INT(carried[0].link_count, 2);
    CHECK_EQ_INT(carried[1].class, CARRIED_SUM);

    Op *outside = loop_begin(1, &tile);
    Op *inner = loop_begin(1, &outside->regions[0]->arguments[1]);
    Value *sum = op2(OP_ADD, inner->regions[0]->arguments[1], tile);
    loop_end(inner, 1, &sum);
    loop_end(outside, 1, inner->results);
    CHECK_EQ_STR(class_of(inner, 0), "sum");
    CHECK_EQ_STR(class_of(outside, 0), "sum");
    arena_free(arena);
}

/// m' = max(m, x); l' = l * r + exp(x - m'), r as given.
static Op *online(bool right) {
    Value *initial[] = {tile, tile};
    Op *loop = loop_begin(2, initial);
    Value **arguments = loop->regions[0]->arguments;
    Value *x = op2(OP_MUL, tile, arguments[0]);
    Value *m = op2(OP_MAXIMUM, arguments[1], x);
    Value *factor = op1(OP_EXP, op2(OP_SUB, arguments[1], right ? m : x));
    Value *l = op2(OP_ADD, op2(OP_MUL, arguments[2], factor), op1(OP_EXP, op2(OP_SUB, x, m)));
    Value *next[] = {m, l};
    loop_end(loop, 2, next);
    return loop;
}

TEST(online_softmax_is_a_gauge) {
    start();
    Op *loop = online(true);
    Carried *carried = loop_classify(arena, loop);
    CHECK_EQ_INT(carried[0].class, CARRIED_GAUGE);
    CHECK_EQ_INT(carried[1].class, CARRIED_GAUGE);
    CHECK_EQ_INT(carried[1].gauge, 0);
    CHECK(carried[1].factor != NULL);
    loop = online(false);
    CHECK_EQ_STR(class_of(loop, 0), "recurrence");
    CHECK_EQ_STR(class_of(loop, 1), "recurrence");
    arena_free(arena);
}

TEST(a_linear_recurrence_is_no_gauge) {
    start();
    Op *loop = loop_begin(1, &tile);
    Value *next = op2(OP_ADD, op2(OP_MUL, loop->regions[0]->arguments[1], tile), tile);
    loop_end(loop, 1, &next);
    CHECK_EQ_STR(class_of(loop, 0), "recurrence");
    arena_free(arena);
}

TEST_MAIN(TEST_ROW(inductions_and_sums), TEST_ROW(a_partial_sum_that_is_read_is_no_sum),
          TEST_ROW(chains_branches_and_inner_loops), TEST_ROW(online_softmax_is_a_gauge),
          TEST_ROW(a_linear_recurrence_is_no_gauge))
