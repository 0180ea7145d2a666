// What the numbers of a launch follow from. Two sizes that nobody says to be equal may be anything; what an author takes for equal
// without a word is seen by an address that follows from a size which its buffer does not have.
#include "analysis/trial/leaves.h"

#include <string.h>

#include "analysis/host/launch_concrete.h"
#include "analysis/host_values/host_value.h"

/* ---- leaves ---- */

static bool same_leaf(const HostValue *a, const HostValue *b) {
    return a->kind == b->kind && a->input == b->input && a->axis == b->axis;
}

/// The tensor that a leaf is of: a number that divides one of its sizes counts as one.
static const HostInput *owner_of(const HostValue *leaf) {
    return leaf->kind == HOST_INPUT && leaf->input->divides ? leaf->input->divides : leaf->input;
}

static void add_leaf(Leaves *leaves, const HostValue *leaf) {
    for (int i = 0; i < leaves->count; i++)
        if (same_leaf(leaves->items[i], leaf)) return;
    if (leaves->count == LAUNCH_MOST_LEAVES)
        leaves->is_open = true;
    else
        leaves->items[leaves->count++] = leaf;
}

/// Whether programs are counted by a number that the caller may leave as it is (`block=1024`), and the kernel gets it as a constexpr: its
/// author takes it for any length of a block.
static bool is_block_by_default(const HostLaunch *launch, const HostInput *input) {
    bool is_passed = false, counts = false;
    if (!input->has_default || input->constant.kind != CONSTANT_INT) return false;
    for (int i = 0; i < launch->argument_count; i++) {
        const HostValue *value = launch->arguments[i].value;
        is_passed |= value && value->kind == HOST_INPUT && value->input == input &&
                     launch->kernel->parameters[i].is_constexpr;
    }
    for (int axis = 0; axis < launch->grid_rank; axis++) {
        const HostValue *value = launch->grid[axis];
        bool divides = value && value->kind == HOST_OPERATION && value->count == 2 &&
                       value->operation == HOST_OP_CDIV;
        counts |= divides && value->items[1]->kind == HOST_INPUT && value->items[1]->input == input;
    }
    return is_passed && counts;
}

static void add_value(Leaves *leaves, const HostLaunch *launch, const HostValue *value) {
    if (!value || leaves->is_open) {
        leaves->is_open = true;
        return;
    }
    switch (value->kind) {
    case HOST_SIZE:
        // what a call that is not followed gives may be anything
        if (strchr(value->input->name, '(')) leaves->is_open = true;
        add_leaf(leaves, value);
        break;
    // a number that the caller chooses may have to fit sizes without a word
    case HOST_INPUT:
        if (value->input->divides)
            add_leaf(leaves, value);
        else
            leaves->is_open |=
                value->input->kind == INPUT_INT && !is_block_by_default(launch, value->input);
        break;
    case HOST_RANK: leaves->is_open |= !value->input->is_rank_certain; break;
    case HOST_CONSTANT:
    case HOST_DTYPE:
    case HOST_IS_NONE: break;
    case HOST_TENSOR: add_value(leaves, launch, value->tensor->offset); break;
    case HOST_OPERATION:
    case HOST_SEQUENCE:
        for (int i = 0; i < value->count; i++) add_value(leaves, launch, value->items[i]);
        break;
    default: leaves->is_open = true;
    }
}

Leaves leaves_of_extent(const HostLaunch *launch, int parameter) {
    Leaves leaves = {.is_open = true};
    const HostValue *value = launch->arguments[parameter].value;
    if (!value || value->kind != HOST_TENSOR) return leaves;
    const HostTensor *tensor = value->tensor;
    leaves.is_open = tensor->buffer->contents == CONTENTS_COMPUTED || tensor->rank == 0;
    add_value(&leaves, launch, tensor->buffer->numel);
    return leaves;
}

void leaves_add_grid(Leaves *leaves, const HostLaunch *launch, int axis) {
    if (axis < launch->grid_rank) add_value(leaves, launch, launch->grid[axis]);
}

