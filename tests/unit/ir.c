// The tile IR: text, verification, copies, and edits.
#include "analysis/ir/ir.h"
#include "analysis/build/build.h"
#include "analysis/build/clone.h"
#include "analysis/ir/ir_print.h"
#include "analysis/ir/ir_verify.h"
#include "tests/support/check.h"

static Arena *arena;
static Function *function;
static Builder builder;
static Value *x;
static Value *n;
static Value *block;

static void start(void) {
    arena = arena_new();
    function = function_new(arena, "kernel");
    builder = (Builder){.function = function, .region = function->body};
    Type pointer = {.kind = TYPE_POINTER, .element = dtype_of(DTYPE_FLOAT32)};
    Type integer = {.kind = TYPE_NUMBER, .element = dtype_of(DTYPE_INT32)};
    x = function_add_parameter(function, "x_ptr", pointer);
    n = function_add_parameter(function, "n", integer);
    integer.is_constexpr = true;
    block = function_add_parameter(function, "BLOCK", integer);
}

static Value *named(Value *value, const char *name) {
    value->name = name;
    return value;
}

/// acc = 0; for i in range(0, n, BLOCK): acc += sum(load(x + i + arange(0, BLOCK))); store(x, acc)
static Op *build_sum(void) {
    Value *lanes = named(build_binary(&builder, OP_ARANGE, build_int(&builder, 0), block), "lanes");
    Value *operands[] = {build_int(&builder, 0), n, block, build_float(&builder, 0)};
    Op *loop = op_append(&builder, OP_FOR, operands, 4, 1);
    Region *body = op_add_region(&builder, loop);
    Value *i = region_add_argument(function, body, n->type, "i");
    Type scalar = {.kind = TYPE_NUMBER, .element = dtype_of(DTYPE_FLOAT32)};
    Value *acc = region_add_argument(function, body, scalar, "acc");
    Builder inside = builder;
    inside.region = body;
    Value *offsets = build_binary(&inside, OP_ADD, i, lanes);
    Value *values = build_unary(&inside, OP_LOAD, build_binary(&inside, OP_ADD, x, offsets));
    Value *next = build_binary(&inside, OP_ADD, acc, build_unary(&inside, OP_SUM, values));
    op_append(&inside, OP_YIELD, &next, 1, 0);
    loop->results[0]->type = scalar;
    named(loop->results[0], "acc");
    build_binary(&builder, OP_STORE, x, loop->results[0]);
    return loop;
}

TEST(text_is_readable) {
    start();
    build_sum();
    CHECK_EQ_STR(function_print(arena, function),
                 "function kernel(%x_ptr: *f32, %n: i32, %BLOCK: constexpr i32) {\n"
                 "  %lanes = arange 0, %BLOCK : i32[BLOCK]\n"
                 "  %acc = for 0, %n, %BLOCK, 0.0 { |%i: i32, %acc.2: f32|\n"
                 "    %0 = add %i, %lanes : i32[BLOCK]\n"
                 "    %1 = add %x_ptr, %0 : *f32[BLOCK]\n"
                 "    %2 = load %1 : f32[BLOCK]\n"
                 "    %3 = sum %2 : f32\n"
                 "    %4 = add %acc.2, %3 : f32\n"
                 "    yield %4\n"
                 "  } : f32\n"
                 "  store %x_ptr, %acc\n"
                 "}\n");
    CHECK_EQ_STR(function_verify(arena, function), NULL);
    arena_free(arena);
}

TEST(mistakes_are_found) {
    start();
    Op *loop = build_sum();
    Op *yield = region_terminator(loop->regions[0]);
    op_append_operand(function, yield, n);
    CHECK(function_verify(arena, function) != NULL);
    yield->operand_count = 1;
    CHECK_EQ_STR(function_verify(arena, function), NULL);
    Value *inner = yield->operands[0];
    op_set_operand(function->body->last, 1, inner);  // used outside of the loop that defines it
    CHECK(function_verify(arena, function) != NULL);
    op_set_operand(function->body->last, 1, loop->results[0]);
    op_set_operand(loop, 3, loop->results[0]);  // its own result
    CHECK(function_verify(arena, function) != NULL);
    op_set_operand(loop, 3, n);
    op_remove(yield);
    CHECK(function_verify(arena, function) != NULL);
    arena_free(arena);
}

