// A backward kernel and its forward's launches in; the strides of one tensor out by which it addresses that tensor, or what is laid
// out like it, and nothing else.
//
// An address is taken apart as `sum of index[k] * stride[k]`, and `index[last]` where the last axis has no stride of its own. In
// another layout the same indices are the same elements if each index stays within its axis: by a mask, by the length of its
// tile, by the grid or as a remainder.
#include "autodiff/layouts/tensor_strides.h"

#include <string.h>

#include "analysis/addresses/affine.h"
#include "analysis/build/infer.h"
#include "analysis/build/value_poly.h"
#include "analysis/host/launch_concrete.h"
#include "analysis/ir/walk.h"
#include "analysis/launches/launch_strides.h"
#include "autodiff/addresses/place.h"
#include "autodiff/plan/launch_plan.h"
#include "autodiff/plan/wrappers.h"

enum { VARIANTS_MAX = 8, OUTERMOST = 0 };

/// `base + sum of lane[i] * place in the tile along i`.
typedef struct TileIndex {
    const Poly *base;
    const Poly *lane[TYPE_MAX_RANK];
    int rank;
} TileIndex;

/* ---- what the launches pass ---- */

static int forward_parameter(const TensorStrides *layout, const char *name) {
    return parameter_find(layout->kernel->definition, str_from(name));
}

/// All launches of the kernel, each on several ways through its launcher.
static HostLaunches launches_on_all_ways(Arena *arena, const Kernel *kernel) {
    HostLaunches all = {0};
    const Module *module = kernel->definition->module;
    for (LIST_EACH(int, i, module->launches)) {
        const LaunchSite *site = &module->launches.items[i];
        if (site->kernel != kernel->definition) continue;
        for (int variant = 0, variants = 1; variant < variants; variant++) {
            const HostPolicy policy = {
                .variant = variant, .keep_blocks = true, .function = kernel->function};
            const HostLaunch *launch = host_launch(module, site, &policy);
            variants = launch->flag_count < 3 ? 1 << launch->flag_count : VARIANTS_MAX;
            LIST_PUSH(arena, &all, launch);
        }
    }
    return all;
}

/// The axis of the output that all launches pass the stride of; -1: none.
static int axis_of_argument(const TensorStrides *layout, const BackwardArgument *argument) {
    int axis = -1, parameter = forward_parameter(layout, argument->of);
    for (LIST_EACH(int, i, layout->launches)) {
        const HostLaunch *launch = layout->launches.items[i];
        if (parameter < 0 || parameter >= launch->argument_count) return -1;
        int here = host_argument_stride_axis(launch, parameter, layout->tensor);
        if (here < 0 || (i && here != axis)) return -1;
        axis = here;
    }
    return axis;
}

/// Sets the output's rank; false where the launches do not agree.
static bool find_rank(TensorStrides *layout) {
    for (LIST_EACH(int, i, layout->launches)) {
        const HostLaunch *launch = layout->launches.items[i];
        const HostValue *value = layout->tensor < launch->argument_count
                                     ? launch->arguments[layout->tensor].value
                                     : NULL;
        if (!value || value->kind != HOST_TENSOR) return false;
        if (i && value->tensor->rank != layout->rank) return false;
        layout->rank = value->tensor->rank;
    }
    return layout->launches.count > 0 && layout->rank > 0;
}

/// Finds the arguments that are strides of the output; false where there are none, or two along one axis.
static bool find_strides(TensorStrides *layout) {
    const FunctionDefinition *definition = layout->kernel->definition;
    bool any = false;
    for (int axis = 0; axis < TYPE_MAX_RANK; axis++) layout->strides[axis] = NO_ARGUMENT;
    for (int i = 0; i < layout->launch->argument_count; i++) {
        const BackwardArgument *argument = &layout->launch->arguments[i];
        const Parameter *parameter = &layout->backward->parameters[i];
        if (argument->use != ARGUMENT_SAME || argument->is_constexpr ||
            parameter->value->type.kind != TYPE_NUMBER)
            continue;
        int axis = axis_of_argument(layout, argument);
        if (axis < 0) continue;
        if (layout->strides[axis] != NO_ARGUMENT ||
            decorators_mention(definition, argument->of, false) ||
            launchers_mention(definition, argument->of))
            return false;
        layout->strides[axis] = i;
        any = true;
    }
    return any;
}

static Value *stride_value(const TensorStrides *layout, int axis) {
    int argument = layout->strides[axis];
    return argument == NO_ARGUMENT ? NULL : layout->backward->parameters[argument].value;
}

