// What the stores of a kernel make up together of a gradient's buffer: Python for the launcher to compare with the tensor's own strides
// and sizes. Whatever is not understood says nothing, and the buffer is zeroed as ever.
#include "autodiff/schedule/coverage.h"

#include <string.h>

#include "analysis/build/build.h"
#include "analysis/build/value_poly.h"
#include "analysis/ir/type.h"
#include "autodiff/extents/element_ranges.h"
#include "autodiff/rewrite/rewrite.h"

enum { MOST_DEEP = 6 };  // operations between a number and the count of programs in it

/// Leaves the stores that are always made, or where there are none, those of the first one's flags.
static int of_one_case(ElementRanges *covers, int count) {
    const char *flags = count ? covers[0].flags : NULL;
    int kept = 0;
    for (int i = 0; i < count; i++)
        if (!covers[i].flags) flags = NULL;
    for (int i = 0; i < count; i++) {
        const char *own = covers[i].flags;
        if (flags ? own && strcmp(own, flags) == 0 : !own) covers[kept++] = covers[i];
    }
    return kept;
}

static bool same_ranges(const ElementRanges *a, const ElementRanges *b) {
    bool same = a->count == b->count;
    for (int i = 0; same && i < a->count; i++)
        same = strcmp(a->ranges[i].step, b->ranges[i].step) == 0 &&
               strcmp(a->ranges[i].length, b->ranges[i].length) == 0;
    return same;
}

/// Which of the covers starts at `base`; -1: none.
static int cover_at(const ElementRanges *covers, int count, const Poly *base) {
    for (int i = 0; i < count; i++)
        if (poly_equal(covers[i].base, base)) return i;
    return -1;
}

/// Covers, all of the same ranges, in rows of `counts[0]` from 0 on, `steps[0]` apart, and of these `counts[1]`, `steps[1]` apart.
typedef struct CoverGrid {
    const Poly *steps[2];
    int counts[2];
} CoverGrid;

static bool is_grid(Arena *arena, const ElementRanges *covers, int count,
                    const ElementRanges *first, const CoverGrid *grid) {
    for (int i = 0; i < grid->counts[0]; i++)
        for (int k = 0; k < grid->counts[1]; k++) {
            const Poly *at =
                poly_add(arena, poly_multiply(arena, grid->steps[0], poly_constant(arena, i)),
                         poly_multiply(arena, grid->steps[1], poly_constant(arena, k)));
            int cover = cover_at(covers, count, at);
            if (cover < 0 || !same_ranges(&covers[cover], first)) return false;
        }
    return true;
}

/// One store that begins at the first element where the launch has as many programs as the kernel takes for granted: rows from the last one on
/// (`rows - 1 - program`). Else nothing is said.
static bool begin_at_first(const StoredSearch *coverage, const ElementRanges *cover,
                           ElementRanges *all) {
    const char *text = poly_text(coverage, cover->base);
    bool is_by_programs = false;
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        is_by_programs = is_by_programs || poly_mentions(cover->base, coverage->extents[axis]);
    if (!text || !is_by_programs || cover->base->count < 2) return false;
    *all = *cover;
    return add_range(all, "0",
                     arena_printf(coverage->arena, "max(1 - max(%s, -(%s)), 0)", text, text));
}

/// Stores side by side, at equal distances from 0 on, as one with a further range, or with two: the corners of a window.
static bool join_covers(const StoredSearch *coverage, ElementRanges *covers, int count,
                        ElementRanges *all) {
    Arena *arena = coverage->arena;
    int first = cover_at(covers, count, poly_constant(arena, 0));
    if (first < 0) return count == 1 && begin_at_first(coverage, covers, all);
    *all = covers[first];
    for (int i = 0; i < count * count; i++) {
        int row = i % count, column = i / count;
        for (int rows = count; rows > 1; rows--) {
            CoverGrid grid = {{covers[row].base, covers[column].base}, {rows, count / rows}};
            bool is_row = rows == count;
            if (row == first || count % rows || (is_row ? column != first : column == first) ||
                !is_grid(arena, covers, count, &covers[first], &grid))
                continue;
            for (int k = 0; k < (is_row ? 1 : 2); k++)
                if (!add_range(all, poly_text(coverage, grid.steps[k]),
                               arena_printf(arena, "%d", grid.counts[k])))
                    return false;
            return true;
        }
    }
    return true;
}

