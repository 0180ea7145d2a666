// One walk over the symbolic IR (loops twice): which parameters each value is made of, and what is done with them.
#include "gpu-runner/configure/facts.h"

#include <string.h>

#include "analysis/addresses/affine.h"
#include "analysis/addresses/axis.h"
#include "analysis/ir/walk.h"
#include "gpu-runner/configure/descriptor_sizes.h"

/// What a value is made of.
typedef struct ValueOrigin {
    ParameterSet parameters;  // integers and constexprs
    ParameterSet blocks;      // that set the length of the lanes in it
    ParameterSet loaded;      // integer pointers that it was loaded from
    int64_t lanes;            // constant arange length in it
    int pointer;              // parameter that it points into, plus 1
    bool has_lanes, has_program, has_loop, is_float;
} ValueOrigin;

typedef struct FactWalk {
    Arena *arena;
    const Function *function;
    ValueOrigin *origins;  // by value id
    ParameterFacts *facts;
    int count;
    bool has_boundary_check;  // some block pointer's access drops lanes outside
    bool is_second;           // pass: which parameters are blocks is known
} FactWalk;

static const ValueOrigin no_origin;

static const ValueOrigin *origin(const FactWalk *walk, const Value *value) {
    return value ? &walk->origins[value->id] : &no_origin;
}

static void merge(ValueOrigin *into, const ValueOrigin *from) {
    into->parameters = set_union(into->parameters, from->parameters);
    into->blocks = set_union(into->blocks, from->blocks);
    into->loaded = set_union(into->loaded, from->loaded);
    if (from->lanes > into->lanes) into->lanes = from->lanes;
    if (!into->pointer) into->pointer = from->pointer;
    into->has_lanes |= from->has_lanes;
    into->has_program |= from->has_program;
    into->has_loop |= from->has_loop;
    into->is_float |= from->is_float;
}

/// The parameter that a value is, looking through casts; -1 when it is an expression.
static int parameter_of(const FactWalk *walk, const Value *value) {
    while (value && value->op &&
           (value->op->code == OP_CAST || op_rows[value->op->code].kind == KIND_HINT) &&
           value->op->operand_count)
        value = value->op->operands[0];
    if (!value || value->op || value->region != walk->function->body) return -1;
    return value->index < walk->count ? value->index : -1;
}

#define FOR_EACH_PARAMETER(walk, index, set) \
    for (int index = 0; index < (walk)->count; index++) if (set_has((set), index))

static bool is_moved(OpCode code) {
    return code == OP_CAST || op_has(code, TRAIT_ORDERED) || op_rows[code].kind == KIND_HINT;
}

/// The pointer parameter that a value was loaded from, plus 1; 0: it was not.
static int loaded_from(const FactWalk *walk, const Value *value) {
    while (value && value->op && is_moved(value->op->code) && value->op->code != OP_CAST)
        value = value->op->operand_count ? value->op->operands[0] : NULL;
    bool is_load = value && value->op && value->op->code == OP_LOAD;
    return is_load ? origin(walk, value->op->operands[0])->pointer : 0;
}

/// The same behind a cast.
static int listed_in(const FactWalk *walk, const Value *value) {
    while (value && value->op && value->op->code == OP_CAST) value = value->op->operands[0];
    return loaded_from(walk, value);
}

/// `ends[i] - starts[i]`, or `range(starts[i], ends[i])`, of two lists.
static void note_part(FactWalk *walk, const Value *start, const Value *end) {
    int from = listed_in(walk, start), to = listed_in(walk, end);
    if (from && to && from != to) walk->facts[to - 1].from_list = from;
}

static void note_bounding_list(FactWalk *walk, ParameterSet lists) {
    int only = -1;
    FOR_EACH_PARAMETER(walk, i, lists) only = only == -1 ? i : -2;
    if (only >= 0) walk->facts[only].bounds_alone = true;
}

static void note_compared(FactWalk *walk, const Value *value, const Value *other) {
    int parameter = parameter_of(walk, value);
    if (parameter < 0 || !other || !other->constant) return;
    ParameterFacts *facts = &walk->facts[parameter];
    for (LIST_EACH(int, i, facts->compared))
        if (facts->compared.items[i] == other->constant) return;
    LIST_PUSH(walk->arena, &facts->compared, other->constant);
}

static void note_bound(FactWalk *walk, const ValueOrigin *moving, const ValueOrigin *bound) {
    bool moves = moving->has_program || moving->has_loop || bound->has_program || bound->has_loop;
    ParameterSet blocks = set_union(moving->blocks, bound->blocks);
    FOR_EACH_PARAMETER(walk, i, moving->parameters) walk->facts[i].is_tile = true;
    FOR_EACH_PARAMETER(walk, i, bound->parameters) {
        ParameterFacts *facts = &walk->facts[i];
        if (set_has(moving->blocks, i)) continue;
        facts->is_size = true;
        if (moving->has_lanes) facts->is_masked = true;
        if (moves)
            facts->is_tiled = true;
        else
            facts->is_whole = true;
        facts->blocks = set_union(facts->blocks, blocks);
        if (moving->lanes > facts->lanes) facts->lanes = moving->lanes;
    }
    note_bounding_list(walk, bound->loaded);
    FOR_EACH_PARAMETER(walk, i, bound->loaded) {
        walk->facts[i].is_offset_list = true;
        // A loop's variable is made of the loop's bounds.
        if (set_has(moving->loaded, i) && !moving->has_loop) walk->facts[i].is_ends = true;
    }
}