/* ---- what the kernel does with them ---- */

static bool is_moved(const TensorStrides *layout, const Value *value) {
    return value && map_has_pointer(&layout->moved, value);
}

static bool takes_moved(const TensorStrides *layout, const Op *op) {
    for (int i = 0; i < op->operand_count; i++)
        if (is_moved(layout, op->operands[i])) return true;
    for (int i = 0; i < op->keyword_count; i++)
        if (is_moved(layout, op->keywords[i].value)) return true;
    return false;
}

static bool is_addressed(const TensorStrides *layout, Op *op) {
    const Value *parameter = access_of(layout->arena, op).parameter;
    return parameter && (parameter == layout->addressed[0] || parameter == layout->addressed[1]);
}

/// Whether an access has the strides in its address and nowhere else.
static bool is_own_access(const TensorStrides *layout, Op *op) {
    for (int i = 1; i < op->operand_count; i++)
        if (is_moved(layout, op->operands[i])) return false;
    for (int i = 0; i < op->keyword_count; i++)
        if (is_moved(layout, op->keywords[i].value)) return false;
    return is_moved(layout, op->operands[0]) && is_addressed(layout, op);
}

/// Follows the strides to the accesses of what they are of.
static bool visit_use(void *context, Op *op) {
    TensorStrides *layout = context;
    if (!takes_moved(layout, op)) return true;
    switch (op->code) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_CAST:
    case OP_EXPAND_DIMS:
    case OP_BROADCAST_TO:
        for (int i = 0; i < op->result_count; i++)
            map_set_pointer(&layout->moved, op->results[i], layout);
        return true;
    case OP_LOAD:
    case OP_STORE:
    case OP_ATOMIC_ADD: layout->is_other |= !is_own_access(layout, op); return !layout->is_other;
    default: layout->is_other = true; return false;
    }
}

/// Whether the strides address what is laid out so, and nothing else.
static bool strides_are_own(TensorStrides *layout) {
    layout->moved = map_new(layout->arena);
    for (int axis = 0; axis < layout->rank; axis++)
        if (stride_value(layout, axis))
            map_set_pointer(&layout->moved, stride_value(layout, axis), layout);
    region_walk(layout->backward->body, visit_use, layout);
    return !layout->is_other;
}

/* ---- indices ---- */

/// `poly` as `quotient * stride + rest`, where nothing else in them depends on a stride.
static bool split_stride(const TensorStrides *layout, const Poly *poly, Value *stride,
                         const Poly **quotient, const Poly **rest) {
    if (!poly || !poly_split(layout->arena, poly, stride, quotient, rest)) return false;
    for (int t = 0; t < (*quotient)->count; t++)
        for (int i = 0; i < (*quotient)->terms[t].atom_count; i++)
            if (is_moved(layout, (*quotient)->terms[t].atoms[i])) return false;
    return true;
}

static bool is_free_of_strides(const TensorStrides *layout, const TileIndex *index) {
    for (int i = -1; i < index->rank; i++) {
        const Poly *poly = i < 0 ? index->base : index->lane[i];
        for (int t = 0; t < poly->count; t++)
            for (int k = 0; k < poly->terms[t].atom_count; k++)
                if (is_moved(layout, poly->terms[t].atoms[k])) return false;
    }
    return true;
}

/// Takes the index along an axis out of an offset.
static bool take_index(const TensorStrides *layout, int axis, TileIndex *offset, TileIndex *index) {
    Value *stride = stride_value(layout, axis);
    index->rank = offset->rank;
    if (!split_stride(layout, offset->base, stride, &index->base, &offset->base)) return false;
    for (int i = 0; i < offset->rank; i++)
        if (!split_stride(layout, offset->lane[i], stride, &index->lane[i], &offset->lane[i]))
            return false;
    return true;
}

static bool index_is_zero(const TileIndex *index) {
    bool is_zero = poly_is_zero(index->base);
    for (int i = 0; i < index->rank; i++) is_zero = is_zero && poly_is_zero(index->lane[i]);
    return is_zero;
}

/* ---- bounds ---- */

