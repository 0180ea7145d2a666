// Memory: masks that are missing or say nothing, what masked lanes read, races between programs.
#include "analysis/checks/check.h"
#include "analysis/checks/check_arguments.h"
#include "analysis/checks/check_certainty.h"

#include "analysis/addresses/affine_axes.h"
#include "analysis/addresses/guards.h"
#include "analysis/build/infer.h"
#include "analysis/host/launch_concrete.h"
#include "analysis/host_values/host_value.h"
#include "analysis/ir/walk.h"
#include "analysis/syntax/syntax_nodes.h"

enum { TRACE_LIMIT = 200 };

/// A comparison `index < bound` in a mask; index is a tile, bound one number.
typedef struct Bound {
    Value *index;  // without added axes
    Affine form;   // of `index`
    Op *op;        // the comparison
    bool trivial;  // always true
} Bound;

static bool has_lanes(const Affine *affine) {
    int64_t value;
    for (int i = 0; i < affine->rank; i++)
        if (!poly_is_constant(affine->lane[i], &value) || value) return true;
    return false;
}

/// Whether `index` never reaches `limit` by their compile-time parts alone.
static bool stays_below(Check *check, const Affine *index, Type tile, const Affine *limit) {
    const Poly *room = poly_subtract(check->arena, limit->base, index->base);
    const Poly *one = poly_constant(check->arena, 1);
    room = poly_subtract(check->arena, room, one);
    for (int k = 0; k < index->rank; k++) {
        const Poly *dim = k < tile.rank ? tile.dims[k] : NULL;
        if (!dim || !poly_is_nonnegative(check->arena, index->lane[k])) return false;
        room = poly_subtract(
            check->arena, room,
            poly_multiply(check->arena, index->lane[k], poly_subtract(check->arena, dim, one)));
    }
    for (int t = 0; room && t < room->count; t++)
        for (int a = 0; a < room->terms[t].atom_count; a++)
            if (!room->terms[t].atoms[a]->type.is_constexpr) return false;
    return poly_is_nonnegative(check->arena, room);
}

/// Through hints to what they are about.
static Value *without_hints(Value *value) {
    while (value && value->op && op_rows[value->op->code].kind == KIND_HINT)
        value = check_strip(value->op->operands[0]);
    return value;
}

static bool same_number(Check *check, Value *a, Value *b) {
    const Affine x = affine_of(check->arena, a), y = affine_of(check->arena, b);
    return a == b || (x.known && y.known && !x.rank && !y.rank && poly_equal(x.base, y.base));
}

/// Whether `limit` is what is left of the size: `n - start`.
static bool is_left_of(Check *check, const Affine *limit, const Affine *size) {
    const Poly *each, *rest;
    int64_t one;
    bool is_atom = size->known && !size->rank && size->base->count == 1 &&
                   size->base->terms[0].atom_count == 1;
    return is_atom && limit->known &&
           poly_split(check->arena, limit->base, size->base->terms[0].atoms[0], &each, &rest) &&
           poly_is_constant(each, &one) && one == 1 &&
           poly_is_nonnegative(check->arena,
                               poly_subtract(check->arena, poly_constant(check->arena, 0), rest));
}

/// Whether `index` is a remainder of the limit, or of the size that the limit is the rest of: it is below that wherever the program stands.
static bool is_remainder_of(Check *check, Value *index, Value *limit) {
    const Value *value = without_hints(index);
    if (!value || !value->op || value->op->code != OP_MOD) return false;
    Value *size = check_strip(value->op->operands[1]);
    const Affine left = affine_of(check->arena, limit), whole = affine_of(check->arena, size);
    return same_number(check, size, limit) || is_left_of(check, &left, &whole);
}

/// Whether a number is a whole part of a length: BLOCK // 2.
static bool is_quotient_of(Check *check, const Value *value, const Poly *length) {
    const Op *op = value->op;
    int64_t parts;
    if (!op || op->code != OP_FLOORDIV || !value_is_int(op->operands[1], &parts) || parts < 2)
        return false;
    const Affine whole = affine_of(check->arena, op->operands[0]);
    return whole.known && !whole.rank && poly_equal(whole.base, length);
}

/// Whether a limit is a part of the tile's own length, as in `lanes < BLOCK // 2`: it divides the lanes, and says nothing of memory.
static bool is_share_of_tile(Check *check, const Affine *limit, Type tile) {
    int64_t length, part;
    for (int axis = 0; axis < tile.rank; axis++) {
        const Poly *dim = tile.dims[axis];
        if (!dim || poly_is_constant(dim, &length) || poly_is_constant(limit->base, &part))
            continue;
        for (int t = 0; t < limit->base->count; t++)
            for (int a = 0; a < limit->base->terms[t].atom_count; a++)
                if (is_quotient_of(check, limit->base->terms[t].atoms[a], dim)) return true;
    }
    return false;
}

