// Copies of a function in which conditions that a launch decides are known: each takes one side of every such branch.
#include "autodiff/sharing/flag_cases.h"

#include "analysis/addresses/strides.h"
#include "analysis/build/infer.h"
#include "analysis/ir/walk.h"
#include "autodiff/rewrite/rewrite.h"
#include "autodiff/sharing/launch_flags.h"

enum { MOST_OPS = 10000 };  // of all copies. Beyond: no cases are told apart

typedef LIST(Op *) Accesses;

/* ---- conditions ---- */

static bool is_of_launch(const Value *condition) {
    return condition->type.rank == 0 && !condition->constant && value_is_of_parameters(condition);
}

bool ops_are_of_different_launches(const Op *a, const Op *b) {
    for (const Region *left = a->parent; left && left->parent; left = left->parent->parent) {
        if (left->parent->code != OP_IF || !is_of_launch(left->parent->operands[0])) continue;
        for (const Region *right = b->parent; right && right->parent; right = right->parent->parent)
            if (right->parent->code == OP_IF && is_of_launch(right->parent->operands[0]) &&
                launch_conditions_exclude(
                    left->parent->operands[0], left == left->parent->regions[0],
                    right->parent->operands[0], right == right->parent->regions[0]))
                return true;
    }
    return false;
}

/// Whether the branch chooses numbers or pointers that addresses are made of.
static bool chooses_places(const Op *op) {
    for (int i = 0; i < op->result_count; i++) {
        Type type = op->results[i]->type;
        if (type.kind == TYPE_POINTER) return true;
        if (type.kind == TYPE_NUMBER && dtype_is_integer(type.element)) return true;
    }
    return false;
}

typedef struct SideSearch {
    LaunchFlagList flags;
    int ops;
} SideSearch;

static bool visit_flag(void *context, Op *op) {
    SideSearch *search = context;
    search->ops++;
    if (op->code != OP_IF || !chooses_places(op) || !is_of_launch(op->operands[0])) return true;
    launch_flags_add(&search->flags, op->operands[0]);
    return true;
}

/* ---- one case ---- */

typedef struct Listing {
    Arena *arena;
    Accesses *ops;
} Listing;

static bool visit_listed(void *context, Op *op) {
    Listing *listing = context;
    if (op->code == OP_LOAD || op->code == OP_ATOMIC_ADD)
        LIST_PUSH(listing->arena, listing->ops, op);
    return true;
}

/// Loads and additions, which a copy has in the same order.
static Accesses accesses_of(Arena *arena, const Function *function) {
    Accesses ops = {0};
    Listing listing = {arena, &ops};
    region_walk(function->body, visit_listed, &listing);
    return ops;
}

/// Puts what the side does in place of the branch.
static void take_side(Function *function, Op *branch, int side) {
    Region *taken = branch->regions[side];
    Op *end = region_terminator(taken);
    for (Op *op = taken->first, *next; op && op != end; op = next) {
        next = op->next;
        op_move_before(op, branch);
    }
    for (int i = 0; i < branch->result_count; i++)
        region_replace_uses(function->body, branch->results[i], end->operands[i]);
    op_remove(branch);
}

/// Takes the sides that the values of the flags choose. Flags of the copy.
static void take_sides(Function *function, Region *region, const LaunchFlagList *flags,
                       unsigned values) {
    for (Op *op = region->first, *next; op; op = next) {
        next = op->next;
        int holds = op->code == OP_IF ? launch_condition_value(flags, values, op->operands[0]) : -1;
        if (holds < 0) {
            for (int i = 0; i < op->region_count; i++)
                take_sides(function, op->regions[i], flags, values);
            continue;
        }
        Op *first = op->regions[!holds]->first;
        next = first == region_terminator(op->regions[!holds]) ? op->next : first;
        take_side(function, op, !holds);
    }
}

/* ---- digits that nobody reads ---- */

typedef struct Remainders {
    const Map *readers;
    LIST(Op *) all;
    const Value *divisor;
} Remainders;