/// Sizes, counts and block sizes, and what is made of them without a difference.
static intptr_t is_natural(ValueWalk *walk, const Value *value) {
    int64_t number;
    const Function *function = walk->context;
    if (value_is_int(value, &number)) return number >= 0;
    if (!value->op && value->region == function->body) return value->type.is_constexpr;
    if (!value->op) {
        const Op *loop = value->region->parent;
        bool counts = loop && (loop->code == OP_FOR || loop->code == OP_STATIC_FOR);
        return counts && value->index == 0 && walk_ask(walk, loop->operands[0]);
    }
    const Op *op = value->op;
    switch (op->code) {
    case OP_PROGRAM_ID:
    case OP_NUM_PROGRAMS: return true;
    case OP_CAST: return walk_ask(walk, op->operands[0]);
    case OP_FLOORDIV:
    case OP_MOD: return walk_ask(walk, op->operands[0]);  // by a size
    case OP_ADD:
    case OP_MUL:
    case OP_MINIMUM: return walk_ask(walk, op->operands[0]) && walk_ask(walk, op->operands[1]);
    case OP_MAXIMUM: return walk_ask(walk, op->operands[0]) || walk_ask(walk, op->operands[1]);
    case OP_IF:
        for (int side = 0; side < 2; side++)
            if (!walk_ask(walk, region_terminator(op->regions[side])->operands[value->index]))
                return false;
        return true;
    default: return false;
    }
}

static bool poly_is_natural(const TensorStrides *layout, const Poly *poly) {
    for (int t = 0; t < poly->count; t++) {
        if (poly->terms[t].coefficient < 0) return false;
        for (int i = 0; i < poly->terms[t].atom_count; i++)
            if (!walk_from(poly->terms[t].atoms[i], is_natural, false, layout->backward))
                return false;
    }
    return true;
}

/// Leaves it to the caller that something is no more than the tensor's size along an axis.
static bool ask(const TensorStrides *layout, int axis, const char *text) {
    AskedReads *asked = layout->asked;
    const char *item = arena_printf(layout->arena, "(%d, %s)", axis, text);
    if (!asked || !asked->is_asking) return false;
    for (LIST_EACH(int, i, asked->list))
        if (strcmp(asked->list.items[i], item) == 0) return true;
    LIST_PUSH(layout->arena, &asked->list, item);
    return true;
}

/// Whether in all launches a value is the tensor's size along an axis.
static bool is_size(const TensorStrides *layout, int axis, int parameter, int grid_axis) {
    if (axis >= layout->rank) return false;
    for (LIST_EACH(int, i, layout->launches)) {
        const HostLaunch *launch = layout->launches.items[i];
        const HostValue *size = launch->arguments[layout->tensor].value->tensor->dims[axis];
        const HostValue *value = NULL;
        if (parameter >= 0 && parameter < launch->argument_count)
            value = launch->arguments[parameter].value;
        if (grid_axis >= 0 && grid_axis < launch->grid_rank) value = launch->grid[grid_axis];
        // a size that is but a number may be another one that is the same here
        if (!value || size->kind == HOST_CONSTANT || value->kind == HOST_UNKNOWN) return false;
        if (strcmp(host_print(layout->arena, value), host_print(layout->arena, size)) != 0)
            return false;
    }
    return true;
}

/// The forward's parameter that a value of the backward is; NULL: it is none.
static const char *parameter_text(const TensorStrides *layout, const Value *value) {
    for (int i = 0; i < layout->launch->argument_count; i++)
        if (layout->backward->parameters[i].value == value &&
            layout->launch->arguments[i].use == ARGUMENT_SAME)
            return layout->launch->arguments[i].of;
    return NULL;
}

static bool value_is_size(const TensorStrides *layout, int axis, const Value *value) {
    const char *name = parameter_text(layout, value);
    return name &&
           (is_size(layout, axis, forward_parameter(layout, name), -1) || ask(layout, axis, name));
}

/// The one atom that a polynomial is, or NULL.
static Value *only_atom(const Poly *poly) {
    bool is_one = poly && poly->count == 1 && poly->terms[0].coefficient == 1 &&
                  poly->terms[0].atom_count == 1;
    return is_one ? poly->terms[0].atoms[0] : NULL;
}

static bool poly_is_size(const TensorStrides *layout, int axis, const Poly *poly) {
    const Value *atom = only_atom(poly);
    int64_t number;
    if (poly && poly_is_constant(poly, &number))
        return ask(layout, axis, arena_printf(layout->arena, "%lld", (long long)number));
    return atom && value_is_size(layout, axis, atom);
}

/// A mask, or a part of one whose dimensions are `lanes` of the tile.
typedef struct BoundSearch {
    const TensorStrides *layout;
    const TileIndex *index;
    int axis, steps;
} BoundSearch;

enum { MASK_STEPS = 200 };