/// Reads `x < n`, `x <= n`, `n > x`, `n >= x`. False where `op` is something else.
static bool read_bound(Check *check, Op *op, Bound *bound) {
    bool less = op->code == OP_LT || op->code == OP_LE;
    if (!less && op->code != OP_GT && op->code != OP_GE) return false;
    Value *index = op->operands[less ? 0 : 1];
    Value *limit = op->operands[less ? 1 : 0];
    if (!index || !limit) return false;
    Affine limit_form = affine_of(check->arena, limit);
    index = check_strip(index);
    if (is_remainder_of(check, index, check_strip(limit))) return false;
    bound->index = index;
    bound->form = affine_of(check->arena, index);
    bound->op = op;
    if (!limit_form.known || has_lanes(&limit_form) || !bound->form.known ||
        !has_lanes(&bound->form))
        return false;
    if (is_share_of_tile(check, &limit_form, index->type)) return false;
    bound->trivial = (op->code == OP_LT || op->code == OP_GT) &&
                     stays_below(check, &bound->form, index->type, &limit_form);
    return true;
}

static bool is_among(const Value *value, Value *const *values, int count) {
    for (int i = 0; i < count; i++)
        if (values[i] == value) return true;
    return false;
}

/// The comparisons that a mask is an `and` of. Returns their number, `*all` false where some part is something else.
static int mask_leaves(Value *mask, Op **leaves, bool *all) {
    Value *parts[MASK_MOST_PARTS] = {mask};  // each once
    int part_count = 1, count = 0;
    *all = true;
    for (int i = 0; i < part_count; i++) {
        Value *value = check_strip(parts[i]);
        Op *op = value ? value->op : NULL;
        bool both = op && (op_has(op->code, TRAIT_BOTH) || op->code == OP_MUL);
        if (both && part_count + 2 <= MASK_MOST_PARTS) {
            for (int side = 0; side < 2; side++)
                if (!is_among(op->operands[side], parts, part_count))
                    parts[part_count++] = op->operands[side];
        } else if (op && count < MASK_MOST_PARTS && op->code >= OP_EQ && op->code <= OP_GE) {
            leaves[count++] = op;
        } else if (!value || !value->constant) {
            *all = false;
        }
    }
    return count;
}

/// The counted loop that carries the pointer from one iteration to the next; NULL: none.
static const Op *carrying_loop(const Value *pointer) {
    const Op *owner = !pointer->op && pointer->region ? pointer->region->parent : NULL;
    bool is_counted = owner && (owner->code == OP_FOR || owner->code == OP_STATIC_FOR) &&
                      pointer->index > 0 && pointer->index + 2 < owner->operand_count;
    return is_counted ? owner : NULL;
}

/// Whether the tile of indices goes into the pointer linearly (what `%` or `where` changed is something else).
static intptr_t pointer_uses(ValueWalk *walk, const Value *pointer) {
    const Value *index = walk->context;
    if (!pointer) return false;
    if (pointer == index) return true;
    if (pointer->op && check_is_stripped(pointer->op))
        return walk_ask(walk, pointer->op->operands[0]);
    if (!pointer->op) {
        const Op *owner = carrying_loop(pointer);
        return owner && walk_ask(walk, owner->operands[pointer->index + 2]);
    }
    const Op *op = pointer->op;
    if (op->code != OP_ADD && op->code != OP_SUB && op->code != OP_MUL) return false;
    return walk_ask(walk, op->operands[0]) || walk_ask(walk, op->operands[1]);
}

typedef struct MemoryBounds {
    Bound items[KERNEL_MOST_BOUNDS];
    int count;
} MemoryBounds;

static void collect_bounds(Check *check, MemoryBounds *bounds) {
    for (LIST_EACH(int, i, check->memory)) {
        Value *mask = check->memory.items[i]->mask;
        Op *leaves[MASK_MOST_PARTS];
        bool all;
        int count = mask && !value_is_none(mask) ? mask_leaves(mask, leaves, &all) : 0;
        for (int k = 0; k < count && bounds->count < KERNEL_MOST_BOUNDS; k++) {
            Bound *bound = &bounds->items[bounds->count];
            bool seen = false;
            if (!read_bound(check, leaves[k], bound)) continue;
            for (int b = 0; b < bounds->count; b++) seen |= bounds->items[b].op == bound->op;
            if (!seen) bounds->count++;
        }
    }
}

static bool same_form(const Affine *a, const Affine *b) {
    if (a->rank != b->rank || !poly_equal(a->base, b->base)) return false;
    for (int i = 0; i < a->rank; i++)
        if (!poly_equal(a->lane[i], b->lane[i])) return false;
    return true;
}

