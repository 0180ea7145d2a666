// Addresses of hand-built kernels: their affine forms, and what each axis around them does.
#include "analysis/addresses/affine.h"
#include "analysis/addresses/affine_axes.h"
#include "analysis/build/build.h"
#include "tests/support/check.h"

static Arena *arena;
static Function *function;
static Builder builder;

static void start(void) {
    arena = arena_new();
    function = function_new(arena, "kernel");
    builder = (Builder){.function = function, .region = function->body};
}

static void finish(void) { arena_free(arena); }

static Value *pointer(const char *name) {
    return function_add_parameter(function, name,
                                  (Type){.kind = TYPE_POINTER, .element = dtype_of(DTYPE_FLOAT32)});
}
static Value *integer(const char *name) {
    return function_add_parameter(function, name,
                                  (Type){.kind = TYPE_NUMBER, .element = dtype_of(DTYPE_INT32)});
}
static Value *block(const char *name) {
    Value *value = function_add_parameter(
        function, name,
        (Type){.kind = TYPE_NUMBER, .element = dtype_of(DTYPE_INT32), .is_constexpr = true});
    function->parameters[value->index].is_constexpr = true;
    return value;
}
static Value *program(int axis) {
    return build_unary(&builder, OP_PROGRAM_ID, build_int(&builder, axis));
}
static Value *add(Value *a, Value *b) { return build_binary(&builder, OP_ADD, a, b); }
static Value *multiply(Value *a, Value *b) { return build_binary(&builder, OP_MUL, a, b); }
static Value *range(Value *end) {
    return build_binary(&builder, OP_ARANGE, build_int(&builder, 0), end);
}
static Value *expand(Value *tile, int axis) {
    return build_binary(&builder, OP_EXPAND_DIMS, tile, build_int(&builder, axis));
}

/// `for variable in range(lower, upper, step)` with one carried value; the builder goes on inside.
static Op *loop_begin(Value *lower, Value *upper, Value *step, Value *initial) {
    Value *operands[] = {lower, upper, step, initial};
    Op *loop = op_append(&builder, OP_FOR, operands, initial ? 4 : 3, initial ? 1 : 0);
    Region *body = op_add_region(&builder, loop);
    if (!body->argument_count) {
        region_add_argument(function, body,
                            (Type){.kind = TYPE_NUMBER, .element = dtype_of(DTYPE_INT32)}, "k");
        if (initial) region_add_argument(function, body, initial->type, "carried");
    }
    builder.region = body;
    return loop;
}
static void loop_end(Op *loop, Value *next) {
    op_append(&builder, OP_YIELD, &next, next ? 1 : 0, 0);
    builder.region = loop->parent;
}

static Op *load(Value *pointers) { return build_unary(&builder, OP_LOAD, pointers)->op; }

static const char *form(Value *value) {
    Affine affine = affine_of(arena, value);
    return affine_print(arena, &affine);
}

/// One letter per axis: f free, o owned, O owned and aligned, s scattered.
static const char *axes_of(Op *op) {
    Access access = access_of(arena, op);
    Axis axes[8];
    AxisDependence dependence[8];
    FunctionAxes around = function_axes(arena, function);
    int count = access_axes(arena, &around, &access, axes, dependence, 8);
    char *text = arena_alloc(arena, 16);
    for (int i = 0; i < count; i++)
        text[i] = dependence[i] == AXIS_FREE        ? 'f'
                  : dependence[i] == AXIS_SCATTERED ? 's'
                  : axes[i].aligned                 ? 'O'
                                                    : 'o';
    return text;
}