void leaves_add_argument(Leaves *leaves, const HostLaunch *launch, int parameter) {
    add_value(leaves, launch, launch->arguments[parameter].value);
}

/// Whether the launcher has two names for one axis, `x.shape[1]` and `x.shape[-1]`: then there are further axes.
static bool has_axis_twice(const HostInput *input) {
    if (input->has_more_axes) return true;
    for (int axis = 0; axis < input->rank; axis++)
        if ((input->sizes_from_front >> axis & 1) &&
            (input->sizes_from_end >> (input->rank - 1 - axis) & 1))
            return true;
    return false;
}

bool leaves_are_of_one(const Leaves *leaves) {
    for (int i = 1; i < leaves->count; i++)
        if (owner_of(leaves->items[i]) != owner_of(leaves->items[0])) return false;
    const HostInput *of = leaves->count ? owner_of(leaves->items[0]) : NULL;
    return !leaves->is_open && (!of || of->is_rank_certain || !has_axis_twice(of));
}

static bool is_equal_to(const HostLaunch *launch, const HostValue *a, const HostValue *b) {
    if (same_leaf(a, b)) return true;
    for (int i = 0; i < launch->equalities.count; i++) {
        const HostEquality *equal = &launch->equalities.items[i];
        if ((same_leaf(equal->a, a) && same_leaf(equal->b, b)) ||
            (same_leaf(equal->a, b) && same_leaf(equal->b, a)))
            return true;
    }
    return false;
}

/// Whether all are sizes of one tensor.
static bool are_of_one(const Leaves *leaves, const Leaves *others) {
    const HostInput *input = leaves->count ? owner_of(leaves->items[0]) : NULL;
    for (int i = 0; i < leaves->count; i++)
        if (owner_of(leaves->items[i]) != input) return false;
    for (int i = 0; i < others->count; i++)
        if (owner_of(others->items[i]) != input) return false;
    return input != NULL;
}

/// Whether some size of a tensor whose rank nobody says is there without the others: there may be no others.
static bool have_open_ranks(const Leaves *leaves) {
    for (int i = 0; i < leaves->count; i++) {
        const HostInput *input = leaves->items[i]->input;
        int axes = 0;
        if (leaves->items[i]->kind != HOST_SIZE) continue;
        for (int k = 0; k < leaves->count; k++) axes += leaves->items[k]->input == input;
        if (!input->is_rank_certain && axes < input->rank) return true;
    }
    return false;
}

/// Whether the launcher names all axes that were taken from the end, `x.shape[-2]` and `x.shape[-1]`: none stands for those before.
static bool is_named_from_end(const HostInput *input) {
    unsigned all = (1U << input->rank) - 1;
    return input->rank > 1 && !input->sizes_from_front && (input->sizes_from_end & all) == all;
}

/// Whether some are of a tensor that may have further axes by the launcher's own words: `*rest, n = x.shape`.
static bool have_rests(const Leaves *leaves) {
    for (int i = 0; i < leaves->count; i++) {
        const HostInput *input = leaves->items[i]->input;
        if (!input->is_rank_certain &&
            (input->has_rest || has_axis_twice(input) || is_named_from_end(input)))
            return true;
    }
    return false;
}

/// Whether the launcher asks for a stride of a tensor whose rank it does not say: it may be of another axis.
static bool have_open_strides(const Leaves *leaves) {
    for (int i = 0; i < leaves->count; i++) {
        const HostInput *input = leaves->items[i]->input;
        if (!input->is_rank_certain && (input->strides_from_front | input->strides_from_end) > 1)
            return true;
    }
    return false;
}

/// Whether the one stride that the launcher asks a tensor for is that of the last axis it may have: it may as well have another.
static bool have_open_ends(const Leaves *leaves) {
    for (int i = 0; i < leaves->count; i++) {
        const HostInput *input = leaves->items[i]->input;
        bool is_one = input->strides_from_front == 1U << (input->rank - 1);
        if (!input->is_rank_certain && input->is_last_stride_read && is_one) return true;
    }
    return false;
}

