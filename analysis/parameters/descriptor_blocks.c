// The block shapes of tensor descriptors that the host makes, read off what a kernel does with the blocks: what they meet in
// arithmetic, dots and reshapes, and, where that does not tell, the steps in which their offsets move and the axes that a reshape drops.
#include "analysis/parameters/descriptor_blocks.h"

#include "analysis/build/value_poly.h"
#include "analysis/ir/walk.h"

enum { ROUNDS = 4 };

/// Dimensions of values that have to be equal, in classes; a class may be known.
typedef struct Sizes {
    Arena *arena;
    Function *function;
    int *parents;  // by dimension: value id * TYPE_MAX_RANK + axis; 0: its own
    const Poly **known;
    bool *is_torn;     // by class: two sizes of it are known, and they differ
    bool in_branches;  // whether a result of an `if` has the sizes of what either side yields
    bool changed;
} Sizes;

static int class_of(Sizes *sizes, int at) {
    while (sizes->parents[at]) at = sizes->parents[at] - 1;
    return at;
}

static int dimension(const Value *value, int axis) { return value->id * TYPE_MAX_RANK + axis; }

static bool has_dims(const Value *value) {
    TypeKind kind = value ? value->type.kind : TYPE_UNKNOWN;
    return kind == TYPE_NUMBER || kind == TYPE_POINTER || kind == TYPE_DESCRIPTOR;
}

static const Poly *size_of(Sizes *sizes, const Value *value, int axis) {
    if (value->type.dims[axis]) return value->type.dims[axis];
    return sizes->known[class_of(sizes, dimension(value, axis))];
}

static void size_learn(Sizes *sizes, const Value *value, int axis, const Poly *size) {
    int class = class_of(sizes, dimension(value, axis));
    if (!size || sizes->known[class]) return;
    sizes->known[class] = size;
    sizes->changed = true;
}

static void unite(Sizes *sizes, const Value *a, int axis_a, const Value *b, int axis_b) {
    int left = class_of(sizes, dimension(a, axis_a)), right = class_of(sizes, dimension(b, axis_b));
    if (left == right) return;
    const Poly *size = size_of(sizes, a, axis_a), *other = size_of(sizes, b, axis_b);
    sizes->parents[right] = left + 1;
    sizes->known[left] = size ? size : other;
    sizes->is_torn[left] |= sizes->is_torn[right] || (size && other && !poly_equal(size, other));
    sizes->changed = true;
}

static void unite_all(Sizes *sizes, const Value *a, const Value *b) {
    if (!has_dims(a) || !has_dims(b) || a->type.rank != b->type.rank) return;
    for (int axis = 0; axis < a->type.rank; axis++) unite(sizes, a, axis, b, axis);
}

/// A tile that is spread over `whole`: its dimensions of 1 say nothing.
static void unite_spread(Sizes *sizes, const Value *part, const Value *whole) {
    if (!has_dims(part) || !has_dims(whole)) return;
    int shift = whole->type.rank - part->type.rank;
    for (int axis = 0; shift >= 0 && axis < part->type.rank; axis++) {
        int64_t size;
        if (!poly_is_constant(size_of(sizes, part, axis), &size) || size != 1)
            unite(sizes, part, axis, whole, axis + shift);
    }
}

static void unite_dot(Sizes *sizes, const Op *op) {
    const Value *a = op->operands[0], *b = op->operands[1], *result = op->results[0];
    int rank = result->type.rank;
    if (!has_dims(a) || !has_dims(b) || rank < 2 || a->type.rank != rank || b->type.rank != rank)
        return;
    unite(sizes, a, rank - 1, b, rank - 2);
    unite(sizes, a, rank - 2, result, rank - 2);
    unite(sizes, b, rank - 1, result, rank - 1);
    if (op->operand_count > 2 && op->operands[2]) unite_all(sizes, op->operands[2], result);
}