/// Whether `left < right` says that the index is less than the size.
static bool comparison_bounds(const BoundSearch *search, Value *left, Value *right, bool or_equal,
                              const int *lanes, int rank) {
    Arena *arena = search->layout->arena;
    const TileIndex *index = search->index;
    Affine sides[2] = {affine_of(arena, left), affine_of(arena, right)};
    const Poly *rest[TYPE_MAX_RANK];
    for (int side = 0; side < 2; side++)
        if (!sides[side].known || sides[side].wrapped || sides[side].rank > rank) return false;
    const Poly *bound =
        poly_add(arena, index->base, poly_subtract(arena, sides[1].base, sides[0].base));
    if (or_equal) bound = poly_add(arena, bound, poly_constant(arena, 1));
    for (int i = 0; i < index->rank; i++) rest[i] = index->lane[i];
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < sides[side].rank; i++) {
            int at = lanes[i + rank - sides[side].rank];
            const Poly *weight = sides[side].lane[i];
            if (poly_is_zero(weight)) continue;
            if (at < 0 || at >= index->rank) return false;
            rest[at] =
                side ? poly_add(arena, rest[at], weight) : poly_subtract(arena, rest[at], weight);
        }
    for (int i = 0; i < index->rank; i++)
        if (!poly_is_zero(rest[i])) return false;
    return poly_is_size(search->layout, search->axis, bound);
}

static bool mask_bounds(BoundSearch *search, Value *mask, const int *lanes, int rank) {
    const Op *op = mask->op;
    if (!op || mask->constant || ++search->steps > MASK_STEPS) return false;
    Value *a = op->operand_count > 0 ? op->operands[0] : NULL,
          *b = op->operand_count > 1 ? op->operands[1] : NULL;
    int inner[TYPE_MAX_RANK] = {0};
    int64_t axis;
    switch (op->code) {
    case OP_AND:
        return mask_bounds(search, a, lanes + rank - a->type.rank, a->type.rank) ||
               mask_bounds(search, b, lanes + rank - b->type.rank, b->type.rank);
    case OP_EXPAND_DIMS:
        if (!value_is_int(b, &axis)) return false;
        if (axis < 0) axis += rank;
        for (int i = 0; i < rank - 1; i++) inner[i] = lanes[i < axis ? i : i + 1];
        return mask_bounds(search, a, inner, rank - 1);
    case OP_BROADCAST_TO: return mask_bounds(search, a, lanes + rank - a->type.rank, a->type.rank);
    case OP_IF:
        for (int side = 0; side < 2; side++)
            if (!mask_bounds(search, region_terminator(op->regions[side])->operands[mask->index],
                             lanes, rank))
                return false;
        return true;
    case OP_LT: return comparison_bounds(search, a, b, false, lanes, rank);
    case OP_LE: return comparison_bounds(search, a, b, true, lanes, rank);
    case OP_GT: return comparison_bounds(search, b, a, false, lanes, rank);
    case OP_GE: return comparison_bounds(search, b, a, true, lanes, rank);
    default: return false;
    }
}

/// Whether programs along an axis of the grid are no more than the tensor's size.
static bool grid_is_size(const TensorStrides *layout, int axis, const Value *grid_axis) {
    int64_t number;
    return value_is_int(grid_axis, &number) &&
           (is_size(layout, axis, -1, (int)number) ||
            ask(layout, axis, arena_printf(layout->arena, "grid.%d", (int)number)));
}

/// Of the counter of a loop: whether it ends where the axis does.
static bool counter_is_bounded(const TensorStrides *layout, int axis, const Value *counter) {
    const Op *loop = counter->op ? NULL : counter->region->parent;
    if (!loop || loop->code != OP_FOR || counter->index != 0) return false;
    Value *end = loop->operands[1];
    if (end->op && end->op->code == OP_NUM_PROGRAMS)
        return grid_is_size(layout, axis, end->op->operands[0]);
    return poly_is_size(layout, axis, value_poly(layout->arena, end));
}

/// Of a program's number divided by a size: leaves it to the caller that the quotients are no more than the tensor's size.
static bool quotient_is_bounded(const TensorStrides *layout, int axis, const Op *quotient) {
    const Op *number = quotient->operands[0]->op;
    const char *size = parameter_text(layout, quotient->operands[1]);
    int64_t grid_axis;
    return number && number->code == OP_PROGRAM_ID && size &&
           value_is_int(number->operands[0], &grid_axis) &&
           ask(layout, axis,
               arena_printf(layout->arena, "-(-grid.%d // %s)", (int)grid_axis, size));
}