/// Whether the mask keeps `bound`'s index within some limit; true where the mask is not understood.
static bool mask_covers(Check *check, Value *mask, const Bound *bound) {
    Op *leaves[MASK_MOST_PARTS];
    bool all;
    int count = mask_leaves(mask, leaves, &all);
    if (!all) return true;
    for (int i = 0; i < count; i++) {
        if (value_depends_on(check->arena, leaves[i]->results[0], bound->index, NULL)) return true;
        Bound own;
        if (read_bound(check, leaves[i], &own) && same_form(&own.form, &bound->form)) return true;
    }
    return false;
}

static bool mentions_atom_of(const Poly *poly, const Poly *dim) {
    for (int t = 0; t < dim->count; t++)
        for (int a = 0; a < dim->terms[t].atom_count; a++)
            if (poly_mentions(poly, dim->terms[t].atoms[a])) return true;
    return false;
}

/// Whether the rows of the buffer are as long as the tile: a stride beside the index holds the lanes' own extent. Then the
/// buffer is padded to whole tiles, and lanes past the data's end have a place in it.
static bool is_padded_to_tile(Check *check, const Access *access, const Bound *bound) {
    const Affine *offset = &access->offset;
    Type tile = access->op->operands[0]->type;
    if (!offset->known) return false;
    for (int k = 0; k < offset->rank && k < tile.rank; k++) {
        int64_t constant;
        const Poly *dim = tile.dims[k];
        if (!dim || poly_is_constant(dim, &constant)) continue;
        if (bound->index->type.rank != 1 || !poly_equal(dim, bound->index->type.dims[0])) continue;
        const Poly *own = poly_multiply(check->arena, offset->lane[k], bound->form.base);
        if (mentions_atom_of(poly_subtract(check->arena, offset->base, own), dim)) return true;
        for (int other = 0; other < offset->rank; other++)
            if (other != k && mentions_atom_of(offset->lane[other], dim)) return true;
    }
    return false;
}

/// With the numbers that the kernel promises of its parameters (`tl.assume(stride == 32)`) in their places.
static const Poly *as_promised(Check *check, const Poly *poly) {
    for (LIST_EACH(int, i, check->ops)) {
        const Op *promise = check->ops.items[i];
        const Op *equal =
            promise->code == OP_ASSUME && promise->operands[0] ? promise->operands[0]->op : NULL;
        int64_t number;
        if (!equal || equal->code != OP_EQ || !check_is_parameter(equal->operands[0]) ||
            !value_is_int(equal->operands[1], &number))
            continue;
        poly = poly_substitute(check->arena, poly, equal->operands[0],
                               poly_constant(check->arena, number));
    }
    return poly;
}

/// Whether the kernel promises that rows are at least as long as the tile, so that lanes past the data's end have a place in them.
static bool is_padded_by_promise(Check *check, const Access *access, const Bound *bound) {
    const Affine *offset = &access->offset;
    Type tile = access->op->operands[0]->type;
    if (!offset->known || bound->index->type.rank != 1 || !bound->index->type.dims[0]) return false;
    for (int k = 0; k < offset->rank && k < tile.rank; k++) {
        int64_t length, step, room;
        if (!tile.dims[k] || !poly_equal(tile.dims[k], bound->index->type.dims[0]) ||
            !poly_is_constant(as_promised(check, tile.dims[k]), &length) ||
            !poly_is_constant(as_promised(check, offset->lane[k]), &step))
            continue;
        for (int other = 0; other < offset->rank; other++)
            if (other != k && poly_is_constant(as_promised(check, offset->lane[other]), &room) &&
                step > 0 && room >= step * length)
                return true;
    }
    return false;
}

/// What a number is with the whole numbers of a launch; 0 where that is open.
static int64_t number_at(Check *check, const ConcreteLaunch *launch, const Poly *poly) {
    int64_t number;
    for (int p = 0; p < check->function->parameter_count && p < launch->argument_count; p++) {
        const ConcreteArgument *argument = &launch->arguments[p];
        if (argument->kind == CONCRETE_SCALAR && argument->constant.kind == CONSTANT_INT)
            poly = poly_substitute(check->arena, poly, check->function->parameters[p].value,
                                   poly_constant(check->arena, argument->constant.integer));
    }
    return poly_is_constant(poly, &number) ? number : 0;
}

/// Whether every launch of the file computes the parameter as a whole number of tiles.
static bool is_rounded_at_launches(Check *check, const Value *stride, const Poly *length) {
    const FunctionDefinition *kernel = check->kernel->definition;
    bool any = false;
    for (LIST_EACH(int, i, kernel->module->launches)) {
        const LaunchSite *site = &kernel->module->launches.items[i];
        if (site->kernel != kernel) continue;
        if (check->skips_trials) return true;  // said once somebody has time to look
        const HostPolicy policy = {.keep_blocks = true, .function = check->function};
        const HostLaunch *launch = host_launch(kernel->module, site, &policy);
        if (!launch->is_reached || stride->index >= launch->argument_count) return false;
        const HostValue *value = launch->arguments[stride->index].value;
        const ConcreteLaunch *numbers = host_concretize(check->arena, launch);
        const ConcreteArgument *argument = &numbers->arguments[stride->index];
        int64_t tile = number_at(check, numbers, length);
        if (!value || value->kind != HOST_OPERATION || argument->kind != CONCRETE_SCALAR ||
            argument->constant.kind != CONSTANT_INT || tile < 2 ||
            argument->constant.integer % tile)
            return false;
        any = true;
    }
    return any;
}