static void unite_permuted(Sizes *sizes, const Op *op) {
    const Value *from = op->operands[0], *to = op->results[0];
    const Value *order = op->operand_count > 1 ? op->operands[1] : NULL;
    int rank = from->type.rank, count = 0;
    if (!has_dims(from) || to->type.rank != rank) return;
    bool is_given = order && value_is_tuple(order, &count) && count == rank;
    for (int axis = 0; axis < rank; axis++) {
        int64_t source = axis < rank - 2 ? axis : 2 * rank - 3 - axis;
        if (is_given && !value_is_int(order->op->operands[axis], &source)) return;
        if (source >= 0 && source < rank) unite(sizes, from, (int)source, to, axis);
    }
}

/// The product of a value's sizes. `*missing`: the only one that is not known, or -1; false where several are not.
static bool size_product(Sizes *sizes, const Value *value, const Poly **product, int *missing) {
    *missing = -1;
    *product = poly_constant(sizes->arena, 1);
    for (int axis = 0; axis < value->type.rank; axis++) {
        const Poly *size = size_of(sizes, value, axis);
        if (size)
            *product = poly_multiply(sizes->arena, *product, size);
        else if (*missing >= 0)
            return false;
        else
            *missing = axis;
    }
    return true;
}

static void learn_reshaped(Sizes *sizes, const Value *from, const Value *to) {
    const Poly *products[2];
    int missing[2];
    if (!has_dims(from) || !has_dims(to) || !size_product(sizes, from, &products[0], &missing[0]) ||
        !size_product(sizes, to, &products[1], &missing[1]))
        return;
    for (int side = 0; side < 2; side++)
        if (missing[side] >= 0 && missing[1 - side] < 0)
            size_learn(sizes, side ? to : from, missing[side],
                       poly_divide_exact(sizes->arena, products[1 - side], products[side]));
}

static void unite_regions(Sizes *sizes, const Op *op) {
    bool is_loop = op->code == OP_FOR || op->code == OP_STATIC_FOR;
    int first = is_loop ? 3 : 0, shift = is_loop ? 1 : 0;
    for (int i = 0; i < op->result_count; i++)
        for (int r = 0; r < op->region_count; r++) {
            const Region *region = op->regions[r];
            const Op *end = region_terminator(region);
            if (end && end->code == OP_YIELD && i < end->operand_count)
                unite_all(sizes, op->results[i], end->operands[i]);
            if (i + shift < region->argument_count)
                unite_all(sizes, op->results[i], region->arguments[i + shift]);
            if (op->code != OP_IF && first + i < op->operand_count)
                unite_all(sizes, op->results[i], op->operands[first + i]);
        }
}

static bool is_block_write(OpCode code) {
    return code == OP_DESCRIPTOR_STORE ||
           (code >= OP_DESCRIPTOR_ATOMIC_ADD && code <= OP_DESCRIPTOR_ATOMIC_XOR);
}

static bool is_descriptor_access(const Op *op, const Value **block) {
    bool loads = op->code == OP_DESCRIPTOR_LOAD && op->result_count == 1;
    int value = op_parameter_index(op->code, STR("value"));
    bool stores = is_block_write(op->code) && value >= 0 && value < op->operand_count;
    *block = loads ? op->results[0] : stores ? op->operands[value] : NULL;
    return *block && op->operands[0]->type.kind == TYPE_DESCRIPTOR;
}

static bool visit_sizes(void *context, Op *op) {
    Sizes *sizes = context;
    const Value *block, *result = op->result_count == 1 ? op->results[0] : NULL;
    if (op->region_count && (op->code != OP_IF || sizes->in_branches)) unite_regions(sizes, op);
    if (op->operand_count == 0 || !op->operands[0]) return true;
    if (is_descriptor_access(op, &block)) {
        unite_all(sizes, op->operands[0], block);
        return true;
    }
    if (!result || !has_dims(result)) return true;
    OpShape shape = op_rows[op->code].shape;
    if (op->code == OP_DOT)
        unite_dot(sizes, op);
    else if (op->code == OP_TRANS || op->code == OP_PERMUTE)
        unite_permuted(sizes, op);
    else if (op->code == OP_RESHAPE || op->code == OP_VIEW)
        learn_reshaped(sizes, op->operands[0], result);
    else if (shape == SHAPE_SAME || op->code == OP_CAST)
        unite_all(sizes, op->operands[0], result);
    else if (shape == SHAPE_BROADCAST)
        for (int i = 0; i < op->operand_count; i++)
            if (op->operands[i]) unite_spread(sizes, op->operands[i], result);
    return true;
}