/// Of an index that is the place in the tile, a program's number, the counter of a loop, a quotient or a remainder.
static bool form_bounds(const TensorStrides *layout, int axis, const TileIndex *index, Type tile) {
    int lanes = 0, along = -1;
    int64_t number;
    for (int i = 0; i < index->rank; i++)
        if (!poly_is_zero(index->lane[i])) {
            lanes++;
            along = i;
        }
    if (lanes == 1 && poly_is_zero(index->base))
        return poly_is_constant(index->lane[along], &number) && number == 1 &&
               poly_is_size(layout, axis, tile.dims[along]);
    const Value *atom = lanes ? NULL : only_atom(index->base);
    if (!atom) return false;
    if (!atom->op) return counter_is_bounded(layout, axis, atom);
    if (atom->op->code == OP_PROGRAM_ID) return grid_is_size(layout, axis, atom->op->operands[0]);
    if (atom->op->code == OP_FLOORDIV) return quotient_is_bounded(layout, axis, atom->op);
    return atom->op->code == OP_MOD &&
           poly_is_size(layout, axis, value_poly(layout->arena, atom->op->operands[1]));
}

static bool masks_bound(const TensorStrides *layout, int axis, const TileIndex *index,
                        const Op *access) {
    Type tile = access->operands[0]->type;
    Value *mask = access_mask(access);
    int lanes[TYPE_MAX_RANK], above = mask ? tile.rank - mask->type.rank : -1;
    for (int i = 0; i < TYPE_MAX_RANK; i++) lanes[i] = i;
    BoundSearch search = {layout, index, axis, 0};
    return above >= 0 && mask_bounds(&search, mask, lanes + above, mask->type.rank);
}

static bool index_is_bounded(const TensorStrides *layout, int axis, const TileIndex *index,
                             const Op *access) {
    if (index_is_zero(index)) return true;
    if (!poly_is_natural(layout, index->base)) return false;
    for (int i = 0; i < index->rank; i++)
        if (!poly_is_natural(layout, index->lane[i])) return false;
    Type tile = access->operands[0]->type;
    if (form_bounds(layout, axis, index, tile) || masks_bound(layout, axis, index, access))
        return true;
    if (!layout->asked) return false;
    layout->asked->is_asking = true;
    bool is_bounded =
        masks_bound(layout, axis, index, access) || form_bounds(layout, axis, index, tile);
    layout->asked->is_asking = false;
    return is_bounded;
}

/* ---- accesses ---- */

static bool access_keeps_indices(const TensorStrides *layout, Op *op) {
    Access access = access_of(layout->arena, op);
    TileIndex offset = {.base = access.offset.base, .rank = access.offset.rank};
    if (!access.offset.known || access.offset.wrapped ||
        (offset.rank && offset.rank != op->operands[0]->type.rank))
        return false;
    for (int i = 0; i < offset.rank; i++) offset.lane[i] = access.offset.lane[i];
    int without = 0;
    for (int axis = 0; axis < layout->rank; axis++) {
        TileIndex index;
        without += !stride_value(layout, axis);
        if (!stride_value(layout, axis)) continue;
        if (!take_index(layout, axis, &offset, &index)) return false;
        if ((axis != OUTERMOST || layout->bounds_all) &&
            !index_is_bounded(layout, axis, &index, op))
            return false;
    }
    if (!is_free_of_strides(layout, &offset)) return false;
    const Poly *slice;
    if (layout->part_stride &&
        !split_stride(layout, offset.base, layout->part_stride, &slice, &offset.base))
        return false;
    int last = layout->rank - 1;
    if (without == 0 && layout->asked && !index_is_zero(&offset)) {
        // launchers that ask for the strides of two axes may know of no third one
        layout->asked->has_more_axes = true;
        return index_is_bounded(layout, layout->rank, &offset, op);
    }
    if (without == 1 && !stride_value(layout, last))
        return index_is_bounded(layout, last, &offset, op);
    return without == 0 && index_is_zero(&offset);
}

static bool visit_access(void *context, Op *op) {
    TensorStrides *layout = context;
    if (!op_is_access(op) || !is_addressed(layout, op)) return true;
    layout->is_other = !access_keeps_indices(layout, op);
    return !layout->is_other;
}

bool tensor_strides_find(TensorStrides *layout) {
    const Kernel *kernel = layout->kernel;
    layout->launches = host_launches(layout->arena, kernel->definition, kernel->function);
    if (layout->tensor < 0 || !find_rank(layout) || !find_strides(layout)) return false;
    if (!strides_are_own(layout)) return false;
    layout->launches = launches_on_all_ways(layout->arena, kernel);
    if (!find_rank(layout) || !find_strides(layout)) return false;
    region_walk(layout->backward->body, visit_access, layout);
    return !layout->is_other;
}