TEST(block_of_a_vector) {
    start();
    Value *x = pointer("x");
    Value *size = block("BLOCK");
    Value *offsets = add(multiply(program(0), size), range(size));
    Op *op = load(add(x, offsets));
    Access access = access_of(arena, op);
    CHECK(access.parameter == x);
    CHECK(access.offset.known && access.offset.rank == 1 && !access.offset.wrapped);
    CHECK_EQ_STR(axes_of(op), "O");
    // A program that reads two blocks from its own start overlaps the next one.
    Value *twice = multiply(size, build_int(&builder, 2));
    CHECK_EQ_STR(axes_of(load(add(x, add(multiply(program(0), size), range(twice))))), "s");
    CHECK_EQ_STR(axes_of(load(add(x, range(size)))), "f");
    finish();
}

TEST(same_program_id_twice_is_one_atom) {
    start();
    Value *h = integer("H");
    Value *a = build_binary(&builder, OP_FLOORDIV, program(0), h);
    Value *b = build_binary(&builder, OP_FLOORDIV, program(0), h);
    Affine difference = affine_of(arena, build_binary(&builder, OP_SUB, a, b));
    CHECK(difference.known);
    CHECK_EQ_INT(difference.base->count, 0);
    finish();
}

TEST(matrix_rows_and_columns) {
    start();
    Value *x = pointer("x");
    Value *row_stride = integer("stride_m");
    Value *column_stride = integer("stride_n");
    Value *m = block("BM");
    Value *n = block("BN");
    Value *rows = add(multiply(program(0), m), range(m));
    Value *columns = add(multiply(program(1), n), range(n));
    Value *offsets =
        add(multiply(expand(rows, 1), row_stride), multiply(expand(columns, 0), column_stride));
    Op *op = load(add(x, offsets));
    CHECK_EQ_STR(axes_of(op), "OO");
    CHECK_EQ_STR(axes_of(load(add(x, rows))), "Of");
    // Both program ids on one dimension of unknown extent: neither owns it.
    Value *mixed = add(multiply(add(program(0), program(1)), m), range(m));
    CHECK_EQ_STR(axes_of(load(add(x, mixed))), "ss");
    finish();
}

TEST(row_of_a_contiguous_matrix) {
    start();
    Value *x = pointer("x");
    Value *width = block("N");
    Value *size = block("BLOCK");
    Op *op = load(add(x, add(multiply(program(0), width), range(size))));
    CHECK_EQ_STR(axes_of(op), "O");
    op = load(add(x, add(multiply(program(0), size), range(size))));
    CHECK_EQ_STR(axes_of(op), "O");
    finish();
}

TEST(overlapping_window) {
    start();
    Value *x = pointer("x");
    Value *stride = integer("stride");
    Value *taps = block("TAPS");
    Value *row = program(0);
    Op *loop = loop_begin(build_int(&builder, 0), taps, build_int(&builder, 1), NULL);
    Value *tap = loop->regions[0]->arguments[0];
    Op *op = load(add(x, multiply(add(row, tap), stride)));
    loop_end(loop, NULL);
    CHECK_EQ_STR(axes_of(op), "ss");
    finish();
}

/// Blocks that follow each other, so many for each program: how many there are is no stride.
TEST(blocks_of_a_program) {
    start();
    Value *x = pointer("x"), *size = block("BLOCK"), *blocks = block("BLOCKS");
    Value *first = multiply(multiply(program(0), size), blocks);
    for (int way = 0; way < 4; way++) {
        bool more = way & 1, is_compared = way & 2;
        Value *count = more ? add(blocks, build_int(&builder, 1)) : blocks;
        Op *loop = loop_begin(build_int(&builder, 0), count, build_int(&builder, 1), NULL);
        Value *at = add(first, multiply(loop->regions[0]->arguments[0], size));
        at = add(at, range(size));
        if (is_compared) build_binary(&builder, OP_LT, at, integer("n"));
        Op *op = load(add(x, at));
        loop_end(loop, NULL);
        CHECK_EQ_STR(axes_of(op), more ? "ss" : "OO");
    }
    finish();
}