TEST(copies_stand_on_their_own) {
    start();
    build_sum();
    Function *copy = function_new(arena, "copy");
    Map values = map_new(arena);
    for (int i = 0; i < function->parameter_count; i++) {
        const Parameter *parameter = &function->parameters[i];
        map_set_pointer(&values, parameter->value,
                        function_add_parameter(copy, parameter->name, parameter->value->type));
    }
    Builder there = {.function = copy, .region = copy->body};
    region_clone_into(&there, function->body, &values);
    CHECK_EQ_STR(function_verify(arena, copy), NULL);
    const char *text = function_print(arena, copy);
    CHECK_EQ_STR(strchr(text, '\n'), strchr(function_print(arena, function), '\n'));
    // Dims are over the copy's own parameters, so new tiles agree with copied ones.
    Value *copied_block = value_mapped(&values, block);
    Value *lanes = build_binary(&there, OP_ARANGE, build_int(&there, 0), copied_block);
    const Op *first = copy->body->first;
    while (first->code != OP_ARANGE) first = first->next;
    CHECK(type_equal(lanes->type, first->results[0]->type));
    CHECK(!type_equal(lanes->type, (Type){0}));
    arena_free(arena);
}

TEST(constants_become_dims_in_copies) {
    start();
    build_sum();
    Function *copy = function_new(arena, "copy");
    Builder there = {.function = copy, .region = copy->body};
    Map values = map_new(arena);
    for (int i = 0; i < 2; i++) {
        const Parameter *parameter = &function->parameters[i];
        map_set_pointer(&values, parameter->value,
                        function_add_parameter(copy, parameter->name, parameter->value->type));
    }
    map_set_pointer(&values, block, build_int(&there, 64));
    region_clone_into(&there, function->body, &values);
    CHECK(strstr(function_print(arena, copy), "%lanes = arange 0, 64 : i32[64]") != NULL);
    CHECK_EQ_STR(function_verify(arena, copy), NULL);
    arena_free(arena);
}

TEST(edits_keep_the_list_whole) {
    start();
    Value *a = build_binary(&builder, OP_ADD, n, n);
    Value *b = build_binary(&builder, OP_MUL, a, n);
    build_binary(&builder, OP_STORE, x, b);
    Builder early = builder;
    early.before = a->op;
    Value *c = build_binary(&early, OP_SUB, n, build_int(&early, 1));
    CHECK(c->op->next == a->op);
    region_replace_uses(function->body, a, c);
    op_remove(a->op);
    CHECK_EQ_STR(function_verify(arena, function), NULL);
    CHECK(b->op->operands[0] == c && c->op->next == b->op);
    CHECK(region_defines(function->body, c) && region_defines(function->body, n));
    arena_free(arena);
}

TEST(shared_values_survive_removal) {
    start();
    Value *twice = build_binary(&builder, OP_MUL, block, build_int(&builder, 2));
    op_remove(twice->op);
    Value *again = build_binary(&builder, OP_MUL, block, build_int(&builder, 2));
    CHECK(again != twice && again->op->parent == function->body);
    build_binary(&builder, OP_STORE, x, again);
    CHECK_EQ_STR(function_verify(arena, function), NULL);
    arena_free(arena);
}

TEST_MAIN(TEST_ROW(text_is_readable), TEST_ROW(mistakes_are_found),
          TEST_ROW(copies_stand_on_their_own), TEST_ROW(constants_become_dims_in_copies),
          TEST_ROW(edits_keep_the_list_whole), TEST_ROW(shared_values_survive_removal))