bool leaves_are_certain(const HostLaunch *launch, const Leaves *leaves, const Leaves *others) {
    if ((!leaves->count && !others->count) || (others->count && have_open_ranks(leaves)) ||
        have_rests(leaves) || have_rests(others) || have_open_strides(leaves) ||
        have_open_strides(others))
        return false;
    return leaves_are_among(launch, leaves, others) ||
           (!leaves->is_open && !others->is_open && are_of_one(leaves, others));
}

bool leaves_are_among(const HostLaunch *launch, const Leaves *leaves, const Leaves *others) {
    if (leaves->is_open || others->is_open) return false;
    for (int i = 0; i < leaves->count; i++) {
        bool found = false;
        for (int k = 0; k < others->count && !found; k++)
            found = is_equal_to(launch, leaves->items[i], others->items[k]);
        if (!found) return false;
    }
    return true;
}

bool leaves_is_product(const HostValue *value) {
    if (!value || value->kind == HOST_SIZE) return value != NULL;
    bool is_product = value->kind == HOST_OPERATION && value->operation == HOST_OP_MULTIPLY;
    for (int i = 0; is_product && i < value->count; i++)
        is_product = leaves_is_product(value->items[i]);
    return is_product;
}

/// A product of sizes, or a share of one: `x.shape[1] // 2`.
static bool is_product_or_share(const HostValue *value) {
    bool divides = value && value->kind == HOST_OPERATION && value->count == 2 &&
                   value->operation == HOST_OP_FLOOR_DIVIDE &&
                   value->items[1]->kind == HOST_CONSTANT;
    return leaves_is_product(divides ? value->items[0] : value);
}

/// Whether a value is the parameter, moved by something at most.
static bool is_parameter_moved(const Value *value, int parameter, int depth) {
    enum { DEEPEST = 6 };
    const Op *op = value ? value->op : NULL;
    if (!op) return value && value->region && !value->region->parent && value->index == parameter;
    OpShape shape = op_rows[op->code].shape;
    bool passes = shape == SHAPE_BROADCAST || shape == SHAPE_SAME || op_has(op->code, TRAIT_LAYOUT);
    passes = (passes && op->code != OP_MUL) || op->code == OP_TUPLE;
    for (int i = 0; passes && depth < DEEPEST && i < op->operand_count; i++)
        if (is_parameter_moved(op->operands[i], parameter, depth + 1)) return true;
    return false;
}

typedef struct BoundVisit {
    int parameter;
    bool is_bound;
} BoundVisit;

static bool visit_bound(void *context, Op *op) {
    BoundVisit *search = context;
    int first = 0, end = 0;
    switch (op->code) {
    case OP_ARANGE: end = 2; break;
    case OP_FOR:
    case OP_STATIC_FOR: end = 3; break;
    case OP_MAKE_BLOCK_POINTER:
    case OP_MAKE_TENSOR_DESCRIPTOR:
        first = 1;  // the shape
        end = 2;
        break;
    default: end = op_is_ordering(op->code) ? 2 : 0;
    }
    for (int i = first; i < end && i < op->operand_count; i++)
        search->is_bound |= is_parameter_moved(op->operands[i], search->parameter, 0);
    return !search->is_bound;
}

/// Whether the kernel bounds something by the parameter.
static bool is_bound(const Function *general, int parameter) {
    BoundVisit search = {.parameter = parameter};
    region_walk(general->body, visit_bound, &search);
    return search.is_bound;
}

static bool is_product_with(const HostValue *value, const HostValue *leaf) {
    if (value->kind == HOST_SIZE) return same_leaf(value, leaf);
    for (int i = 0; i < value->count; i++)
        if (is_product_with(value->items[i], leaf)) return true;
    return false;
}