// --- Steps of offsets

static const Poly *constexpr_size(Sizes *sizes, Value *value) {
    int64_t number;
    if (!value || !value->type.is_constexpr || (value_is_int(value, &number) && number < 2))
        return NULL;
    return value_poly(sizes->arena, value);
}

/// A program's number, or a digit of it: what is added to a multiple of something else counts one by one (`batch * HEADS + head`).
static bool is_counter(const Value *value) {
    while (value->op && (value->op->code == OP_CAST || value->op->code == OP_MOD ||
                         value->op->code == OP_FLOORDIV))
        value = value->op->operands[0];
    return value->op && value->op->code == OP_PROGRAM_ID;
}

typedef struct StepSearch {
    Sizes *sizes;
} StepSearch;

/// The whole blocks that an offset is counted in: BLOCK of `pid * BLOCK`, of `for k in range(0, K, BLOCK)`, of `k += BLOCK`.
static intptr_t offset_step(ValueWalk *walk, const Value *offset) {
    const StepSearch *of = walk->context;
    Sizes *sizes = of->sizes;
    if (!offset) return 0;
    const Op *owner = offset->region ? offset->region->parent : NULL;
    if (owner && (owner->code == OP_FOR || owner->code == OP_STATIC_FOR)) {
        if (offset->index == 0) return (intptr_t)constexpr_size(sizes, owner->operands[2]);
        const Value *next = region_terminator(offset->region)->operands[offset->index - 1];
        if (!next->op || next->op->code != OP_ADD) return 0;
        bool first = next->op->operands[0] == offset;
        if (!first && next->op->operands[1] != offset) return 0;
        return (intptr_t)constexpr_size(sizes, next->op->operands[first ? 1 : 0]);
    }
    const Op *op = offset->op;
    if (!op) return 0;
    if (op->code == OP_MUL) {
        const Poly *size = constexpr_size(sizes, op->operands[1]);
        return (intptr_t)(size ? size : constexpr_size(sizes, op->operands[0]));
    }
    if (op->code == OP_CAST || op->code == OP_MULTIPLE_OF) return walk_ask(walk, op->operands[0]);
    if (op->code != OP_ADD || is_counter(op->operands[0]) || is_counter(op->operands[1])) return 0;
    const Poly *left = (const Poly *)walk_ask(walk, op->operands[0]),
               *right = (const Poly *)walk_ask(walk, op->operands[1]);
    return (intptr_t)(!left ? right : !right || poly_equal(left, right) ? left : NULL);
}

/// Whether a size is one constexpr and nothing else.
static bool is_one_constexpr(const Poly *size) {
    return size && size->count == 1 && size->terms[0].coefficient == 1 &&
           size->terms[0].atom_count == 1 && !size->terms[0].atoms[0]->op;
}

/// A block that is as long as one constexpr does not move by another one: what says that it is so long is for other flags.
static void doubt_step(Sizes *sizes, const Value *descriptor, int axis, const Poly *step) {
    const Poly *size = size_of(sizes, descriptor, axis);
    if (is_one_constexpr(size) && is_one_constexpr(step) && !poly_equal(size, step))
        sizes->is_torn[class_of(sizes, dimension(descriptor, axis))] = true;
}

static bool visit_offsets(void *context, Op *op) {
    Sizes *sizes = context;
    const Value *block;
    int count;
    int offsets = op_parameter_index(op->code, STR("offsets"));
    if (offsets < 0 || !op->operand_count || !is_descriptor_access(op, &block) ||
        offsets >= op->operand_count || !value_is_tuple(op->operands[offsets], &count))
        return true;
    const Value *descriptor = op->operands[0];
    const StepSearch search = {sizes};
    for (int axis = 0; axis < count && axis < descriptor->type.rank; axis++) {
        if (descriptor->type.dims[axis]) continue;
        const Poly *step = (const Poly *)walk_from(op->operands[offsets]->op->operands[axis],
                                                   offset_step, 0, &search);
        if (size_of(sizes, descriptor, axis))
            doubt_step(sizes, descriptor, axis, step);
        else
            size_learn(sizes, descriptor, axis, step);
    }
    return true;
}