/// Whether rows are as long as a number that launches round up to whole tiles: lanes past the data's end have a place in them.
static bool is_padded_by_launch(Check *check, const Access *access, const Bound *bound) {
    if (!access->offset.known || bound->index->type.rank != 1 || !bound->index->type.dims[0])
        return false;
    const Poly *base = access->offset.base;
    for (int t = 0; t < base->count; t++)
        for (int a = 0; base->terms[t].atom_count > 1 && a < base->terms[t].atom_count; a++) {
            const Value *atom = base->terms[t].atoms[a];
            bool is_size = check_is_parameter(atom) && atom->type.kind == TYPE_NUMBER &&
                           !atom->type.is_constexpr;
            if (is_size && is_rounded_at_launches(check, atom, bound->index->type.dims[0]))
                return true;
        }
    return false;
}

/// Whether the tensor's axis that the index moves along is a whole number of tiles, and none shorter than the bound, in one launch.
static bool is_axis_whole(Check *check, const ConcreteLaunch *launch, const Access *access,
                          const Bound *bound, int lane) {
    enum { SHORTEST = 8 };  // a shorter tile divides sizes by chance
    const bool is_less = bound->op->code == OP_LT || bound->op->code == OP_LE;
    const Affine limit = affine_of(check->arena, bound->op->operands[is_less ? 1 : 0]);
    int64_t length = number_at(check, launch, access->op->operands[0]->type.dims[lane]);
    int64_t step = number_at(check, launch, access->offset.lane[lane]);
    int64_t least = limit.known ? number_at(check, launch, limit.base) : 0;
    const ConcreteArgument *tensor = &launch->arguments[access->parameter->index];
    int axis = -1;
    if (length < 2 || step < 1 || least < 1 || tensor->kind != CONCRETE_TENSOR) return false;
    for (int i = 0; i < tensor->rank; i++) {
        if (tensor->strides[i] != step) continue;
        if (axis >= 0) return false;
        axis = i;
    }
    return axis >= 0 && tensor->dims[axis] >= least && tensor->dims[axis] % length == 0 &&
           (length >= SHORTEST || tensor->dims[axis] == length);
}

static bool is_axis_whole_at(Check *check, const LaunchSite *site, const Access *access,
                             const Bound *bound, int lane) {
    static const struct {
        HostSizes sizes;
        uint64_t seed;
    } choices[] = {{HOST_SIZES_USUAL, 0}, {HOST_SIZES_TALL, 0}, {HOST_SIZES_USUAL, 1}};
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        const HostPolicy policy = {.keep_blocks = true,
                                   .function = check->function,
                                   .sizes = choices[i].sizes,
                                   .seed = choices[i].seed};
        const HostLaunch *launch = host_launch(site->kernel->module, site, &policy);
        if (!launch->is_reached || access->parameter->index >= launch->argument_count ||
            !is_axis_whole(check, host_concretize(check->arena, launch), access, bound, lane))
            return false;
    }
    return true;
}

/// Whether every launch of the file passes a tensor that has a place for all lanes of the tile: one that was padded to whole blocks,
/// or one whose own size is the tile's length.
static bool is_whole_at_launches(Check *check, const Access *access, const Bound *bound) {
    const FunctionDefinition *kernel = check->kernel->definition;
    const Type tile = access->op->operands[0]->type;
    if (!access->parameter || !access->offset.known || bound->index->type.rank != 1 || !kernel)
        return false;
    for (int lane = 0; lane < access->offset.rank && lane < tile.rank; lane++) {
        int64_t zero;
        bool any = false, all = true;
        if (!tile.dims[lane] || !poly_equal(tile.dims[lane], bound->index->type.dims[0]) ||
            (poly_is_constant(access->offset.lane[lane], &zero) && !zero))
            continue;
        for (LIST_EACH(int, i, kernel->module->launches)) {
            const LaunchSite *site = &kernel->module->launches.items[i];
            if (site->kernel != kernel || !all) continue;
            if (check->skips_trials) return true;  // said once somebody has time to look
            any = true;
            all = is_axis_whole_at(check, site, access, bound, lane);
        }
        if (any && all) return true;
    }
    return false;
}

static bool is_written(const Op *op) { return (op_rows[op->code].effects & EFFECT_WRITES) != 0; }