/// What an index is compared with is an integer, too.
static void note_index(FactWalk *walk, const Value *index, const Value *other) {
    const ValueOrigin *of = origin(walk, index);
    int pointer = loaded_from(walk, other);
    if (pointer && dtype_is_integer(index->type.element) &&
        (of->has_lanes || of->has_loop || of->has_program) && !loaded_from(walk, index))
        walk->facts[pointer - 1].is_integer = true;
}

/// `label == ignore_index`: some of the labels are to be just that.
static void note_mark(FactWalk *walk, const Value *loaded, const Value *mark) {
    while (loaded && loaded->op && loaded->op->code == OP_CAST) loaded = loaded->op->operands[0];
    int pointer = loaded_from(walk, loaded);
    int64_t number;
    if (pointer && mark->constant && mark->constant->kind == CONSTANT_BOOL) {
        walk->facts[pointer - 1].is_truth = true;
        return;
    }
    bool is_mark = parameter_of(walk, mark) >= 0 || value_is_int(mark, &number);
    if (pointer && is_mark && !walk->facts[pointer - 1].mark) walk->facts[pointer - 1].mark = mark;
}

/// `expert == mine`: which of those that a loop or the programs go through.
static void note_class(FactWalk *walk, const Value *value, const ValueOrigin *other) {
    int pointer = loaded_from(walk, value);
    if (pointer && (other->has_loop || other->has_program))
        walk->facts[pointer - 1].is_class = true;
}

static void visit_compare(FactWalk *walk, const Op *op) {
    const Value *a = op->operands[0], *b = op->operands[1];
    const ValueOrigin *x = origin(walk, a), *y = origin(walk, b);
    note_index(walk, a, b);
    note_index(walk, b, a);
    note_compared(walk, a, b);
    note_compared(walk, b, a);
    bool equality = op->code == OP_EQ || op->code == OP_NE;
    ParameterSet loaded = set_union(x->loaded, y->loaded);
    if (equality) {
        if (set_is_empty(loaded)) return;
        FOR_EACH_PARAMETER(walk, i, set_union(x->parameters, y->parameters))
        walk->facts[i].is_compared_with_loaded = true;
        note_mark(walk, a, b);
        note_mark(walk, b, a);
        note_class(walk, a, y);
        note_class(walk, b, x);
        return;
    }
    if (dtype_is_float(a->type.element) || dtype_is_float(b->type.element)) return;
    if (x->has_lanes && !y->has_lanes)
        note_bound(walk, x, y);
    else if (y->has_lanes && !x->has_lanes)
        note_bound(walk, y, x);
    else if ((x->has_program || x->has_loop) && !x->has_lanes && !y->has_lanes)
        note_bound(walk, x, y);
}

/// The initial value behind a loop-carried argument.
static const Value *initial_of(const Value *value) {
    const Op *loop = value->region ? value->region->parent : NULL;
    if (!loop || value->op) return NULL;
    int first = loop->code == OP_FOR || loop->code == OP_STATIC_FOR ? 2
                : loop->code == OP_WHILE                            ? 0
                                                                    : -1;
    int at = first < 0 ? -1 : first + value->index;
    if (first == 2 && value->index == 0) return NULL;  // the loop variable
    return at >= 0 && at < loop->operand_count ? loop->operands[at] : NULL;
}

/// The operation behind a value, before casts and changes of shape; NULL: a parameter.
static const Op *made_by(const Value *value) {
    while (value && value->op && is_moved(value->op->code) && value->op->operand_count &&
           value->op->operands[0])
        value = value->op->operands[0];
    return value ? value->op : NULL;
}

/// Of `PART * stride` the constexpr: which of several, not how far apart they are.
static bool is_place(const FactWalk *walk, const Op *op, int index) {
    if (op->code != OP_MUL || op->operand_count != 2) return false;
    int own = parameter_of(walk, op->operands[index]);
    int other = parameter_of(walk, op->operands[1 - index]);
    return own >= 0 && other >= 0 && walk->function->parameters[own].is_constexpr &&
           !walk->function->parameters[other].is_constexpr;
}

/// An address whose parts are noted.
typedef struct Address {
    FactWalk *walk;
    int pointer;  // the parameter that it starts from
    int *last;    // of the strides in the term at hand
} Address;

/// More factors than one are all alike.
enum { SEVERAL = 2 };

