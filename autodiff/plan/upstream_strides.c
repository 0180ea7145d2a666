// A backward kernel and its forward's launches in; the strides out by which it addresses an upstream gradient and nothing else.
//
// An address is taken apart as `sum of index[k] * stride[k]`, and `index[last]` where the last axis has no stride of its own. In
// another layout the same indices are the same elements if each index stays within its axis: by a mask, by the length of its
// tile, by the grid or as a remainder. One index need not: of a dense output, what is within the tensor and within all other
// axes is within the outermost, too.
#include "autodiff/plan/upstream_strides.h"

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

enum { VARIANTS_MAX = 8, OUTERMOST = 0, NO_ARGUMENT = -1 };

typedef struct UpstreamStrides {
    Arena *arena;
    const Kernel *kernel;
    const Function *backward;
    const BackwardLaunch *launch;
    HostLaunches launches;
    int output;                  // parameter of the forward
    const Value *upstream;       // of the backward
    int rank;                    // of the output
    int strides[TYPE_MAX_RANK];  // arguments of the backward, by axis; or NO_ARGUMENT
    Map moved;                   // values that depend on these
    bool is_other;               // something else does
} UpstreamStrides;

/// `base + sum of lane[i] * place in the tile along i`.
typedef struct TileIndex {
    const Poly *base;
    const Poly *lane[TYPE_MAX_RANK];
    int rank;
} TileIndex;

/* ---- what the launches pass ---- */