/// Rows that also move along their columns: nobody says that they stay within the stride.
TEST(diagonal) {
    start();
    Value *x = pointer("x"), *stride = integer("stride"), *row = program(0);
    Value *lanes = add(row, range(block("BLOCK")));
    CHECK_EQ_STR(axes_of(load(add(x, add(multiply(row, stride), lanes)))), "s");
    finish();
}

/// Frames of a transform: `hop` samples further each, of which a caller may choose few enough to overlap.
TEST(strides_that_a_caller_chooses) {
    start();
    Value *x = pointer("x"), *hop = integer("hop"), *stride = integer("stride");
    Value *frame = multiply(program(0), multiply(hop, stride));
    Op *op = load(add(x, add(frame, multiply(range(block("BLOCK")), stride))));
    CHECK_EQ_STR(axes_of(op), "O");
    hop->is_chosen = true;
    CHECK_EQ_STR(axes_of(op), "s");
    finish();
}

TEST(pointer_increment_in_a_loop) {
    start();
    Value *x = pointer("x");
    Value *stride = integer("stride_k");
    Value *k = integer("K");
    Value *size = block("BK");
    Value *first = add(x, multiply(range(size), stride));
    Op *loop = loop_begin(build_int(&builder, 0), k, size, first);
    Value *carried = loop->regions[0]->arguments[1];
    Op *op = load(carried);
    loop_end(loop, add(carried, multiply(size, stride)));
    CHECK(access_of(arena, op).parameter == x);
    CHECK_EQ_STR(axes_of(op), "O");
    Access access = access_of(arena, op);
    CHECK(poly_mentions(access.offset.base, loop->regions[0]->arguments[0]));
    // A step that does not divide the increment has no polynomial closed form.
    loop = loop_begin(build_int(&builder, 0), k, integer("s"), first);
    carried = loop->regions[0]->arguments[1];
    op = load(carried);
    loop_end(loop, add(carried, multiply(size, stride)));
    CHECK(!access_of(arena, op).offset.known);
    CHECK(access_of(arena, op).parameter == x);
    CHECK_EQ_STR(axes_of(op), "s");
    finish();
}

TEST(loop_that_starts_at_the_program) {
    start();
    Value *x = pointer("x");
    Value *n = integer("N");
    Value *m = block("BM");
    Value *size = block("BN");
    Value *lower = multiply(program(0), m);
    Op *loop = loop_begin(lower, n, size, NULL);
    Op *op = load(add(x, add(loop->regions[0]->arguments[0], range(size))));
    loop_end(loop, NULL);
    CHECK_EQ_STR(axes_of(op), "fo");  // tiles of two programs may be shifted against each other
    loop = loop_begin(multiply(program(0), size), n, size, NULL);
    op = load(add(x, add(loop->regions[0]->arguments[0], range(size))));
    loop_end(loop, NULL);
    CHECK_EQ_STR(axes_of(op), "fO");
    finish();
}

TEST(batch_and_head_from_one_program_id) {
    start();
    Value *x = pointer("x");
    Value *heads = integer("H");
    Value *stride_b = integer("stride_b");
    Value *stride_h = integer("stride_h");
    Value *size = block("D");
    Value *batch = build_binary(&builder, OP_FLOORDIV, program(0), heads);
    Value *head = build_binary(&builder, OP_MOD, program(0), heads);
    Value *both = add(multiply(batch, stride_b), multiply(head, stride_h));
    CHECK_EQ_STR(axes_of(load(add(x, add(both, range(size))))), "O");
    // Heads that share a key head, or only the batch: several programs touch the same.
    CHECK_EQ_STR(axes_of(load(add(x, add(multiply(batch, stride_b), range(size))))), "s");
    Value *rest = build_binary(&builder, OP_SUB, program(0), multiply(batch, heads));
    both = add(multiply(batch, stride_b), multiply(rest, stride_h));
    CHECK_EQ_STR(axes_of(load(add(x, add(both, range(size))))), "O");
    both = add(multiply(batch, add(heads, build_int(&builder, 1))), head);  // rows longer than that
    CHECK_EQ_STR(axes_of(load(add(x, add(multiply(both, stride_h), range(size))))), "O");
    both = add(batch, head);  // not two dimensions
    CHECK_EQ_STR(axes_of(load(add(x, add(multiply(both, stride_h), range(size))))), "s");
    finish();
}