// --- Axes of one element

/// Whether an axis in front of `axis` is known to have the size.
static bool is_known_before(Sizes *sizes, const Value *value, int axis, const Poly *size) {
    for (int i = 0; i < axis; i++) {
        const Poly *known = size_of(sizes, value, i);
        if (known && poly_equal(known, size)) return true;
    }
    return false;
}

/// A block of batch, rows and columns that is reshaped to rows and columns has one batch: the axes of `to` in their order, from the end, and
/// those that it lacks have one element. The emitted Function compares blocks with the descriptor's at each call.
static void learn_dropped(Sizes *sizes, const Value *from, const Value *to) {
    const Poly *one = poly_constant(sizes->arena, 1);
    bool is_lone[TYPE_MAX_RANK] = {false};
    int at = to->type.rank - 1;
    for (int axis = from->type.rank - 1; axis >= 0; axis--) {
        const Poly *size = size_of(sizes, from, axis);
        const Poly *wanted = at >= 0 ? size_of(sizes, to, at) : NULL;
        if (at >= 0 && !wanted) return;
        bool fits = wanted && (size ? poly_equal(size, wanted)
                                    : axis == at || !is_known_before(sizes, from, axis, wanted));
        is_lone[axis] = !fits;
        if (fits) at--;
        if (!fits && size && !poly_equal(size, one)) return;
    }
    if (at >= 0) return;
    at = to->type.rank - 1;
    for (int axis = from->type.rank - 1; axis >= 0; axis--)
        size_learn(sizes, from, axis, is_lone[axis] ? one : size_of(sizes, to, at--));
}

static bool visit_dropped(void *context, Op *op) {
    Sizes *sizes = context;
    if ((op->code != OP_RESHAPE && op->code != OP_VIEW) || op->result_count != 1) return true;
    const Value *from = op->operands[0], *to = op->results[0];
    if (has_dims(from) && has_dims(to) && from->type.rank > to->type.rank)
        learn_dropped(sizes, from, to);
    return true;
}

static void settle(Sizes *sizes) {
    sizes->changed = true;
    for (int round = 0; sizes->changed && round < ROUNDS; round++) {
        sizes->changed = false;
        region_walk(sizes->function->body, visit_sizes, sizes);
    }
}

/// Two axes of one descriptor that have one size only if both sides of a branch are believed: one side turns the blocks over.
static void tear_turned(Sizes *sizes, const bool *was_one) {
    int pair = 0;
    for (int i = 0; i < sizes->function->parameter_count; i++) {
        const Value *value = sizes->function->parameters[i].value;
        for (int a = 0; value->type.kind == TYPE_DESCRIPTOR && a < value->type.rank; a++)
            for (int b = a + 1; b < value->type.rank; b++, pair++) {
                int class = class_of(sizes, dimension(value, a));
                if (!was_one[pair] && class == class_of(sizes, dimension(value, b)))
                    sizes->is_torn[class] = true;
            }
    }
}

/// Which pairs of axes of one descriptor have one size, in the order of tear_turned.
static bool *axes_of_one_size(Sizes *sizes) {
    size_t most = (size_t)sizes->function->parameter_count * TYPE_MAX_RANK * TYPE_MAX_RANK;
    bool *are_one = ARENA_ARRAY(sizes->arena, bool, most + 1);
    int pair = 0;
    for (int i = 0; i < sizes->function->parameter_count; i++) {
        const Value *value = sizes->function->parameters[i].value;
        for (int a = 0; value->type.kind == TYPE_DESCRIPTOR && a < value->type.rank; a++)
            for (int b = a + 1; b < value->type.rank; b++, pair++)
                are_one[pair] =
                    class_of(sizes, dimension(value, a)) == class_of(sizes, dimension(value, b));
    }
    return are_one;
}