/// Whether all that reads the number takes its remainder by one divisor.
static bool find_remainders(Arena *arena, const Value *number, Remainders *found) {
    const OpList *ops = value_readers(found->readers, number);
    for (int i = 0; i < ops->count; i++) {
        Op *op = ops->items[i];
        if (op->code == OP_CAST && op_keeps_numbers(op)) {
            if (!find_remainders(arena, op->results[0], found)) return false;
            continue;
        }
        bool is_other = found->divisor && found->divisor != op->operands[1];
        if (op->code != OP_MOD || op->operands[0] != number || is_other ||
            !value_is_of_parameters(op->operands[1]))
            return false;
        found->divisor = op->operands[1];
        LIST_PUSH(arena, &found->all, op);
    }
    return true;
}

/// Where a kernel reads of a row's number `x` nothing but `x % c`, programs that have one remainder do the same: those stand for them in
/// which the number is the remainder. Whether there are any.
static bool take_first_copies(Arena *arena, Function *function) {
    bool any = false;
    FunctionAxes axes = function_axes(arena, function);
    Map readers = function_readers(arena, function);
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        for (int digit = 0; digit < TILE_MOST_DIGITS; digit++) {
            Value *number = axes.tiles[axis][digit];
            Remainders found = {.readers = &readers};
            if (!number || !find_remainders(arena, number, &found)) continue;
            any = any || found.all.count > 0;
            for (LIST_EACH(int, i, found.all))
                region_replace_uses(function->body, found.all.items[i]->results[0], number);
        }
    return any;
}

static SharingView view_of_case(Arena *arena, const SharingView *view, const SideSearch *search,
                                unsigned values) {
    Map copied = map_new(arena);
    Function *function = function_copy(arena, view->function, view->function->name, &copied);
    Accesses from = accesses_of(arena, view->function), to = accesses_of(arena, function);
    Map *copies = ARENA_NEW(arena, Map), *originals = ARENA_NEW(arena, Map);
    Map *upstreams = ARENA_NEW(arena, Map);
    *copies = map_new(arena);
    *originals = map_new(arena);
    *upstreams = map_new(arena);
    for (int i = 0; i < from.count && i < to.count; i++) {
        Op *op = from.items[i], *copy = to.items[i];
        map_set_pointer(copies, op, copy);
        map_set_pointer(originals, copy, op);
        void *store = map_get_pointer(view->upstreams, op);
        if (store) map_set_pointer(upstreams, copy, store);
    }
    LaunchFlagList flags = {.count = search->flags.count};
    for (int i = 0; i < flags.count; i++)
        flags.items[i] = map_get_pointer(&copied, (Value *)(uintptr_t)search->flags.items[i]);
    take_sides(function, function->body, &flags, values);
    function_drop_dead(function);
    bool has_copies = take_first_copies(arena, function);
    Places *places = ARENA_NEW(arena, Places);
    FunctionAxes *axes = ARENA_NEW(arena, FunctionAxes);
    *places = places_new(arena);
    *axes = function_axes(arena, function);
    for (LIST_EACH(int, i, view->axes->multiples)) {
        const MultipleSize *known = &view->axes->multiples.items[i];
        MultipleSize own = {map_get_pointer(&copied, (Value *)(uintptr_t)known->size),
                            map_get_pointer(&copied, (Value *)(uintptr_t)known->of)};
        if (own.size && own.of) LIST_PUSH(arena, &axes->multiples, own);
    }
    return (SharingView){function, axes, places, upstreams, copies, originals, has_copies};
}

const FlagCases *flag_cases_new(Arena *arena, const SharingView *view) {
    FlagCases *cases = ARENA_NEW(arena, FlagCases);
    SideSearch search = {0};
    region_walk(view->function->body, visit_flag, &search);
    const int count = search.flags.count;
    if (!count || search.ops << count > MOST_OPS) return cases;
    cases->count = 1 << count;
    for (int i = 0; i < cases->count; i++)
        cases->items[i] = view_of_case(arena, view, &search, (unsigned)i);
    return cases;
}