static void report_unmasked(Check *check, const Access *access, const Bound *bound) {
    const char *name = check_name(check, bound->index);
    Diagnostic *said;
    if (access->mask && !value_is_none(access->mask))
        said = check_report(
            check, DIAGNOSTIC_INCOMPLETE_MASK, access->op,
            "the mask does not bound %s, which is bounded elsewhere: lanes past the end %s out of bounds",
            name, is_written(access->op) ? "write" : "read");
    else if (is_written(access->op))
        said = check_report(
            check, DIAGNOSTIC_UNMASKED_STORE, access->op,
            "no mask, though %s is bounded elsewhere: lanes past the end write out of bounds",
            name);
    else
        said = check_report(
            check, DIAGNOSTIC_UNMASKED_LOAD, access->op,
            "no mask, though %s is bounded elsewhere: lanes past the end read out of bounds", name);
    check_relate(check, said, bound->op, "bounded here");
}

/// The loop that moves the pointer on from where the loop around the access has left its own: it takes the rest. NULL: none.
static const Op *loop_going_on(const Access *access, const Value *pointer) {
    const Value *from = access->op->operands[0];
    const Op *loop = carrying_loop(from), *later = carrying_loop(pointer);
    bool goes_on =
        loop && later && loop->results[from->index - 1] == later->operands[pointer->index + 2];
    return goes_on ? later : NULL;
}

/// Whether the bound's mask chooses among elements that are there: the same ones are also loaded without it, or those before them.
static bool is_selection(Check *check, const Access *access, const Bound *bound) {
    if (access->op->code != OP_LOAD) return false;
    for (LIST_EACH(int, i, check->memory)) {
        const Access *other = check->memory.items[i];
        Op *leaves[MASK_MOST_PARTS];
        bool all;
        if (other == access || other->op->code != OP_LOAD || !other->mask) continue;
        bool is_same = access->parameter && other->parameter == access->parameter &&
                       access->offset.known && same_form(&other->offset, &access->offset);
        const Op *later = is_same ? NULL : loop_going_on(access, other->op->operands[0]);
        if (!is_same && !later) continue;
        int count = mask_leaves(other->mask, leaves, &all);
        for (int k = 0; k < count; k++) {
            Bound own;
            // in a later loop the bound is the rest's where it moves with that loop
            if (later ? read_bound(check, leaves[k], &own) && own.index == bound->index &&
                            value_depends_on(check->arena, leaves[k]->results[0],
                                             later->regions[0]->arguments[0], NULL)
                      : leaves[k] == bound->op)
                return true;
        }
    }
    return false;
}

static intptr_t is_loaded(ValueWalk *walk, const Value *value) {
    const Op *op = value ? value->op : NULL;
    if (!op || op->code == OP_LOAD) return op != NULL;
    for (int i = 0; i < op->operand_count; i++)
        if (walk_ask(walk, op->operands[i])) return true;
    return false;
}

/// Whether the bound's limit is a number that the kernel reads: how much of a row counts, in a tensor that has room for others.
static bool is_bound_of_contents(const Bound *bound) {
    const bool is_less = bound->op->code == OP_LT || bound->op->code == OP_LE;
    return walk_from(bound->op->operands[is_less ? 1 : 0], is_loaded, false, NULL);
}

/// Whether all lanes of the bound's index are within some limit by a branch around the access, or by its mask.
static bool is_guarded(Check *check, const Access *access, const MemoryBounds *bounds,
                       const Bound *bound) {
    Op *leaves[MASK_MOST_PARTS];
    bool all;
    int count = access->mask ? mask_leaves(access->mask, leaves, &all) : 0;
    for (int b = 0; b < bounds->count; b++) {
        const Bound *other = &bounds->items[b];
        if (other != bound && !same_form(&other->form, &bound->form)) continue;
        if (guard_covers(check->arena, access->op, other->op)) return true;
        for (int i = 0; i < count; i++)
            if (guard_is_same(check->arena, leaves[i], other->op)) return true;
    }
    return false;
}

static void check_constant_mask(Check *check, const Bound *bound) {
    if (bound->trivial)
        check_report(check, DIAGNOSTIC_MASK_ALWAYS_TRUE, bound->op,
                     "%s is always within this bound", check_name(check, bound->index));
}

static bool is_inside(const Op *op, const Region *region) {
    for (const Region *around = op->parent; around && around->parent;
         around = around->parent->parent)
        if (around == region) return true;
    return false;
}

/// Whether some instances have the access in another form, or may be made for sizes that need no mask: then nothing is said. Where all
/// accesses of the parameter are in the branch, the branch says only whether there is such a tensor.
static bool is_variant(Check *check, const Access *access) {
    if (!check_is_optional(access->op)) return false;
    if (!access->parameter) return true;
    for (const Region *region = access->op->parent; region && region->parent;
         region = region->parent->parent) {
        if (region->parent->code != OP_IF || !region->parent->operands[0]->type.is_constexpr)
            continue;
        for (LIST_EACH(int, i, check->memory)) {
            const Access *other = check->memory.items[i];
            bool is_its = !other->parameter || other->parameter == access->parameter;
            if (is_its && !is_inside(other->op, region)) return true;
        }
    }
    return false;
}