// --- Parameters

/// Whether a number is one of the kernel's own constexprs, or a quotient of such.
static bool number_is_lasting(const Function *function, const Value *value, int depth) {
    if (value_is_int(value, NULL)) return true;
    if (!value->op) return value->region == function->body;
    return depth > 0 && value->op->code == OP_FLOORDIV &&
           number_is_lasting(function, value->op->operands[0], depth - 1) &&
           number_is_lasting(function, value->op->operands[1], depth - 1);
}

enum { QUOTIENTS = 3 };  // of quotients of quotients: `BLOCK // 2 // 2` is as far as anybody goes

/// Whether a size is made of these, so that it means the same in another pass.
static bool size_is_lasting(const Function *function, const Poly *size) {
    for (int t = 0; t < size->count; t++)
        for (int a = 0; a < size->terms[t].atom_count; a++)
            if (!number_is_lasting(function, size->terms[t].atoms[a], QUOTIENTS)) return false;
    return true;
}

static Value *number_here(Builder *builder, const Value *value) {
    int64_t number;
    if (value_is_int(value, &number)) return build_int(builder, number);
    if (!value->op) return builder->function->parameters[value->index].value;
    return build_binary(builder, OP_FLOORDIV, number_here(builder, value->op->operands[0]),
                        number_here(builder, value->op->operands[1]));
}

const Poly *poly_in_function(Builder *builder, const Poly *poly) {
    Arena *arena = builder->function->arena;
    const Poly *sum = poly_constant(arena, 0);
    for (int t = 0; t < poly->count; t++) {
        const Poly *term = poly_constant(arena, poly->terms[t].coefficient);
        for (int a = 0; a < poly->terms[t].atom_count; a++)
            term = poly_multiply(arena, term,
                                 value_poly(arena, number_here(builder, poly->terms[t].atoms[a])));
        sum = poly_add(arena, sum, term);
    }
    return sum;
}

static bool is_open(const Type *type) {
    for (int axis = 0; type->kind == TYPE_DESCRIPTOR && axis < type->rank; axis++)
        if (!type->dims[axis]) return true;
    return false;
}

bool descriptor_blocks_learn(Arena *arena, Function *function, ParameterKnowledge *knowledge) {
    bool any = false, learnt = false;
    for (int i = 0; i < knowledge->count; i++)
        any = any || is_open(&function->parameters[i].value->type);
    if (!any) return false;
    size_t count = (size_t)(function->value_count + 1) * TYPE_MAX_RANK;
    Sizes sizes = {.arena = arena,
                   .function = function,
                   .parents = ARENA_ARRAY(arena, int, count),
                   .known = ARENA_ARRAY(arena, const Poly *, count),
                   .is_torn = ARENA_ARRAY(arena, bool, count)};
    settle(&sizes);
    const bool *was_one = axes_of_one_size(&sizes);
    sizes.in_branches = true;
    settle(&sizes);
    region_walk(function->body, visit_offsets, &sizes);
    settle(&sizes);
    region_walk(function->body, visit_dropped, &sizes);
    settle(&sizes);
    tear_turned(&sizes, was_one);
    for (int i = 0; i < knowledge->count; i++) {
        const Value *value = function->parameters[i].value;
        Type *type = &knowledge->types[i];
        if (!is_open(&value->type) || type->kind != TYPE_DESCRIPTOR ||
            type->rank != value->type.rank)
            continue;
        const Poly **dims = ARENA_ARRAY(arena, const Poly *, type->rank + 1);
        for (int axis = 0; axis < type->rank; axis++) {
            dims[axis] = type->dims[axis];
            const Poly *size = dims[axis] ? NULL : size_of(&sizes, value, axis);
            if (!size || !size_is_lasting(function, size)) continue;
            // One flag loads blocks of rows, another one blocks of columns.
            if (sizes.is_torn[class_of(&sizes, dimension(value, axis))]) continue;
            dims[axis] = size;
            learnt = true;
        }
        type->dims = dims;
    }
    return learnt;
}