/// Marks the integers that multiply inside one term of an address. How many there were but blocks, at most SEVERAL.
static intptr_t note_factors(ValueWalk *values, const Value *value) {
    const Address *address = values->context;
    FactWalk *walk = address->walk;
    int parameter = parameter_of(walk, value);
    if (parameter >= 0) {
        if (walk->facts[parameter].is_block) return 0;
        walk->facts[parameter].is_stride = true;
        set_add(&walk->facts[address->pointer].strides, parameter);
        *address->last = parameter;
        return 1;
    }
    const Op *op = value ? value->op : NULL;
    if (!op) return 0;
    intptr_t found = 0;
    bool follows = op->code == OP_MUL || is_moved(op->code);
    for (int i = 0; follows && i < op->operand_count && op->operands[i]; i++)
        if (!is_place(walk, op, i)) found += walk_ask(values, op->operands[i]);
    return found < SEVERAL ? found : SEVERAL;
}

/// The terms of an address: strided ones, and those that count elements one by one.
static intptr_t note_terms(ValueWalk *values, const Value *value) {
    const Address *address = values->context;
    FactWalk *walk = address->walk;
    if (!value) return 0;
    const Op *op = value->op;
    const Value *initial = op ? NULL : initial_of(value);
    if (initial) return walk_ask(values, initial);
    if (op &&
        (op->code == OP_ADD || op->code == OP_SUB || is_moved(op->code) || op->code == OP_WHERE)) {
        for (int i = op->code == OP_WHERE; i < op->operand_count; i++)
            walk_ask(values, op->operands[i]);
        return 0;
    }
    if (op && op->code == OP_MUL) {
        const Op *left = made_by(op->operands[0]), *right = made_by(op->operands[1]);
        int last = -1;
        const Address term = {walk, address->pointer, &last};
        ValueWalk factor_walk;
        walk_start(&factor_walk, note_factors, 0, &term);
        intptr_t factors = 0;
        for (int i = 0; i < 2; i++)
            if (!is_place(walk, op, i)) factors += walk_ask(&factor_walk, op->operands[i]);
        if (factors == 1) walk->facts[last].is_lone_stride = true;
        if (factors > 0) {  // (row * stride + column) * other
            if (left && left->code == OP_ADD) walk_ask(values, op->operands[0]);
            if (right && right->code == OP_ADD) walk_ask(values, op->operands[1]);
            return 0;
        }
    }
    const ValueOrigin *of = origin(walk, value);
    if (of->has_lanes || of->has_loop || of->has_program)
        walk->facts[address->pointer].has_unit = true;
    return 0;
}

static void note_strides(FactWalk *walk, int pointer, const Value *value) {
    const Address address = {.walk = walk, .pointer = pointer};
    walk_from(value, note_terms, 0, &address);
    FOR_EACH_PARAMETER(walk, i, origin(walk, value)->parameters) walk->facts[i].is_offset = true;
}

static void note_tuple(FactWalk *walk, const Value *tuple, void (*note)(FactWalk *, int, void *),
                       void *context) {
    if (!tuple || !tuple->op || tuple->op->code != OP_TUPLE) return;
    for (int i = 0; i < tuple->op->operand_count; i++) {
        FOR_EACH_PARAMETER(walk, k, origin(walk, tuple->op->operands[i])->parameters)
        note(walk, k, context);
    }
}

static void note_block(FactWalk *walk, int parameter, void *context) {
    (void)context;
    walk->facts[parameter].is_block = true;
}

static void note_stride(FactWalk *walk, int parameter, void *context) {
    walk->facts[parameter].is_stride = walk->facts[parameter].is_lone_stride = true;
    int *pointer = context;
    if (*pointer) set_add(&walk->facts[*pointer - 1].strides, parameter);
}

static void note_aligned(FactWalk *walk, int parameter, void *context) {
    (void)context;
    walk->facts[parameter].is_aligned = true;
}

static void note_size(FactWalk *walk, int parameter, void *context) {
    const OpCode *code = context;
    walk->facts[parameter].is_size = walk->facts[parameter].is_tiled = true;
    if (*code != OP_MAKE_BLOCK_POINTER || walk->has_boundary_check)
        walk->facts[parameter].is_masked = true;
}

/// make_block_ptr and make_tensor_descriptor: shape, strides and block are said outright.
static void visit_block(FactWalk *walk, const Op *op) {
    int pointer = origin(walk, op->operands[0])->pointer;
    int shape = op_parameter_index(op->code, STR("shape")),
        strides = op_parameter_index(op->code, STR("strides"));
    int block = op_parameter_index(op->code, STR("block_shape"));
    OpCode code = op->code;
    if (shape >= 0 && shape < op->operand_count)
        note_tuple(walk, op->operands[shape], note_size, &code);
    if (strides >= 0 && strides < op->operand_count) {
        note_tuple(walk, op->operands[strides], note_stride, &pointer);
        if (code == OP_MAKE_TENSOR_DESCRIPTOR)
            note_tuple(walk, op->operands[strides], note_aligned, NULL);
        const Op *tuple = op->operands[strides] ? op->operands[strides]->op : NULL;
        int64_t stride;
        for (int i = 0; tuple && pointer && tuple->code == OP_TUPLE && i < tuple->operand_count;
             i++)
            if (value_is_int(tuple->operands[i], &stride) && stride == 1)
                walk->facts[pointer - 1].has_unit = true;
    }
    if (block < 0 || block >= op->operand_count) return;
    note_tuple(walk, op->operands[block], note_block, NULL);
    const Value *dims = op->operands[block],
                *sizes = shape < op->operand_count ? op->operands[shape] : NULL;
    if (!dims || !dims->op || !sizes || !sizes->op ||
        dims->op->operand_count != sizes->op->operand_count)
        return;
    for (int i = 0; i < dims->op->operand_count; i++) {
        const ValueOrigin *length = origin(walk, dims->op->operands[i]);
        FOR_EACH_PARAMETER(walk, k, origin(walk, sizes->op->operands[i])->parameters) {
            int64_t lanes;
            walk->facts[k].blocks = set_union(walk->facts[k].blocks, length->parameters);
            if (value_is_int(dims->op->operands[i], &lanes) && lanes > walk->facts[k].lanes)
                walk->facts[k].lanes = lanes;
        }
    }
}