typedef struct GradientStores {
    Arena *arena;
    const Value *gradient;
    Op *stores[STORED_MOST_STORES], *loads[STORED_MOST_STORES];
    int count, load_count;
    bool may_load;  // where it stores
    bool is_more;   // something else is done with the buffer
} GradientStores;

/// Whether a store has the place and the mask of the load.
static bool is_stored_where_loaded(const GradientStores *found, Op *load) {
    Access loaded = access_of(found->arena, load);
    for (int i = 0; i < found->count; i++) {
        Access stored = access_of(found->arena, found->stores[i]);
        if (found->stores[i]->operands[0] == load->operands[0] && stored.mask == loaded.mask)
            return true;
    }
    return false;
}

static bool visit_store(void *context, Op *op) {
    GradientStores *found = context;
    if (!op_is_access(op)) return true;
    Access access = access_of(found->arena, op);
    if (access.parameter != found->gradient) return true;
    if (op->code == OP_STORE && found->count < STORED_MOST_STORES)
        found->stores[found->count++] = op;
    else if (op->code == OP_LOAD && found->may_load && found->load_count < STORED_MOST_STORES)
        found->loads[found->load_count++] = op;
    else
        found->is_more = true;
    return true;
}

static bool is_same_cover(const ElementRanges *a, const ElementRanges *b) {
    return !a->flags && !b->flags && poly_equal(a->base, b->base) && same_ranges(a, b);
}

/// What a later statement stores again is there once.
static int without_repeats(ElementRanges *covers, int count) {
    int left = 0;
    for (int i = 0; i < count; i++) {
        bool is_repeat = false;
        for (int k = 0; k < left; k++) is_repeat |= is_same_cover(&covers[k], &covers[i]);
        if (!is_repeat) covers[left++] = covers[i];
    }
    return left;
}

static const char *stored_text(StoredSearch *coverage, Function *backward, const Value *gradient,
                               bool may_load) {
    Arena *arena = coverage->arena;
    GradientStores found = {.arena = arena, .gradient = gradient, .may_load = may_load};
    region_walk(backward->body, visit_store, &found);
    if (found.is_more || found.count == 0) return NULL;
    for (int i = 0; i < found.load_count; i++)
        if (!is_stored_where_loaded(&found, found.loads[i])) return NULL;
    ElementRanges *covers = ARENA_ARRAY(arena, ElementRanges, found.count), all;
    int count = 0;
    for (int i = 0; i < found.count; i++)
        count += element_ranges(coverage, found.stores[i], &covers[count]);
    count = without_repeats(covers, of_one_case(covers, count));
    if (!join_covers(coverage, covers, count, &all) || (all.flags && may_load)) return NULL;
    Buffer out = buffer_new(arena);
    for (int i = 0; i < all.count; i++)
        buffer_printf(&out, "%s(%s, %s)", i ? ", " : "", all.ranges[i].step, all.ranges[i].length);
    if (!all.flags) return arena_printf(arena, "[%s]", buffer_text(&out));
    return arena_printf(arena, "[%s] if %s else None", buffer_text(&out), all.flags);
}

typedef struct SlicesSearch {
    StoredSearch *coverage;
    const Value *most;
    Value *count;  // of the programs that share the slices
} SlicesSearch;

static bool visit_slices(void *context, Op *op) {
    SlicesSearch *search = context;
    if (op->code != OP_MINIMUM) return true;
    for (int i = 0; i < 2; i++) {
        if (op->operands[i] == search->most) search->count = op->operands[1 - i];
    }
    return !search->count;
}

static Value *count_of_sharers(StoredSearch *coverage, const Function *backward,
                               const Value *most) {
    SlicesSearch search = {coverage, most, NULL};
    region_walk(backward->body, visit_slices, &search);
    return search.count;
}