void check_masks(Check *check) {
    MemoryBounds *bounds = ARENA_NEW(check->arena, MemoryBounds);
    collect_bounds(check, bounds);
    for (int b = 0; b < bounds->count; b++) check_constant_mask(check, &bounds->items[b]);
    for (LIST_EACH(int, i, check->memory)) {
        const Access *access = check->memory.items[i];
        if (access->op->operands[0]->type.kind != TYPE_POINTER || is_variant(check, access))
            continue;
        for (int b = 0; b < bounds->count; b++) {
            const Bound *bound = &bounds->items[b];
            if (bound->trivial || check_is_optional(bound->op) ||
                guard_always_holds(check->arena, bound->op))
                continue;
            if (!walk_from(access->op->operands[0], pointer_uses, false, bound->index)) continue;
            if (is_padded_to_tile(check, access, bound) || is_selection(check, access, bound) ||
                is_padded_by_promise(check, access, bound))
                continue;
            Value *mask = access->mask && !value_is_none(access->mask) ? access->mask : NULL;
            if (mask ? mask_covers(check, mask, bound) : is_padded_by_launch(check, access, bound))
                continue;
            if ((access->op->code == OP_LOAD && is_bound_of_contents(bound)) ||
                is_guarded(check, access, bounds, bound) ||
                is_whole_at_launches(check, access, bound))
                continue;
            report_unmasked(check, access, bound);
            break;
        }
    }
}

/* ---- what masked lanes read ---- */

typedef struct Flow {
    const Value *value;
    bool nonlinear;  // went through exp, log or a denominator
    bool is_scaled;  // was multiplied by another tile, which may hold zeros there
} Flow;

/// Whether rows stand one behind the other in what is compared, and the kernel bounds their number, too: the mask ends between rows.
static bool ends_between_rows(Check *check, const Affine *form, Type tile, int lane) {
    const Poly *length = tile.dims[lane + tile.rank - form->rank];
    int64_t one;
    if (form->rank != 2 || lane != 1 || !length || !poly_is_constant(form->lane[1], &one) ||
        one != 1)
        return false;
    MemoryBounds *bounds = ARENA_NEW(check->arena, MemoryBounds);
    collect_bounds(check, bounds);
    for (int b = 0; b < bounds->count; b++) {
        const Affine *rows = &bounds->items[b].form;
        if (rows->rank == 1 &&
            poly_equal(poly_multiply(check->arena, rows->base, length), form->base) &&
            poly_equal(poly_multiply(check->arena, rows->lane[0], length), form->lane[0]))
            return true;
    }
    return false;
}

/// Whether the mask differs along `axis` of the loaded tile.
static bool mask_varies(Check *check, Value *mask, int axis, int rank) {
    Op *leaves[MASK_MOST_PARTS];
    bool all;
    int count = mask_leaves(mask, leaves, &all);
    for (int i = 0; i < count; i++)
        for (int side = 0; side < 2; side++) {
            Affine form = affine_of(check->arena, leaves[i]->operands[side]);
            int64_t zero;
            int lane = axis - (rank - form.rank);
            if (form.known && lane >= 0 && lane < form.rank &&
                (!poly_is_constant(form.lane[lane], &zero) || zero) &&
                rank == leaves[i]->results[0]->type.rank &&
                !ends_between_rows(check, &form, leaves[i]->results[0]->type, lane))
                return true;
        }
    return false;
}

static bool reduces_axis(Check *check, const Op *op, Value *mask, int rank) {
    if (rank == 1) return true;
    Value *axis_value = check_operand(op, "axis");
    int64_t axis;
    if (!axis_value || !value_is_int(axis_value, &axis)) return false;
    return mask_varies(check, mask, (int)(axis < 0 ? axis + rank : axis), rank);
}

/// Whether a product adds up along an axis of the tile that the mask differs along.
static bool contracts_axis(Check *check, const Op *dot, const Value *tile, Value *mask) {
    int rank = tile->type.rank;
    return rank >= 2 && ((dot->operands[0] == tile && mask_varies(check, mask, rank - 1, rank)) ||
                         (dot->operands[1] == tile && mask_varies(check, mask, rank - 2, rank)));
}

/// What a loop or a branch gives where its region ends with the value.
static const Value *carried_on(const Op *yield, const Value *value) {
    const Op *owner = yield->parent->parent;
    if (!owner || (!op_is_loop(owner->code) && owner->code != OP_IF)) return NULL;
    for (int i = 0; i < yield->operand_count && i < owner->result_count; i++)
        if (yield->operands[i] == value) return owner->results[i];
    return NULL;
}