static void visit_for(FactWalk *walk, const Op *op, ValueOrigin *induction) {
    ValueOrigin bounds = *origin(walk, op->operands[1]);
    const ValueOrigin *step = origin(walk, op->operands[2]);
    int from = parameter_of(walk, op->operands[0]);
    if (from >= 0 && !set_has(bounds.parameters, from)) walk->facts[from].is_from = true;
    note_part(walk, op->operands[0], op->operands[1]);
    note_bounding_list(walk, bounds.loaded);
    FOR_EACH_PARAMETER(walk, i, bounds.loaded) walk->facts[i].is_offset_list = true;
    FOR_EACH_PARAMETER(walk, i, origin(walk, op->operands[0])->loaded) {
        walk->facts[i].is_offset_list = true;
        if (set_has(bounds.loaded, i)) walk->facts[i].is_ends = true;
    }
    ParameterSet blocks = set_union(bounds.parameters, step->parameters);
    bool by_blocks = false;
    FOR_EACH_PARAMETER(walk, i, blocks) by_blocks = by_blocks || walk->facts[i].is_block;
    int64_t constant_step = 0;
    if (op->operands[2]->constant && op->operands[2]->constant->integer > 1)
        constant_step = op->operands[2]->constant->integer;
    FOR_EACH_PARAMETER(walk, i, bounds.parameters) {
        ParameterFacts *facts = &walk->facts[i];
        if (facts->is_block) continue;
        if (by_blocks || constant_step) {
            facts->is_size = facts->is_tiled = true;
            facts->blocks = set_union(facts->blocks, blocks);
            if (constant_step > facts->lanes) facts->lanes = constant_step;
        } else {
            facts->is_trip = true;
        }
    }
    merge(induction, &bounds);
    merge(induction, origin(walk, op->operands[0]));
    induction->parameters = (ParameterSet){{0}};
    induction->loaded = origin(walk, op->operands[0])->loaded;  // it begins there
    induction->has_loop = true;
}

/// Whether an address is `pointer + 2 * index`, or 1 more.
static intptr_t steps_by_two(ValueWalk *walk, const Value *address) {
    const Op *op = address ? address->op : NULL;
    int64_t factor;
    if (!op || op->code == OP_LOAD) return false;
    if (op->code == OP_MUL)
        return (value_is_int(op->operands[0], &factor) && factor == 2) ||
               (value_is_int(op->operands[1], &factor) && factor == 2);
    if (op->code != OP_ADD && !is_moved(op->code)) return false;
    for (int i = 0; i < op->operand_count; i++)
        if (walk_ask(walk, op->operands[i])) return true;
    return false;
}

/// The dimensions that an access checks. Parameters among them are some order of all: the first one that comes to mind.
static void visit_boundary(FactWalk *walk, const Op *op) {
    int boundary = op_parameter_index(op->code, STR("boundary_check"));
    const Value *checks =
        boundary >= 0 && boundary < op->operand_count ? op->operands[boundary] : NULL;
    if (!checks || !checks->op || !checks->op->operand_count) return;
    walk->has_boundary_check = true;
    for (int i = 0; i < checks->op->operand_count; i++) {
        int parameter = parameter_of(walk, checks->op->operands[i]);
        if (parameter < 0) continue;
        walk->facts[parameter].is_axis = true;
        walk->facts[parameter].axis = i;
    }
}

static void visit_memory(FactWalk *walk, const Op *op) {
    visit_boundary(walk, op);
    const ValueOrigin *address = origin(walk, op->operands[0]);
    bool stores = (op_rows[op->code].effects & EFFECT_WRITES) != 0;
    int rows = op_parameter_index(op->code, STR("x_offsets"));  // that a descriptor picks
    ParameterSet loaded = rows > 0 && rows < op->operand_count
                              ? set_union(address->loaded, origin(walk, op->operands[rows])->loaded)
                              : address->loaded;
    if (address->pointer) {
        ParameterFacts *facts = &walk->facts[address->pointer - 1];
        if (op_rows[op->code].effects & EFFECT_READS) {
            facts->is_loaded = true;
            if (parameter_of(walk, op->operands[0]) != address->pointer - 1) facts->is_list = true;
            if (address->has_lanes) facts->is_lane_loaded = true;
            facts->is_paired =
                facts->is_paired || walk_from(op->operands[0], steps_by_two, false, NULL);
            FOR_EACH_PARAMETER(walk, i, loaded)
            set_add(&walk->facts[i].indexes, address->pointer - 1);
        }
        if (stores) facts->is_stored = true;
        if (op_rows[op->code].effects & EFFECT_ATOMIC) facts->is_atomic = true;
    }
    if (stores) FOR_EACH_PARAMETER(walk, i, loaded) walk->facts[i].is_store_index = true;
}