/// The programs that share sums, where these are all along some axes of the grid.
static const char *programs_text(StoredSearch *coverage, Value *count) {
    const char *programs =
        poly_text(coverage, with_programs(coverage, value_poly(coverage->arena, count)));
    const char *at = programs;
    for (; at && str_starts(str_from(at), "grid."); at += strlen(" * ")) {
        at += strlen("grid.0");
        if (!*at) return programs;
        if (!str_starts(str_from(at), " * ")) break;
    }
    return NULL;
}

/// The axis of the grid whose programs a number counts, as far as its operands show; -1: none.
static int counted_axis(const Value *value, int depth) {
    int64_t axis;
    const Op *op = value ? value->op : NULL;
    if (!op || op->region_count || depth > MOST_DEEP) return -1;
    if (op->code == OP_NUM_PROGRAMS && value_is_int(op->operands[0], &axis)) return (int)axis;
    for (int i = 0; i < op->operand_count; i++) {
        int found = counted_axis(op->operands[i], depth + 1);
        if (found >= 0) return found;
    }
    return -1;
}

/// How many programs share a sum at most where a digit of an id tells its owner: `cdiv(programs - digit, digits)` of them. NULL: not known.
static const char *most_text(StoredSearch *coverage, const Value *count) {
    const Op *op = count->op;
    if (!op || (op->code != OP_CDIV && op->code != OP_FLOORDIV)) return NULL;
    const char *digits = poly_text(coverage, value_poly(coverage->arena, op->operands[1]));
    int axis = counted_axis(op->operands[0], 0);
    if (!digits || axis < 0) return NULL;
    bool is_number = digits[0] >= '1' && digits[0] <= '9';
    return arena_printf(coverage->arena, "triton.cdiv(grid.%d, %s%s%s)", axis,
                        is_number ? "" : "max(", digits, is_number ? "" : ", 1)");
}

static const Value *parameter_for(const Function *backward, const BackwardLaunch *launch,
                                  ArgumentUse use, const char *of) {
    for (int i = 0; i < launch->argument_count; i++)
        if (launch->arguments[i].use == use && (!of || strcmp(launch->arguments[i].of, of) == 0))
            return backward->parameters[i].value;
    return NULL;
}

/* ---- what one program stores for all that share a sum ---- */

/// `program < tl.minimum(programs, most)`, which the programs with a share ask.
typedef struct ShareGuard {
    const Value *most;
    Op *branch;
    Value *program;
} ShareGuard;

static bool visit_guard(void *context, Op *op) {
    ShareGuard *guard = context;
    const Op *asks = op->code == OP_IF ? op->operands[0]->op : NULL;
    const Op *slices = asks && asks->code == OP_LT ? asks->operands[1]->op : NULL;
    bool is_it = slices && slices->code == OP_MINIMUM && !op->result_count &&
                 (slices->operands[0] == guard->most || slices->operands[1] == guard->most);
    if (is_it) {
        guard->branch = op;
        guard->program = asks->operands[0];
    }
    return !is_it;
}

/// What is stored where there is one sum: by the programs that are the first of those which share it. NULL: not known.
static const char *alone_text(Arena *arena, const Function *backward, const BackwardLaunch *launch,
                              const Value *gradient, const Value *most) {
    Map values = map_new(arena);
    Function *copy = function_copy(arena, backward, backward->name, &values);
    ShareGuard guard = {.most = map_get_pointer(&values, most)};
    region_walk(copy->body, visit_guard, &guard);
    if (!guard.branch || guard.branch->parent != copy->body) return NULL;
    Region *body = guard.branch->regions[0];
    while (body->first != region_terminator(body)) op_move_before(body->first, guard.branch);
    Builder b = {.function = copy, .region = copy->body, .before = copy->body->first};
    region_replace_uses(copy->body, guard.program, build_int(&b, 0));
    return stored_text(stored_search_new(arena, copy, launch), copy,
                       map_get_pointer(&values, gradient), false);
}

/* ---- what a kernel stores that does not store the zeros around it ---- */

typedef struct FillBranchSearch {
    const Value *flag;
    Op *branch;
} FillBranchSearch;