/// What `use` does with an undefined lane: NULL harmless, otherwise the word for the message; `*next` where it goes on.
static const char *harm_of(Check *check, const Op *use, const Flow *flow, Value *mask, Flow *next) {
    int rank = flow->value->type.rank;
    *next = (Flow){.nonlinear = flow->nonlinear, .is_scaled = flow->is_scaled};
    switch (use->code) {
    case OP_MAX: return reduces_axis(check, use, mask, rank) ? "a maximum" : NULL;
    case OP_MIN: return reduces_axis(check, use, mask, rank) ? "a minimum" : NULL;
    case OP_ARGMAX: return reduces_axis(check, use, mask, rank) ? "an argmax" : NULL;
    case OP_ARGMIN: return reduces_axis(check, use, mask, rank) ? "an argmin" : NULL;
    case OP_SUM:
        if ((flow->is_scaled && !flow->nonlinear) || !reduces_axis(check, use, mask, rank))
            return NULL;
        return flow->nonlinear ? "a sum of exponentials or quotients" : "a sum";
    case OP_DOT: return contracts_axis(check, use, flow->value, mask) ? "a product's sums" : NULL;
    case OP_YIELD: next->value = carried_on(use, flow->value); return NULL;
    case OP_EXP:
    case OP_EXP2:
    case OP_LOG:
    case OP_LOG2:
    case OP_RSQRT: next->nonlinear = true; break;
    case OP_DIV:
        if (use->operands[1] == flow->value) next->nonlinear = true;
        break;
    case OP_MUL: {
        const Value *by = use->operands[use->operands[0] == flow->value];
        next->is_scaled |= by != flow->value && by->type.rank > 0;
        break;
    }
    case OP_CAST:
    case OP_ADD:
    case OP_SUB:
    case OP_NEG:
    case OP_ABS:
    case OP_SIGMOID:
    case OP_SQRT: break;
    default: return NULL;
    }
    if (use->results[0]->type.rank == rank) next->value = use->results[0];
    return NULL;
}

static void trace_masked(Check *check, const Access *access) {
    LIST(Flow) work = {0};
    LIST_PUSH(check->arena, &work, (Flow){access->op->results[0], false, false});
    for (int i = 0; i < work.count && work.count < TRACE_LIMIT; i++) {
        Flow flow = work.items[i];
        const Uses *uses = check_uses(check, flow.value);
        for (LIST_EACH(int, u, uses->list)) {
            Flow next;
            const Op *use = uses->list.items[u];
            const char *harm = harm_of(check, use, &flow, access->mask, &next);
            if (harm) {
                Diagnostic *said = check_report(
                    check, DIAGNOSTIC_MISSING_OTHER, access->op,
                    "masked lanes hold anything, and they go into %s: give `other`", harm);
                check_relate(check, said, use, "used here");
                return;
            }
            if (next.value) LIST_PUSH(check->arena, &work, next);
        }
    }
}

void check_masked_values(Check *check) {
    for (LIST_EACH(int, i, check->memory)) {
        const Access *access = check->memory.items[i];
        if (access->op->code != OP_LOAD || !access->mask || access->mask->constant ||
            access->mask->type.rank == 0)
            continue;
        if (access->op->operands[0]->type.kind != TYPE_POINTER ||
            check_operand(access->op, "other"))
            continue;
        trace_masked(check, access);
    }
}

/* ---- races ---- */

static bool guarded_by(Check *check, const Op *op, int axis) {
    for (const Op *outer = op->parent->parent; outer; outer = outer->parent->parent) {
        int operands =
            outer->code == OP_FOR || outer->code == OP_STATIC_FOR ? 3 : outer->operand_count;
        if (outer->code != OP_IF && !op_is_loop(outer->code)) continue;
        for (int i = 0; i < operands; i++)
            if (outer->operands[i] && check_depends_on_program(check, outer->operands[i], axis))
                return true;
        if (outer->code == OP_WHILE) return true;
    }
    return false;
}

static bool has_locks(const Check *check) {
    for (LIST_EACH(int, i, check->ops)) {
        OpCode code = check->ops.items[i]->code;
        if (code == OP_ATOMIC_CAS || code == OP_ATOMIC_XCHG) return true;
    }
    return false;
}

/// Whether some launch in the file has one program along the axis.
static bool is_launched_once(const Check *check, int axis) {
    const Module *module = check->kernel->definition->module;
    for (LIST_EACH(int, i, module->launches)) {
        const LaunchSite *site = &module->launches.items[i];
        SyntaxNode grid = site->grid;
        if (site->kernel != check->kernel->definition) continue;
        if (node_kind(grid) == SYNTAX_IDENTIFIER && site->launcher)
            grid = launcher_binding(site->launcher, node_text(module->source, grid));
        if (node_is_null(grid) || node_kind(grid) != SYNTAX_TUPLE) continue;
        if ((uint32_t)axis >= node_child_count(grid)) return true;
        if (str_is(node_text(module->source, node_child(grid, (uint32_t)axis)), "1")) return true;
    }
    return false;
}