/// The lists that a block's address is made of: its shape bounds it.
static ParameterSet loaded_for_address(FactWalk *walk, const Op *op) {
    ParameterSet loaded = {{0}};
    for (int i = 0; i < op->operand_count; i++)
        if (i != 1) loaded = set_union(loaded, origin(walk, op->operands[i])->loaded);
    return loaded;
}

/// `tl.sum(tile, axis=AXIS)`.
static void visit_axis(FactWalk *walk, const Op *op) {
    int index = op_axis_index(op->code);
    if (index < 1 || index >= op->operand_count || op->operands[0]->type.kind != TYPE_NUMBER)
        return;
    int parameter = parameter_of(walk, op->operands[index]);
    if (parameter >= 0) walk->facts[parameter].tile_axes = op->operands[0]->type.rank;
}

/// Parameters that are options of an operation: text, flags, element types.
static void visit_options(FactWalk *walk, const Op *op) {
    int count;
    const OpParameter *parameters = op_parameters(op->code, &count);
    for (int i = 0; i < op->operand_count && i < count; i++) {
        int parameter = op->operands[i] ? parameter_of(walk, op->operands[i]) : -1;
        if (parameter < 0) continue;
        ParameterFacts *facts = &walk->facts[parameter];
        Str name = parameters[i].name, missing = parameters[i].default_text;
        if (str_is(name, "dtype") || str_is(name, "out_dtype"))
            facts->is_dtype = true;
        else if (str_starts(missing, "'") || str_is(name, "input_precision"))
            facts->is_string = true;
        else if (str_is(missing, "False") || str_is(missing, "True") || str_is(name, "allow_tf32"))
            facts->is_flag = true;
    }
}

/// `tl.clamp(x, low, high)`, and the same as a minimum around a maximum.
static void visit_clamp(FactWalk *walk, const Op *op) {
    const Value *low = NULL, *high = NULL;
    if (op->code == OP_CLAMP && op->operand_count >= 3) {
        low = op->operands[1];
        high = op->operands[2];
    }
    bool is_min = op->code == OP_MINIMUM, is_max = op->code == OP_MAXIMUM;
    for (int k = 0; k < 2 && (is_min || is_max) && op->operand_count >= 2; k++) {
        const Op *inner = made_by(op->operands[k]);
        if (!inner || inner->code != (is_min ? OP_MAXIMUM : OP_MINIMUM) || inner->operand_count < 2)
            continue;
        for (int i = 0; i < 2; i++) {
            if (parameter_of(walk, inner->operands[i]) < 0) continue;
            low = is_min ? inner->operands[i] : op->operands[1 - k];
            high = is_min ? op->operands[1 - k] : inner->operands[i];
        }
    }
    int below = low ? parameter_of(walk, low) : -1, above = high ? parameter_of(walk, high) : -1;
    if (below < 0 || above < 0 || below == above) return;
    walk->facts[below].is_low = walk->facts[below].is_scale = true;
    walk->facts[above].is_high = walk->facts[above].is_scale = true;
}

static void visit_integers(FactWalk *walk, const Op *op) {
    for (int i = 0; i < op->operand_count; i++) {
        int pointer = loaded_from(walk, op->operands[i]);
        if (pointer) walk->facts[pointer - 1].is_integer = true;
    }
}

/// A parameter that is the length of a block, or a number as large as one.
static bool is_block_length(const FactWalk *walk, const Value *value) {
    int parameter = parameter_of(walk, value);
    int64_t number;
    if (parameter >= 0) return walk->facts[parameter].is_block;
    return value_is_int(value, &number) && number >= 8;
}