/// Whether the launch speaks of the size: it passes it for a bound, or counts programs by it.
static bool is_named_by_launch(const HostLaunch *launch, const Function *general,
                               const HostValue *leaf) {
    for (int i = 0; i < launch->argument_count; i++) {
        const HostValue *value = launch->arguments[i].value;
        if (value && value->kind == HOST_SIZE && same_leaf(value, leaf) && is_bound(general, i))
            return true;
    }
    for (int axis = 0; axis < launch->grid_rank; axis++) {
        const HostValue *value = launch->grid[axis];
        bool divides = value && value->kind == HOST_OPERATION && value->count == 2 &&
                       value->operation == HOST_OP_CDIV;
        if (divides) value = value->items[0];
        if (leaves_is_product(value) && is_product_with(value, leaf)) return true;
    }
    return false;
}

/// Whether two sizes of one tensor would be one if `a` were `b`.
static bool would_join(const HostLaunch *launch, const HostValue *a, const HostValue *b) {
    if (owner_of(a) == owner_of(b)) return true;
    for (int i = 0; i < launch->equalities.count; i++) {
        const HostEquality *equal = &launch->equalities.items[i];
        for (int turn = 0; turn < 2; turn++) {
            const HostValue *one = turn ? equal->b : equal->a, *two = turn ? equal->a : equal->b;
            if ((same_leaf(one, a) && two->input == b->input && !same_leaf(two, b)) ||
                (same_leaf(one, b) && two->input == a->input && !same_leaf(two, a)))
                return true;
        }
    }
    return false;
}

bool leaves_have_ranks(const Leaves *leaves) {
    for (int i = 0; i < leaves->count; i++)
        if (!owner_of(leaves->items[i])->is_rank_certain) return false;
    return true;
}

/// Whether something besides the sizes that the launch names rests on a rank that nobody says.
static bool rest_on_ranks(const HostLaunch *launch, const Function *general, const Leaves *leaves) {
    Leaves unnamed = {0};
    for (int i = 0; i < leaves->count; i++)
        if (!is_named_by_launch(launch, general, leaves->items[i]))
            unnamed.items[unnamed.count++] = leaves->items[i];
    return have_open_ranks(&unnamed) || have_rests(leaves) || have_open_strides(&unnamed) ||
           have_open_ends(leaves);
}

bool leaves_are_apart(const HostLaunch *launch, const Function *general, const Leaves *leaves,
                      const Leaves *others) {
    if (leaves->is_open || others->is_open || !leaves->count || !others->count ||
        rest_on_ranks(launch, general, leaves) || rest_on_ranks(launch, general, others))
        return false;
    for (int i = 0; i < leaves->count; i++) {
        const HostValue *leaf = leaves->items[i];
        bool is_found = false, could_be = false;
        for (int k = 0; k < others->count && !is_found; k++) {
            const HostValue *other = others->items[k];
            is_found = is_equal_to(launch, leaf, other);
            bool both = is_named_by_launch(launch, general, leaf) &&
                        is_named_by_launch(launch, general, other);
            could_be |= !both && !would_join(launch, leaf, other);
        }
        if (!is_found && could_be) return false;
    }
    return true;
}

const char *leaves_print(Arena *arena, const Leaves *leaves) {
    const char *text = "";
    for (int i = 0; i < leaves->count; i++) {
        Constant now;
        if (!host_compute(leaves->items[i], &now) || now.kind != CONSTANT_INT) continue;
        text = arena_printf(arena, "%s%s%s = %lld", text, *text ? ", " : "",
                            host_print(arena, leaves->items[i]), (long long)now.integer);
    }
    return text;
}

/* ---- what decides about an access ---- */

typedef struct LeafSearch {
    Leaves *leaves;
    const HostLaunch *launch;
    Arena *arena;  // freed with the search
    Map seen;
    bool of_products;  // only of arguments that are sizes, multiplied
} LeafSearch;

static void follow(LeafSearch *search, const Value *value);

static void follow_bounds(LeafSearch *search, const Op *op) {
    int bounds = op->code == OP_FOR || op->code == OP_STATIC_FOR ? 3 : op->code == OP_IF ? 1 : 0;
    for (int i = 0; i < bounds && i < op->operand_count; i++) follow(search, op->operands[i]);
    if (op->code != OP_WHILE) return;
    const Op *end = region_terminator(op->regions[0]);
    if (end && end->operand_count) follow(search, end->operands[0]);
}