static bool visit_branch(void *context, Op *op) {
    FillBranchSearch *search = context;
    if (op->code == OP_IF && op->operands[0] == search->flag && !op->result_count)
        search->branch = op;
    return !search->branch;
}

/// What is stored on the other side of the branch on ARGUMENT_FILL. NULL: not known, or there is no such branch.
static const char *unfilled_text(Arena *arena, const Function *backward,
                                 const BackwardLaunch *launch, const BackwardArgument *argument,
                                 const Value *gradient) {
    const Value *fill = parameter_for(backward, launch, ARGUMENT_FILL, argument->of);
    if (!fill) return NULL;
    Map values = map_new(arena);
    Function *copy = function_copy(arena, backward, backward->name, &values);
    FillBranchSearch search = {.flag = map_get_pointer(&values, fill)};
    region_walk(copy->body, visit_branch, &search);
    if (!search.branch || search.branch->region_count < 2) return NULL;
    Region *other = search.branch->regions[1];
    while (other->first != region_terminator(other)) op_move_before(other->first, search.branch);
    op_remove(search.branch);
    return stored_text(stored_search_new(arena, copy, launch), copy,
                       map_get_pointer(&values, gradient), false);
}

void coverage_describe(Arena *arena, Function *backward, BackwardLaunch *launch) {
    StoredSearch *coverage = stored_search_new(arena, backward, launch);
    const Value *most = parameter_for(backward, launch, ARGUMENT_SLICES, NULL);
    const char *programs = NULL;
    for (int i = 0; i < launch->argument_count; i++)
        if (launch->arguments[i].use == ARGUMENT_SLICES) {
            Value *count = count_of_sharers(coverage, backward, most);
            if (!count) continue;
            programs = launch->arguments[i].programs = programs_text(coverage, count);
            if (!programs) launch->arguments[i].most = most_text(coverage, count);
        }
    for (int i = 0; i < launch->argument_count; i++) {
        BackwardArgument *argument = &launch->arguments[i];
        if (argument->use != ARGUMENT_GRADIENT || argument->is_program_sum) continue;
        if (argument->is_parts && !programs && !argument->turns && most)
            argument->alone =
                alone_text(arena, backward, launch, backward->parameters[i].value, most);
        if (argument->is_parts && !programs) continue;
        coverage->most = argument->is_parts ? most : NULL;
        coverage->stride = argument->is_parts
                               ? parameter_for(backward, launch, ARGUMENT_PART_STRIDE, argument->of)
                               : NULL;
        coverage->says_sizes = !argument->is_parts;
        argument->stored = stored_text(coverage, backward, backward->parameters[i].value, false);
        coverage->says_sizes = false;
        argument->unfilled =
            unfilled_text(arena, backward, launch, argument, backward->parameters[i].value);
    }
}

void coverage_outputs(Arena *arena, Function *forward, int count, Backward *result) {
    BackwardLaunch launch = {
        .arguments = ARENA_ARRAY(arena, BackwardArgument, forward->parameter_count + 1),
        .argument_count = forward->parameter_count,
    };
    for (int i = 0; i < forward->parameter_count; i++) {
        BackwardArgument *argument = &launch.arguments[i];
        argument->name = argument->of = forward->parameters[i].name;
        argument->use = i < count ? ARGUMENT_SAME : ARGUMENT_SCRATCH;
    }
    StoredSearch *coverage = stored_search_new(arena, forward, &launch);
    result->stored = ARENA_ARRAY(arena, const char *, count + 1);
    for (int i = 0; i < count && i < forward->parameter_count; i++)
        result->stored[i] = stored_text(coverage, forward, forward->parameters[i].value, true);
}

static void settle_launch(const Backward *result, BackwardLaunch *launch) {
    for (int i = 0; i < launch->argument_count; i++)
        if (!launch_alone(result, launch->arguments[i].name))
            launch->arguments[i].stored = launch->arguments[i].filled = NULL;
}

void coverage_settle(Backward *result) {
    for (int i = 0; i < result->launch_count; i++) settle_launch(result, &result->launches[i]);
    settle_launch(result, &result->whole);
}