static void visit_arithmetic(FactWalk *walk, const Op *op) {
    if (op->operand_count < 2) return;
    if (op->code == OP_FLOORDIV || op->code == OP_MOD)
        FOR_EACH_PARAMETER(walk, i, origin(walk, op->operands[1])->loaded)
    walk->facts[i].is_divisor = true;
    for (int k = 0; k < 2; k++) {
        int parameter = op->operands[k] ? parameter_of(walk, op->operands[k]) : -1;
        if (parameter < 0) continue;
        ParameterFacts *facts = &walk->facts[parameter];
        if (op->code == OP_FLOORDIV || op->code == OP_MOD) {
            if (k == 1)
                facts->is_divisor = true;
            else if (op->code == OP_FLOORDIV)
                facts->is_numerator = true;
            if (facts->is_numerator && k == 0 && !facts->divided_by)
                facts->divided_by = parameter_of(walk, op->operands[1]) + 1;
        }
        const ValueOrigin *other = origin(walk, op->operands[1 - k]);
        const Op *moving = made_by(op->operands[1 - k]);
        if (op->code == OP_ADD && moving && moving->code == OP_PROGRAM_ID) facts->is_start = true;
        // `rows * BLOCK / part` counts; `1 / temperature` scales
        const Value *numerator = op->operands[0];
        bool counts = k == 1 && op->code == OP_DIV && !numerator->constant &&
                      dtype_is_integer(numerator->type.element) &&
                      numerator->type.kind == TYPE_NUMBER;
        if (counts)
            facts->is_divisor = true;
        else if (other->is_float || op->code == OP_DIV)
            facts->is_scale = true;
    }
    const ValueOrigin *a = origin(walk, op->operands[0]), *b = origin(walk, op->operands[1]);
    if (op->code == OP_SUB && dtype_is_integer(op->results[0]->type.element)) {
        note_part(walk, op->operands[1], op->operands[0]);
        FOR_EACH_PARAMETER(walk, i, a->loaded)
        if (set_has(b->loaded, i)) walk->facts[i].is_offset_list = walk->facts[i].is_ends = true;
    }
    for (int k = 0; walk->is_second && op->code == OP_MUL && k < 2; k++) {
        int counted = parameter_of(walk, op->operands[k]);
        int block = parameter_of(walk, op->operands[1 - k]);
        if (counted >= 0 && block >= 0 && walk->facts[block].is_block &&
            !walk->facts[counted].is_block)
            walk->facts[counted].is_block_count = true;
        const Op *number = made_by(op->operands[k]);
        if (number && number->code == OP_LOAD && is_block_length(walk, op->operands[1 - k]))
            FOR_EACH_PARAMETER(walk, i, origin(walk, op->operands[k])->loaded)
        walk->facts[i].is_block_index = true;
    }
    if (walk->is_second && (op->code == OP_ADD || op->code == OP_SUB)) {
        if (a->pointer)
            note_strides(walk, a->pointer - 1, op->operands[1]);
        else if (b->pointer)
            note_strides(walk, b->pointer - 1, op->operands[0]);
    }
}

static void walk_region(FactWalk *walk, const Region *region);

static void carry(FactWalk *walk, const Op *op, int first_operand, const Region *region,
                  int first_argument) {
    for (int i = first_argument; i < region->argument_count; i++) {
        int at = first_operand + i - first_argument;
        if (at < op->operand_count)
            merge(&walk->origins[region->arguments[i]->id], origin(walk, op->operands[at]));
    }
}

static void yield_into(FactWalk *walk, const Region *region, Value *const *targets, int count,
                       bool in_loop) {
    const Op *yield = region_terminator(region);
    for (int i = 0; yield && i < yield->operand_count && i < count; i++) {
        ValueOrigin *target = &walk->origins[targets[i]->id];
        merge(target, origin(walk, yield->operands[i]));
        if (in_loop) target->has_loop = true;
    }
}

static void walk_loop(FactWalk *walk, const Op *op) {
    bool counted = op->code != OP_WHILE;
    const Region *body = op->regions[counted ? 0 : 1];
    for (int pass = 0; pass < 2; pass++) {
        if (counted && body->argument_count)
            visit_for(walk, op, &walk->origins[body->arguments[0]->id]);
        for (int i = 0; counted && i < 2; i++)
            FOR_EACH_PARAMETER(walk, p, origin(walk, op->operands[i])->parameters)
        walk->facts[p].is_bound = true;
        carry(walk, op, counted ? 3 : 0, body, counted ? 1 : 0);
        if (!counted) {
            carry(walk, op, 0, op->regions[0], 0);
            walk_region(walk, op->regions[0]);
        }
        walk_region(walk, body);
        int first = counted ? 1 : 0;
        if (body->argument_count >= first)
            yield_into(walk, body, body->arguments + first, body->argument_count - first, true);
        if (!counted)
            yield_into(walk, body, op->regions[0]->arguments, op->regions[0]->argument_count, true);
    }
    yield_into(walk, body, op->results, op->result_count, true);
    carry(walk, op, counted ? 3 : 0, body, counted ? 1 : 0);
    for (int i = 0; i < op->result_count; i++) {
        int at = (counted ? 3 : 0) + i;
        if (at < op->operand_count)
            merge(&walk->origins[op->results[i]->id], origin(walk, op->operands[at]));
    }
}