/// Rows of heads, as `[batch, row, head, element]` lie in memory, in blocks of elements: heads are below the rows that the lanes are.
/// Numbers of heads that step as far as several rows are not.
TEST(heads_below_rows) {
    start();
    Value *x = pointer("x"), *heads = integer("H"), *length = integer("T"), *width = integer("K");
    Value *size = block("BT"), *columns = block("BK");
    Value *batch = build_binary(&builder, OP_FLOORDIV, program(1), heads);
    Value *head = build_binary(&builder, OP_MOD, program(1), heads);
    for (int more = 0; more < 2; more++) {
        Op *loop =
            loop_begin(build_int(&builder, 0), integer("blocks"), build_int(&builder, 1), NULL);
        Value *first = multiply(loop->regions[0]->arguments[0], columns);
        Value *row = add(multiply(batch, length), multiply(program(0), size));
        Value *at = add(multiply(row, heads), more ? multiply(head, heads) : head);
        at = add(multiply(at, width), first);
        Value *rows = build_binary(&builder, OP_EXPAND_DIMS, range(size), build_int(&builder, 1));
        Value *lanes = multiply(rows, multiply(heads, width));
        Op *op = load(add(add(add(x, at), lanes), range(columns)));
        loop_end(loop, NULL);
        CHECK_EQ_STR(axes_of(op), more ? "OsO" : "OOO");
    }
    finish();
}

TEST(wrap_around) {
    start();
    Value *x = pointer("x");
    Value *m = integer("M");
    Value *stride = integer("stride_m");
    Value *size = block("BM");
    Value *rows = add(multiply(program(0), size), range(size));
    Value *wrapped = build_binary(&builder, OP_MOD, rows, m);
    Op *op = load(add(x, multiply(wrapped, stride)));
    Access access = access_of(arena, op);
    CHECK(access.offset.wrapped && access.offset.wrap_count == 1);
    CHECK(access.offset.wraps[0].value == rows);
    CHECK_EQ_STR(axes_of(op), "s");  // a period, for all that is known
    build_binary(&builder, OP_LT, rows, m);
    CHECK_EQ_STR(axes_of(op), "O");  // the kernel masks with M elsewhere: padding
    finish();
}