static bool mentions_size(const HostValue *value) {
    if (value->kind == HOST_SIZE || value->kind == HOST_INPUT) return true;
    for (int i = 0; value->kind == HOST_OPERATION && i < value->count; i++)
        if (mentions_size(value->items[i])) return true;
    return false;
}

/// Whether a number comes of a quotient by a number in the text, which only small sizes make 1.
static bool has_fixed_divisor(const HostValue *value) {
    if (value->kind != HOST_OPERATION) return false;
    bool divides = value->operation == HOST_OP_CDIV || value->operation == HOST_OP_FLOOR_DIVIDE ||
                   value->operation == HOST_OP_DIVIDE;
    if (divides && !mentions_size(value->items[1])) return true;
    for (int i = 0; i < value->count; i++)
        if (has_fixed_divisor(value->items[i])) return true;
    return false;
}

static bool is_one_size(const HostValue *a, const HostValue *b) {
    return a == b || (a->kind == HOST_SIZE && b->kind == HOST_SIZE && a->input == b->input &&
                      a->axis == b->axis);
}

/// Whether a number is at least a size by the way that it is computed: max(next_power_of_2(x.shape[1]), 16).
static bool is_at_least(const HostValue *number, const HostValue *size) {
    if (is_one_size(number, size)) return true;
    if (number->kind != HOST_OPERATION) return false;
    if (number->operation == HOST_OP_NEXT_POWER_OF_2) return is_at_least(number->items[0], size);
    return number->operation == HOST_OP_MAXIMUM &&
           (is_at_least(number->items[0], size) || is_at_least(number->items[1], size));
}

/// Whether there is one program along the axis however large tensors are: all of a size fits its block.
static bool is_one_program(const HostLaunch *launch, int axis) {
    const HostValue *programs = axis < launch->grid_rank ? launch->grid[axis] : NULL;
    return programs && programs->kind == HOST_OPERATION && programs->operation == HOST_OP_CDIV &&
           is_at_least(programs->items[1], programs->items[0]);
}

/// Whether each launch of the file has one program along the axis, however large its tensors are.
static bool is_always_launched_once(Check *check, int axis) {
    const Module *module = check->kernel->definition->module;
    const HostPolicy policy = {.sizes = HOST_SIZES_LARGE, .function = check->function};
    int seen = 0;
    for (LIST_EACH(int, i, module->launches)) {
        const LaunchSite *site = &module->launches.items[i];
        if (site->kernel != check->kernel->definition) continue;
        const HostLaunch *launch = host_launch(module, site, &policy);
        int64_t programs = 1;
        seen++;
        if (is_one_program(launch, axis)) continue;
        if (!launch->is_reached || launch->grid_rank == 0) return false;
        if (axis < launch->grid_rank &&
            (!host_int(launch->grid[axis], &programs) || has_fixed_divisor(launch->grid[axis])))
            return false;
        if (programs != 1) return false;
    }
    return seen > 0;
}

static void check_race(Check *check, const Access *access) {
    Axis axes[ACCESS_MOST_AXES];
    AxisDependence dependence[ACCESS_MOST_AXES];
    Value *value = check_operand(access->op, "value");
    int count = access_axes(check->arena, &check->axes, access, axes, dependence, ACCESS_MOST_AXES);
    for (int i = 0; i < count && value; i++) {
        int axis = axes[i].program_axis;
        if (!axes[i].is_program || dependence[i] != AXIS_FREE) continue;
        if (!check_depends_on_program(check, value, axis) || guarded_by(check, access->op, axis))
            continue;
        if (check_depends_on_program(check, access->op->operands[0], axis)) continue;
        if (access->mask && check_depends_on_program(check, access->mask, axis)) continue;
        if (is_launched_once(check, axis) || is_always_launched_once(check, axis) ||
            check_may_be_pruned_to_one(check, axis))
            continue;
        Diagnostic *said = check_report(
            check, DIAGNOSTIC_RACING_STORE, access->op,
            "all programs along axis %d store different values to the same address of %s", axis,
            access->parameter->name);
        check_relate(check, said, check->axes.programs[axis]->op,
                     "the value depends on this program id");
        return;
    }
}

void check_races(Check *check) {
    if (!check->is_entry || has_locks(check)) return;
    for (LIST_EACH(int, i, check->memory)) {
        const Access *access = check->memory.items[i];
        bool plain = access->op->code == OP_STORE || access->op->code == OP_DESCRIPTOR_STORE;
        if (plain && !check_is_optional(access->op) && access->parameter && access->offset.known &&
            !access->offset.wrapped)
            check_race(check, access);
    }
}