static void walk_op(FactWalk *walk, const Op *op) {
    if ((op->code == OP_FOR || op->code == OP_STATIC_FOR) && op->operand_count >= 3) {
        walk_loop(walk, op);
        return;
    }
    if (op->code == OP_WHILE) {
        walk_loop(walk, op);
        return;
    }
    ValueOrigin all = {0};
    for (int i = 0; i < op->operand_count; i++) merge(&all, origin(walk, op->operands[i]));
    if (op->code == OP_MAKE_BLOCK_POINTER || op->code == OP_MAKE_TENSOR_DESCRIPTOR)
        all.loaded = loaded_for_address(walk, op);
    for (int i = 0; i < op->region_count; i++) {
        walk_region(walk, op->regions[i]);
        yield_into(walk, op->regions[i], op->results, op->result_count, false);
    }
    if (op->code == OP_IF) {
        int parameter = parameter_of(walk, op->operands[0]);
        if (parameter >= 0) walk->facts[parameter].is_flag = true;
        return;
    }
    if (op_rows[op->code].element == ELEMENT_BOOL && op->operand_count >= 2 && op->operands[1])
        visit_compare(walk, op);
    if (op->code == OP_IS_NONE && parameter_of(walk, op->operands[0]) >= 0)
        walk->facts[parameter_of(walk, op->operands[0])].is_none_tested = true;
    if (op_is_logical(op->code))
        for (int i = 0; i < op->operand_count; i++)
            if (parameter_of(walk, op->operands[i]) >= 0)
                walk->facts[parameter_of(walk, op->operands[i])].is_flag = true;
    if (op_rows[op->code].effects & (EFFECT_READS | EFFECT_WRITES)) visit_memory(walk, op);
    if (op->code == OP_MAKE_BLOCK_POINTER || op->code == OP_MAKE_TENSOR_DESCRIPTOR)
        visit_block(walk, op);
    if (op->code == OP_FULL || op->code == OP_RESHAPE || op->code == OP_VIEW ||
        op->code == OP_BROADCAST_TO)
        note_tuple(walk, op->operands[op->code == OP_FULL ? 0 : 1], note_block, NULL);
    visit_options(walk, op);
    visit_axis(walk, op);
    visit_arithmetic(walk, op);
    visit_clamp(walk, op);
    if (op_has(op->code, TRAIT_INTEGERS)) visit_integers(walk, op);
    if (op->code == OP_ARANGE) {
        FOR_EACH_PARAMETER(walk, i, all.parameters) walk->facts[i].is_block = true;
        int64_t length;
        all.blocks = set_union(all.blocks, all.parameters);
        all.parameters = (ParameterSet){{0}};
        all.has_lanes = true;
        if (value_is_int(op->operands[1], &length)) all.lanes = length;
    }
    if (op->code == OP_PROGRAM_ID) all.has_program = true;
    if (op->code == OP_LOAD || op->code == OP_DESCRIPTOR_LOAD) {
        int pointer = all.pointer;
        bool lanes = all.has_lanes, program = all.has_program, loop = all.has_loop;
        all = (ValueOrigin){.has_lanes = lanes, .has_program = program, .has_loop = loop};
        if (pointer && op->result_count) {
            if (dtype_is_integer(op->results[0]->type.element))
                set_add(&all.loaded, pointer - 1);
            else
                all.is_float = true;
        }
    }
    for (int i = 0; i < op->result_count; i++) {
        ValueOrigin result = all;
        if (op->results[i]->type.kind == TYPE_NUMBER) result.pointer = 0;
        bool is_cast = op->code == OP_CAST || op->code == OP_BITCAST;
        if (is_cast && dtype_is_integer(op->results[i]->type.element)) result.is_float = false;
        if (dtype_is_float(op->results[i]->type.element) &&
            op->results[i]->type.kind == TYPE_NUMBER)
            result.is_float = true;
        merge(&walk->origins[op->results[i]->id], &result);
    }
}

static void walk_region(FactWalk *walk, const Region *region) {
    for (const Op *op = region->first; op; op = op->next) walk_op(walk, op);
}

/// Tiles of many dimensions are large with short sides already.
static void visit_deep(FactWalk *walk, const Op *op) {
    for (int r = 0; r < op->result_count; r++) {
        Type type = op->results[r]->type;
        int long_dims = 0;
        for (int d = 0; d < type.rank; d++) {
            int64_t length;
            long_dims += !type.dims[d] || !poly_is_constant(type.dims[d], &length) || length > 1;
        }
        for (int d = 0; long_dims >= 3 && d < type.rank; d++)
            for (int i = 0; type.dims[d] && i < walk->count; i++)
                if (poly_mentions(type.dims[d], walk->function->parameters[i].value))
                    walk->facts[i].is_deep = true;
    }
}

/// `x.to(tl.int16, bitcast=True)` of what is loaded.
static void visit_bitcast(FactWalk *walk, const Op *op) {
    const Constant *dtype = op->operands[1] ? op->operands[1]->constant : NULL;
    const Value *from = op->operands[0];
    while (from && from->op && from->op->operand_count &&
           (from->op->code == OP_CAST || from->op->code == OP_WHERE))
        from = from->op->operands[from->op->code == OP_WHERE];
    int pointer = loaded_from(walk, from);
    if (pointer && dtype && dtype->kind == CONSTANT_DTYPE && !dtype->is_pointer)
        walk->facts[pointer - 1].bits = dtype_bits(dtype->dtype.code);
}

/// Dims of dot operands are blocks that the tensor core wants to be 16 at least.
static bool visit_dot(void *context, Op *op) {
    FactWalk *walk = context;
    visit_deep(walk, op);
    if (op->code == OP_BITCAST) visit_bitcast(walk, op);
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] && parameter_of(walk, op->operands[i]) >= 0)
            walk->facts[parameter_of(walk, op->operands[i])].is_used = true;
    if (op->code != OP_DOT) return true;
    for (int k = 0; k < 2 && k < op->operand_count; k++) {
        Type type = op->operands[k] ? op->operands[k]->type : (Type){0};
        for (int d = 0; d < type.rank; d++) {
            for (int i = 0; i < walk->count; i++)
                if (type.dims[d] &&
                    poly_mentions(type.dims[d], walk->function->parameters[i].value))
                    walk->facts[i].is_dot = true;
        }
    }
    return true;
}