/// What is handed on at place `carried` of a loop, or of both branches.
static void follow_carried(LeafSearch *search, const Op *op, int carried) {
    bool is_for = op->code == OP_FOR || op->code == OP_STATIC_FOR;
    follow_bounds(search, op);
    int first = is_for ? 3 : op->code == OP_WHILE ? 0 : op->operand_count;
    if (first + carried < op->operand_count) follow(search, op->operands[first + carried]);
    for (int r = op->code == OP_WHILE ? 1 : 0; r < op->region_count; r++) {
        const Op *end = region_terminator(op->regions[r]);
        if (end && carried < end->operand_count) follow(search, end->operands[carried]);
    }
}

static void follow(LeafSearch *search, const Value *value) {
    if (!value || map_has_pointer(&search->seen, value)) return;
    map_set_pointer(&search->seen, value, (void *)1);
    const Op *op = value->op;
    int64_t axis;
    if (!op && value->region && value->region->parent) {
        const Op *owner = value->region->parent;
        bool is_for = owner->code == OP_FOR || owner->code == OP_STATIC_FOR;
        if (is_for && value->index == 0)
            follow_bounds(search, owner);
        else
            follow_carried(search, owner, value->index - (is_for ? 1 : 0));
    } else if (!op) {
        const HostLaunch *launch = search->launch;
        const HostValue *given =
            value->index < launch->argument_count ? launch->arguments[value->index].value : NULL;
        bool is_product = search->of_products && given && is_product_or_share(given);
        if (value->index < launch->argument_count && (is_product || !search->of_products))
            add_value(search->leaves, search->launch, given);
    } else if (op->region_count) {
        follow_carried(search, op, value->index);
    } else {
        bool asks = op->code == OP_PROGRAM_ID || op->code == OP_NUM_PROGRAMS;
        if (asks && !search->of_products && value_is_int(op->operands[0], &axis))
            leaves_add_grid(search->leaves, search->launch, (int)axis);
        for (int i = 0; i < op->operand_count; i++) follow(search, op->operands[i]);
    }
}

static LeafSearch search_new(Leaves *leaves, const HostLaunch *launch) {
    Arena *arena = arena_new_scratch();
    return (LeafSearch){.leaves = leaves, .launch = launch, .arena = arena, .seen = map_new(arena)};
}

static bool visit_handled(void *context, Op *op) {
    LeafSearch *search = context;
    search->leaves->is_open = false;  // what one follows from says nothing of the others
    if (op_is_loop(op->code)) follow_bounds(search, op);
    int64_t axis;
    if (op->code == OP_PROGRAM_ID && value_is_int(op->operands[0], &axis))
        leaves_add_grid(search->leaves, search->launch, (int)axis);
    if (op->code == OP_ARANGE || op->code == OP_FULL)
        for (int k = 0; k < op->operand_count; k++) follow(search, op->operands[k]);
    return true;
}

void leaves_add_handled(Leaves *leaves, const HostLaunch *launch, const Function *general) {
    LeafSearch search = search_new(leaves, launch);
    region_walk(general->body, visit_handled, &search);
    leaves->is_open = false;  // more than there are is no harm
    arena_free(search.arena);
}

static bool is_same_place(const Op *a, const Op *b) {
    return a->code == b->code && a->range.source == b->range.source &&
           a->range.start == b->range.start && a->range.end == b->range.end;
}

typedef struct AccessFollower {
    LeafSearch *leaves;
    const Op *op;
    bool is_found;
} AccessFollower;

/// The sides without lanes of what a mask compares.
static void follow_limits(LeafSearch *search, const Value *mask, int depth) {
    enum { DEEPEST = 12 };
    const Op *op = mask ? mask->op : NULL;
    if (!op || depth == DEEPEST || op->region_count) return;
    for (int i = 0; i < op->operand_count; i++) {
        if (!op_is_ordering(op->code))
            follow_limits(search, op->operands[i], depth + 1);
        else if (op->operands[i] && !op->operands[i]->type.rank)
            follow(search, op->operands[i]);
    }
}