static int forward_parameter(const UpstreamStrides *layout, const char *name) {
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
static int axis_of_argument(const UpstreamStrides *layout, const BackwardArgument *argument) {
    int axis = -1, parameter = forward_parameter(layout, argument->of);
    for (LIST_EACH(int, i, layout->launches)) {
        const HostLaunch *launch = layout->launches.items[i];
        if (parameter < 0 || parameter >= launch->argument_count) return -1;
        int here = host_argument_stride_axis(launch, parameter, layout->output);
        if (here < 0 || (i && here != axis)) return -1;
        axis = here;
    }
    return axis;
}

/// Sets the output's rank; false where the launches do not agree.
static bool find_rank(UpstreamStrides *layout) {
    for (LIST_EACH(int, i, layout->launches)) {
        const HostLaunch *launch = layout->launches.items[i];
        const HostValue *value = layout->output < launch->argument_count
                                     ? launch->arguments[layout->output].value
                                     : NULL;
        if (!value || value->kind != HOST_TENSOR) return false;
        if (i && value->tensor->rank != layout->rank) return false;
        layout->rank = value->tensor->rank;
    }
    return layout->launches.count > 0 && layout->rank > 0;
}

/// Finds the arguments that are strides of the output; false where there are none, or two along one axis.
static bool find_strides(UpstreamStrides *layout) {
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

static Value *stride_value(const UpstreamStrides *layout, int axis) {
    int argument = layout->strides[axis];
    return argument == NO_ARGUMENT ? NULL : layout->backward->parameters[argument].value;
}

/* ---- what the kernel does with them ---- */

static bool is_moved(const UpstreamStrides *layout, const Value *value) {
    return value && map_has_pointer(&layout->moved, value);
}

static bool takes_moved(const UpstreamStrides *layout, const Op *op) {
    for (int i = 0; i < op->operand_count; i++)
        if (is_moved(layout, op->operands[i])) return true;
    for (int i = 0; i < op->keyword_count; i++)
        if (is_moved(layout, op->keywords[i].value)) return true;
    return false;
}

/// Follows the strides to the loads of the upstream gradient.
static bool visit_use(void *context, Op *op) {
    UpstreamStrides *layout = context;
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
    case OP_LOAD: {
        bool is_address = is_moved(layout, op->operands[0]) && !is_moved(layout, access_mask(op));
        layout->is_other =
            !is_address || access_of(layout->arena, op).parameter != layout->upstream;
        return !layout->is_other;
    }
    default: layout->is_other = true; return false;
    }
}

/// Whether the strides address the upstream gradient alone.
static bool strides_are_own(UpstreamStrides *layout) {
    layout->moved = map_new(layout->arena);
    for (int axis = 0; axis < layout->rank; axis++)
        if (stride_value(layout, axis))
            map_set_pointer(&layout->moved, stride_value(layout, axis), layout);
    region_walk(layout->backward->body, visit_use, layout);
    return !layout->is_other;
}

/* ---- indices ---- */

/// `poly` as `quotient * stride + rest`, where nothing else in them depends on a stride.
static bool split_stride(const UpstreamStrides *layout, const Poly *poly, Value *stride,
                         const Poly **quotient, const Poly **rest) {
    if (!poly || !poly_split(layout->arena, poly, stride, quotient, rest)) return false;
    for (int t = 0; t < (*quotient)->count; t++)
        for (int i = 0; i < (*quotient)->terms[t].atom_count; i++)
            if (is_moved(layout, (*quotient)->terms[t].atoms[i])) return false;
    return true;
}

static bool is_free_of_strides(const UpstreamStrides *layout, const TileIndex *index) {
    for (int i = -1; i < index->rank; i++) {
        const Poly *poly = i < 0 ? index->base : index->lane[i];
        for (int t = 0; t < poly->count; t++)
            for (int k = 0; k < poly->terms[t].atom_count; k++)
                if (is_moved(layout, poly->terms[t].atoms[k])) return false;
    }
    return true;
}

/// Takes the index along an axis out of an offset.
static bool take_index(const UpstreamStrides *layout, int axis, TileIndex *offset,
                       TileIndex *index) {
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

static bool poly_is_natural(const UpstreamStrides *layout, const Poly *poly) {
    for (int t = 0; t < poly->count; t++) {
        if (poly->terms[t].coefficient < 0) return false;
        for (int i = 0; i < poly->terms[t].atom_count; i++)
            if (!walk_from(poly->terms[t].atoms[i], is_natural, false, layout->backward))
                return false;
    }
    return true;
}

/// Whether in all launches a value is the output's size along an axis.
static bool is_size(const UpstreamStrides *layout, int axis, int parameter, int grid_axis) {
    for (LIST_EACH(int, i, layout->launches)) {
        const HostLaunch *launch = layout->launches.items[i];
        const HostValue *size = launch->arguments[layout->output].value->tensor->dims[axis];
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

static bool value_is_size(const UpstreamStrides *layout, int axis, const Value *value) {
    for (int i = 0; i < layout->launch->argument_count; i++)
        if (layout->backward->parameters[i].value == value &&
            layout->launch->arguments[i].use == ARGUMENT_SAME)
            return is_size(layout, axis, forward_parameter(layout, layout->launch->arguments[i].of),
                           -1);
    return false;
}

/// The one atom that a polynomial is, or NULL.
static Value *only_atom(const Poly *poly) {
    bool is_one = poly && poly->count == 1 && poly->terms[0].coefficient == 1 &&
                  poly->terms[0].atom_count == 1;
    return is_one ? poly->terms[0].atoms[0] : NULL;
}

static bool poly_is_size(const UpstreamStrides *layout, int axis, const Poly *poly) {
    const Value *atom = only_atom(poly);
    return atom && value_is_size(layout, axis, atom);
}

/// A mask, or a part of one whose dimensions are `lanes` of the tile.
typedef struct BoundSearch {
    const UpstreamStrides *layout;
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

/// Of an index that is the place in the tile, a program's number or a remainder.
static bool form_bounds(const UpstreamStrides *layout, int axis, const TileIndex *index,
                        Type tile) {
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
    if (!atom || !atom->op) return false;
    if (atom->op->code == OP_PROGRAM_ID)
        return value_is_int(atom->op->operands[0], &number) &&
               is_size(layout, axis, -1, (int)number);
    return atom->op->code == OP_MOD &&
           poly_is_size(layout, axis, value_poly(layout->arena, atom->op->operands[1]));
}

static bool index_is_bounded(const UpstreamStrides *layout, int axis, const TileIndex *index,
                             const Op *load) {
    if (index_is_zero(index)) return true;
    if (!poly_is_natural(layout, index->base)) return false;
    for (int i = 0; i < index->rank; i++)
        if (!poly_is_natural(layout, index->lane[i])) return false;
    Type tile = load->operands[0]->type;
    if (form_bounds(layout, axis, index, tile)) return true;
    Value *mask = access_mask(load);
    int lanes[TYPE_MAX_RANK], above = mask ? tile.rank - mask->type.rank : -1;
    for (int i = 0; i < TYPE_MAX_RANK; i++) lanes[i] = i;
    BoundSearch search = {layout, index, axis, 0};
    return above >= 0 && mask_bounds(&search, mask, lanes + above, mask->type.rank);
}

/* ---- loads ---- */

static bool load_keeps_indices(const UpstreamStrides *layout, Op *load) {
    Access access = access_of(layout->arena, load);
    TileIndex offset = {.base = access.offset.base, .rank = access.offset.rank};
    if (!access.offset.known || access.offset.wrapped ||
        (offset.rank && offset.rank != load->operands[0]->type.rank))
        return false;
    for (int i = 0; i < offset.rank; i++) offset.lane[i] = access.offset.lane[i];
    int without = 0;
    for (int axis = 0; axis < layout->rank; axis++) {
        TileIndex index;
        without += !stride_value(layout, axis);
        if (!stride_value(layout, axis)) continue;
        if (!take_index(layout, axis, &offset, &index)) return false;
        if (axis != OUTERMOST && !index_is_bounded(layout, axis, &index, load)) return false;
    }
    if (!is_free_of_strides(layout, &offset)) return false;
    int last = layout->rank - 1;
    if (without == 1 && !stride_value(layout, last))
        return index_is_bounded(layout, last, &offset, load);
    return without == 0 && index_is_zero(&offset);
}

static bool visit_load(void *context, Op *op) {
    UpstreamStrides *layout = context;
    if (!op_is_access(op) || access_of(layout->arena, op).parameter != layout->upstream)
        return true;
    layout->is_other = op->code != OP_LOAD || !load_keeps_indices(layout, op);
    return !layout->is_other;
}

void upstream_strides_describe(Arena *arena, const Kernel *kernel, const Function *backward,
                               BackwardLaunch *launch) {
    for (int i = 0; i < launch->argument_count; i++) {
        if (launch->arguments[i].use != ARGUMENT_UPSTREAM) continue;
        UpstreamStrides layout = {.arena = arena,
                                  .kernel = kernel,
                                  .backward = backward,
                                  .launch = launch,
                                  .upstream = backward->parameters[i].value};
        layout.launches = host_launches(arena, kernel->definition, kernel->function);
        layout.output = forward_parameter(&layout, launch->arguments[i].of);
        if (layout.output < 0 || !find_rank(&layout) || !find_strides(&layout)) continue;
        if (!strides_are_own(&layout)) continue;
        layout.launches = launches_on_all_ways(arena, kernel);
        if (!find_rank(&layout) || !find_strides(&layout)) continue;
        region_walk(backward->body, visit_load, &layout);
        for (int axis = 0; axis < layout.rank && !layout.is_other; axis++) {
            if (layout.strides[axis] == NO_ARGUMENT) continue;
            launch->arguments[layout.strides[axis]].upstream = launch->arguments[i].of;
            launch->arguments[layout.strides[axis]].axis = axis;
        }
    }
}

/* ---- all kernels of a backward ---- */

static BackwardArgument *launch_stride(const BackwardLaunch *launch, const char *of, int axis) {
    for (int i = 0; i < launch->argument_count; i++) {
        BackwardArgument *argument = &launch->arguments[i];
        if (argument->upstream && strcmp(argument->upstream, of) == 0 && argument->axis == axis)
            return argument;
    }
    return NULL;
}

static bool launch_reads(const BackwardLaunch *launch, const char *of) {
    for (int i = 0; i < launch->argument_count; i++)
        if (launch->arguments[i].use == ARGUMENT_UPSTREAM &&
            strcmp(launch->arguments[i].of, of) == 0)
            return true;
    return false;
}

/// Whether all kernels that read the upstream gradient of the output `of` are given its stride along `axis`.
static bool all_have_stride(const Backward *backward, const char *of, int axis) {
    for (int i = 0; i < backward->launch_count; i++)
        if (launch_reads(&backward->launches[i], of) &&
            !launch_stride(&backward->launches[i], of, axis))
            return false;
    return true;
}

void upstream_strides_settle(Backward *backward) {
    for (int i = 0; i < backward->launch_count; i++)
        for (int k = 0; k < backward->launches[i].argument_count; k++) {
            BackwardArgument *argument = &backward->launches[i].arguments[k];
            const char *of = argument->upstream;
            if (!of || all_have_stride(backward, of, argument->axis)) continue;
            int axis = argument->axis;
            for (int j = 0; j < backward->launch_count; j++) {
                BackwardArgument *own = launch_stride(&backward->launches[j], of, axis);
                if (own) own->upstream = NULL;
            }
        }
}

bool upstream_has_stride(const Backward *backward, const char *of, int axis) {
    for (int i = 0; i < backward->launch_count; i++)
        if (launch_stride(&backward->launches[i], of, axis)) return true;
    return false;
}

bool upstream_has_strides(const Backward *backward, const char *of) {
    for (int axis = 0; axis < TYPE_MAX_RANK; axis++)
        if (upstream_has_stride(backward, of, axis)) return true;
    return false;
}