/// A list that bounds lanes and loops, is in no address, and has no other one to begin at: how long each row is, from its start.
static bool is_lone_length(const ParameterFacts *facts) {
    return facts->is_offset_list && facts->is_list && !facts->is_ends && !facts->is_class &&
           !facts->is_block_index && set_is_empty(facts->indexes) && !facts->is_store_index;
}

/// Lists of lengths, one a program, and beside them lists of where the parts begin that are so long.
static void find_parts(FactWalk *walk) {
    bool has_lengths = false;
    for (int i = 0; i < walk->count; i++) {
        ParameterFacts *facts = &walk->facts[i];
        bool is_address = !set_is_empty(facts->indexes) || facts->is_store_index;
        facts->is_length = facts->is_offset_list && facts->is_list && !facts->is_ends &&
                           !facts->is_lane_loaded && !is_address;
        has_lengths = has_lengths || facts->is_length;
    }
    for (int i = 0; i < walk->count; i++) {
        ParameterFacts *facts = &walk->facts[i];
        bool is_address = !set_is_empty(facts->indexes) || facts->is_store_index;
        facts->is_part_start = has_lengths && is_address && facts->is_list &&
                               !facts->is_lane_loaded && !facts->is_ends && !facts->is_paired &&
                               !facts->is_offset_list &&
                               (!facts->is_block_index || facts->is_store_index);
    }
    bool has_starts = false;
    int bounds = 0;
    for (int i = 0; i < walk->count; i++) {
        has_starts = has_starts || walk->facts[i].is_part_start;
        bounds += walk->facts[i].is_offset_list && !walk->facts[i].is_block_index;
    }
    for (int i = 0; i < walk->count; i++) {
        ParameterFacts *facts = &walk->facts[i];
        facts->is_length =
            (facts->is_length && has_starts) || (bounds == 1 && is_lone_length(facts));
    }
}

/// Whether an address adds the number of an iteration as it is, in a loop whose length the compiler knows: taps of a window.
static bool adds_taps(const Poly *base) {
    for (int t = 0; t < base->count; t++) {
        const Monomial *term = &base->terms[t];
        if (term->coefficient != 1 || term->atom_count != 1 ||
            !value_is_loop_variable(term->atoms[0]))
            continue;
        const Value *end = term->atoms[0]->region->parent->operands[1];
        if (end->constant || end->type.is_constexpr) return true;
    }
    return false;
}

/// Constexprs that lanes are multiplied with in such addresses: windows begin at every so many elements.
static bool visit_window(void *context, Op *op) {
    const FactWalk *walk = context;
    if (op->code != OP_LOAD) return true;
    const Access access = access_of(walk->arena, op);
    if (!access.offset.known || !adds_taps(access.offset.base)) return true;
    for (int i = 0; i < walk->count; i++)
        for (int k = 0; k < access.offset.rank; k++)
            if (walk->function->parameters[i].is_constexpr &&
                poly_equal(access.offset.lane[k],
                           poly_atom(walk->arena, walk->function->parameters[i].value)))
                walk->facts[i].is_window_step = true;
    return true;
}

ParameterFacts *facts_of(Arena *arena, const Function *function) {
    FactWalk walk = {.arena = arena, .function = function, .count = function->parameter_count};
    walk.origins = ARENA_ARRAY(arena, ValueOrigin, function->value_count + 1);
    walk.facts = ARENA_ARRAY(arena, ParameterFacts, function->parameter_count + 1);
    for (int i = 0; i < function->parameter_count; i++) {
        const Parameter *parameter = &function->parameters[i];
        ValueOrigin *of = &walk.origins[parameter->value->id];
        if (parameter->value->type.kind == TYPE_POINTER ||
            parameter->value->type.kind == TYPE_DESCRIPTOR)
            of->pointer = i + 1;
        else if (parameter->value->type.kind == TYPE_DTYPE)
            walk.facts[i].is_dtype = true;
        else if (parameter->value->type.kind != TYPE_STRING)
            set_add(&of->parameters, i);
        if (!parameter->is_constexpr && dtype_is_float(parameter->value->type.element) &&
            parameter->value->type.kind == TYPE_NUMBER)
            of->is_float = true;
    }
    walk_region(&walk, function->body);
    walk.is_second = true;
    walk_region(&walk, function->body);
    region_walk(function->body, visit_dot, &walk);
    region_walk(function->body, visit_window, &walk);
    for (int i = 0; i < walk.count; i++) FOR_EACH_PARAMETER(&walk, k, walk.facts[i].indexes)
    if (k != i && walk.facts[k].is_offset_list) walk.facts[i].is_list_index = true;
    for (int i = 0; i < walk.count; i++) FOR_EACH_PARAMETER(&walk, k, walk.facts[i].indexes)
    if (k != i && walk.facts[k].is_store_index && walk.facts[i].is_lane_loaded)
        walk.facts[i].leads_to_store = true;
    find_parts(&walk);
    descriptor_sizes_find(function, walk.facts);
    return walk.facts;
}