TEST(limits_by_where) {
    start();
    Value *x = pointer("x");
    Value *m = integer("M");
    Value *rows = add(multiply(program(0), block("BM")), range(block("BN")));
    Value *zero = build_int(&builder, 0);
    static const struct {
        OpCode compares;
        bool is_wrap;
    } cases[] = {{OP_LT, true}, {OP_GE, false}, {OP_GT, false}, {OP_EQ, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Value *inside = build_binary(&builder, cases[i].compares, rows, m);
        Value *limited = build_ternary(&builder, OP_WHERE, inside, rows, zero);
        Access access = access_of(arena, load(add(x, limited)));
        CHECK(access.offset.wrapped == cases[i].is_wrap);
        CHECK(access.offset.known == cases[i].is_wrap);
    }
    Value *other = build_binary(&builder, OP_LT, add(rows, m), m);  // of another value
    Value *chosen = build_ternary(&builder, OP_WHERE, other, rows, zero);
    CHECK(!access_of(arena, load(add(x, chosen))).offset.wrapped);
    finish();
}

TEST(indices_from_memory) {
    start();
    Value *x = pointer("x");
    Value *table = function_add_parameter(
        function, "table", (Type){.kind = TYPE_POINTER, .element = dtype_of(DTYPE_INT32)});
    Value *stride = integer("stride");
    Value *size = block("D");
    Value *row = load(add(table, program(0)))->results[0];
    Value *columns = add(multiply(program(1), size), range(size));
    Op *op = load(add(x, add(multiply(row, stride), columns)));
    CHECK_EQ_STR(axes_of(op), "sO");
    Value *rows = load(add(table, columns))->results[0];
    op = load(add(x, rows));
    CHECK(!access_of(arena, op).offset.known);
    CHECK_EQ_STR(axes_of(op), "fs");
    finish();
}

TEST(block_pointer) {
    start();
    Value *x = pointer("x");
    Value *shape[] = {integer("M"), integer("K")};
    Value *strides[] = {integer("stride_m"), integer("stride_k")};
    Value *sizes[] = {block("BM"), block("BK")};
    Value *offsets[] = {multiply(program(0), sizes[0]), build_int(&builder, 0)};
    Value *order[] = {build_int(&builder, 1), build_int(&builder, 0)};
    Value *operands[] = {x,
                         build_tuple(&builder, shape, 2),
                         build_tuple(&builder, strides, 2),
                         build_tuple(&builder, offsets, 2),
                         build_tuple(&builder, sizes, 2),
                         build_tuple(&builder, order, 2)};
    Value *made = build(&builder, OP_MAKE_BLOCK_POINTER, operands, 6);
    Op *loop = loop_begin(build_int(&builder, 0), shape[1], sizes[1], made);
    Value *carried = loop->regions[0]->arguments[1];
    Op *op = load(carried);
    Value *moves[] = {build_int(&builder, 0), sizes[1]};
    loop_end(loop, build_binary(&builder, OP_ADVANCE, carried, build_tuple(&builder, moves, 2)));
    Access access = access_of(arena, op);
    CHECK(access.parameter == x && access.offset.known);
    CHECK(poly_equal(access.offset.lane[1], poly_atom(arena, strides[1])));
    CHECK_EQ_STR(axes_of(op), "OO");
    finish();
}

TEST(what_is_not_affine) {
    start();
    Value *size = block("BLOCK");
    Value *tile = range(size);
    CHECK_EQ_STR(form(multiply(tile, tile)), "?");
    CHECK_EQ_STR(form(build_binary(&builder, OP_FLOORDIV, tile, integer("W"))), "?");
    CHECK(affine_of(arena, build_binary(&builder, OP_FLOORDIV, program(0), size)).known);
    finish();
}

TEST(nonnegative) {
    start();
    const Poly *a = poly_atom(arena, block("A"));
    const Poly *b = poly_atom(arena, block("B"));
    const Poly *ab = poly_multiply(arena, a, b);
    CHECK(poly_is_nonnegative(arena, poly_subtract(arena, ab, a)));
    CHECK(!poly_is_nonnegative(arena, poly_subtract(arena, a, b)));
    CHECK(poly_is_nonnegative(arena, poly_constant(arena, 0)));
    CHECK(!poly_is_nonnegative(arena, poly_constant(arena, -1)));
    finish();
}

TEST_MAIN(TEST_ROW(block_of_a_vector), TEST_ROW(same_program_id_twice_is_one_atom),
          TEST_ROW(matrix_rows_and_columns), TEST_ROW(row_of_a_contiguous_matrix),
          TEST_ROW(overlapping_window), TEST_ROW(diagonal), TEST_ROW(blocks_of_a_program),
          TEST_ROW(strides_that_a_caller_chooses), TEST_ROW(pointer_increment_in_a_loop),
          TEST_ROW(loop_that_starts_at_the_program), TEST_ROW(batch_and_head_from_one_program_id),
          TEST_ROW(heads_below_rows), TEST_ROW(wrap_around), TEST_ROW(limits_by_where),
          TEST_ROW(indices_from_memory), TEST_ROW(block_pointer), TEST_ROW(what_is_not_affine),
          TEST_ROW(nonnegative))