/// The shape of a block pointer, of before a loop too.
static void follow_block_shape(LeafSearch *search, const Value *block) {
    enum { DEEPEST = 12 };
    for (int depth = 0; block && depth < DEEPEST; depth++) {
        const Op *op = block->op, *owner = op || !block->region ? NULL : block->region->parent;
        bool is_made =
            op && (op->code == OP_MAKE_BLOCK_POINTER || op->code == OP_MAKE_TENSOR_DESCRIPTOR);
        if (is_made) follow(search, op->operands[1]);
        bool is_for = owner && (owner->code == OP_FOR || owner->code == OP_STATIC_FOR);
        if (is_for && block->index > 0 && block->index + 2 < owner->operand_count)
            block = owner->operands[block->index + 2];
        else
            block = op && op->code == OP_ADVANCE ? op->operands[0] : NULL;
    }
}

static bool visit_bounded(void *context, Op *op) {
    AccessFollower *search = context;
    if (!is_same_place(op, search->op)) return true;
    int mask = op_parameter_index(op->code, str_from("mask"));
    if (op->operands[0]->type.kind != TYPE_POINTER)
        follow_block_shape(search->leaves, op->operands[0]);
    else if (mask >= 0 && mask < op->operand_count)
        follow_limits(search->leaves, op->operands[mask], 0);
    return true;
}

void leaves_add_bounds(Leaves *leaves, const HostLaunch *launch, const Function *general,
                       const Op *op) {
    LeafSearch search = search_new(leaves, launch);
    search.of_products = true;
    AccessFollower place = {.leaves = &search, .op = op};
    region_walk(general->body, visit_bounded, &place);
    leaves->is_open = false;  // more than there are is no harm
    arena_free(search.arena);
}

static bool visit_remainder(void *context, Op *op) {
    LeafSearch *search = context;
    if (op->code == OP_MOD && type_is_tile(op->results[0]->type)) follow(search, op->operands[1]);
    return true;
}

void leaves_add_remainders(Leaves *leaves, const HostLaunch *launch, const Function *general) {
    LeafSearch search = search_new(leaves, launch);
    search.of_products = true;
    region_walk(general->body, visit_remainder, &search);
    leaves->is_open = false;  // more than there are is no harm
    arena_free(search.arena);
}

static void add_rounded(Leaves *leaves, const HostLaunch *launch, const HostValue *value) {
    if (!value || value->kind != HOST_OPERATION) return;
    for (int i = 0; i < value->count; i++)
        if (value->operation != HOST_OP_NEXT_POWER_OF_2)
            add_rounded(leaves, launch, value->items[i]);
        else if (is_product_or_share(value->items[i]))
            add_value(leaves, launch, value->items[i]);
}

void leaves_add_any(Leaves *leaves, const HostLaunch *launch) {
    for (int axis = 0; axis < launch->grid_rank; axis++)
        if (leaves_is_product(launch->grid[axis])) add_value(leaves, launch, launch->grid[axis]);
    for (int i = 0; i < launch->argument_count; i++)
        add_rounded(leaves, launch, launch->arguments[i].value);
    leaves->is_open = false;  // more than there are is no harm
}

static bool visit_place(void *context, Op *op) {
    AccessFollower *search = context;
    if (!is_same_place(op, search->op)) return true;
    search->is_found = true;
    int mask = op_parameter_index(op->code, str_from("mask"));
    follow(search->leaves, op->operands[0]);
    if (mask >= 0 && mask < op->operand_count) follow(search->leaves, op->operands[mask]);
    for (const Region *region = op->parent; region && region->parent;
         region = region->parent->parent)
        follow_bounds(search->leaves, region->parent);
    return true;
}

void leaves_add_access(Leaves *leaves, const HostLaunch *launch, const Function *general,
                       const Op *op) {
    // constexprs are numbers in the function that was tried: the kernel with its constexprs open says where they go
    LeafSearch search = search_new(leaves, launch);
    AccessFollower place = {.leaves = &search, .op = op};
    region_walk(general->body, visit_place, &place);
    if (!place.is_found) leaves->is_open = true;
    arena_free(search.arena);
}
