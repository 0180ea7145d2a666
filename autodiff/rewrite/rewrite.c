// Copying, sharing, hoisting and dropping ops: each pass is one walk over the regions.
#include "autodiff/rewrite/rewrite.h"

#include <math.h>
#include <string.h>

#include "analysis/addresses/affine.h"
#include "analysis/addresses/affine_axes.h"
#include "analysis/addresses/strides.h"
#include "analysis/build/build.h"
#include "analysis/build/clone.h"
#include "analysis/build/infer.h"
#include "analysis/build/value_poly.h"
#include "analysis/ir/walk.h"
#include "autodiff/rewrite/simplify.h"

Function *function_copy(Arena *arena, const Function *function, const char *name, Map *values) {
    Map local = map_new(arena);
    if (!values) values = &local;
    Function *copy = function_new(arena, name);
    copy->definition = function->definition;
    copy->general = function->general ? function->general : function;
    copy->parts = function->parts;
    copy->part_count = function->part_count;
    for (int i = 0; i < function->parameter_count; i++) {
        const Parameter *from = &function->parameters[i];
        Value *value = function_add_parameter(copy, from->name, from->value->type);
        value->constant = from->value->constant;
        value->is_chosen = from->value->is_chosen;
        value->may_be_zero = from->value->may_be_zero;
        Parameter kept = *from;
        kept.value = value;
        copy->parameters[i] = kept;
        map_set_pointer(values, from->value, value);
    }
    for (int i = 0; i < copy->parameter_count; i++) {
        Value *value = copy->parameters[i].value;
        value->type = type_mapped(arena, value->type, values);
    }
    Builder builder = {.function = copy, .region = copy->body};
    region_clone_into(&builder, function->body, values);
    // the blocks of descriptors may be quotients
    for (int i = 0; i < copy->parameter_count; i++) {
        Value *value = copy->parameters[i].value;
        if (value->type.kind == TYPE_DESCRIPTOR)
            value->type = type_mapped(arena, value->type, values);
    }
    return copy;
}

bool root_is_saved(const Function *function, const Value *root) {
    bool is_parameter = root && !root->op && root->region == function->body;
    return is_parameter && function->parameters[root->index].is_saved;
}

const Value *pointer_root_or_branch(const Value *pointer) {
    while (pointer) {
        if (!pointer->op) {
            if (!pointer->region || !pointer->region->parent) return pointer;
            const Op *loop =
                pointer->region->parent;  // a carried pointer starts where its initial value does
            bool is_for = loop->code == OP_FOR || loop->code == OP_STATIC_FOR;
            if (!is_for && loop->code != OP_WHILE) return NULL;
            int operand = is_for ? pointer->index + 2 : pointer->index;
            if ((is_for && pointer->index == 0) || operand >= loop->operand_count) return NULL;
            pointer = loop->operands[operand];
            continue;
        }
        const Op *op = pointer->op;
        switch (op->code) {
        case OP_ADD: {
            bool first = op->operands[0]->type.kind == TYPE_POINTER;
            pointer = op->operands[first ? 0 : 1];
            break;
        }
        case OP_FOR:
        case OP_STATIC_FOR: pointer = op->operands[3 + pointer->index]; break;
        case OP_WHILE: pointer = op->operands[pointer->index]; break;
        case OP_IF: return pointer;
        default:
            if (op->operand_count == 0) return NULL;
            pointer = op->operands[0];
            if (pointer && pointer->type.kind == TYPE_NUMBER) return NULL;
        }
    }
    return NULL;
}

/// The one root of both branches; 0 where they have two.
static intptr_t root_of(ValueWalk *walk, const Value *pointer) {
    pointer = pointer_root_or_branch(pointer);
    if (!pointer || !pointer->op) return (intptr_t)pointer;
    intptr_t roots[2];
    for (int r = 0; r < 2; r++) {
        const Value *branch = region_terminator(pointer->op->regions[r])->operands[pointer->index];
        bool nothing = value_is_none(branch) || (branch->op && branch->op->code == OP_UNDEFINED);
        roots[r] = nothing ? 0 : walk_ask(walk, branch);
        if (!nothing && !roots[r]) return 0;
    }
    return !roots[0] ? roots[1] : !roots[1] || roots[0] == roots[1] ? roots[0] : 0;
}

Value *pointer_root(Value *pointer) {
    const Value *end = pointer_root_or_branch(pointer);
    bool is_branch = end && end->op;
    return (Value *)(is_branch ? walk_from(end, root_of, 0, NULL) : (intptr_t)end);
}

static bool visit_write(void *context, Op *op) {
    WrittenRoots *writes = context;
    if (!(op_rows[op->code].effects & (EFFECT_WRITES | EFFECT_ATOMIC))) return true;
    const Value *root = op->operand_count ? pointer_root(op->operands[0]) : NULL;
    if (root)
        map_set_pointer(&writes->roots, root, op);
    else
        writes->has_unknown = true;
    return true;
}

bool op_is_elementwise(const Op *op) {
    const OpRow *row = &op_rows[op->code];
    if (row->effects & ~EFFECT_RANDOM || op->region_count || op->code == OP_BITCAST) return false;
    bool is_same = row->shape == SHAPE_SAME && (row->traits & TRAIT_MOVES) == 0 &&
                   op->code != OP_CUMSUM && op->code != OP_CUMPROD && op->code != OP_SORT &&
                   op->code != OP_BITONIC_MERGE;
    return row->shape == SHAPE_BROADCAST || is_same || row->kind == KIND_HINT;
}

bool op_is_in_loop(const Op *op) {
    for (const Op *outer = op->parent->parent; outer; outer = outer->parent->parent)
        if (op_is_loop(outer->code)) return true;
    return false;
}

WrittenRoots function_writes(const Function *function) {
    WrittenRoots writes = {.roots = map_new(function->arena)};
    region_walk(function->body, visit_write, &writes);
    return writes;
}

bool load_is_stable(const WrittenRoots *writes, const Op *op) {
    if (op->code != OP_LOAD || writes->has_unknown) return false;
    const Value *root = pointer_root(op->operands[0]);
    return root && !map_has_pointer(&writes->roots, root);
}

bool op_is_stable_load(const Function *function, const Op *op) {
    if (op->code != OP_LOAD) return false;
    WrittenRoots writes = function_writes(function);
    return load_is_stable(&writes, op);
}

/* ---- readers ---- */

static void readers_add(Arena *arena, Map *readers, Op *op) {
    for (int i = 0; i < op->operand_count; i++) {
        if (!op->operands[i]) continue;
        OpList *list = map_get_pointer(readers, op->operands[i]);
        if (!list) {
            list = ARENA_NEW(arena, OpList);
            map_set_pointer(readers, op->operands[i], list);
        }
        LIST_PUSH(arena, list, op);
    }
}

static void readers_drop(Map *readers, const Op *op) {
    for (int i = 0; i < op->operand_count; i++) {
        OpList *list = op->operands[i] ? map_get_pointer(readers, op->operands[i]) : NULL;
        int kept = 0;
        for (int k = 0; list && k < list->count; k++)
            if (list->items[k] != op) list->items[kept++] = list->items[k];
        if (list) list->count = kept;
    }
}

typedef struct StableReading {
    Arena *arena;
    Map readers;
} StableReading;

static bool visit_reading(void *context, Op *op) {
    StableReading *reading = context;
    readers_add(reading->arena, &reading->readers, op);
    return true;
}

Map function_readers(Arena *arena, const Function *function) {
    StableReading reading = {.arena = arena, .readers = map_new(arena)};
    region_walk(function->body, visit_reading, &reading);
    return reading.readers;
}

const OpList *value_readers(const Map *readers, const Value *value) {
    static const OpList none = {0};
    const OpList *list = map_get_pointer(readers, value);
    return list ? list : &none;
}

/* ---- sharing ---- */

typedef struct ShareScope {
    Map table;  // key text -> Op *
    const struct ShareScope *outer;
} ShareScope;

/// `places`: values of the branch that the op is in -> where they are in it, plus 1.
static void put_key(Buffer *key, const Op *op, const Map *places) {
    buffer_printf(key, "%d", op->code);
    for (int i = 0; i < op->operand_count; i++) {
        const Value *operand = op->operands[i];
        intptr_t place = operand ? (intptr_t)map_get_pointer(places, operand) : 0;
        buffer_printf(key, place ? " #%d" : " %d", place ? (int)place : operand ? operand->id : -1);
    }
    if (op->code == OP_CONSTANT) {
        const Constant *c = op->results[0]->constant;
        buffer_printf(key, " %d %lld %.17g %.*s %d %d %d %p %d", c->kind, (long long)c->integer,
                      c->number, STR_ARGS(c->string), c->dtype.code, c->dtype.parameter,
                      c->is_pointer, (const void *)c->function, c->op);
    }
}

static Str op_key(Arena *arena, const Op *op) {
    Buffer key = buffer_new(arena);
    Map places = map_new(arena);
    intptr_t count = 0;
    put_key(&key, op, &places);
    for (int r = 0; r < op->region_count; r++)
        for (const Op *inner = op->regions[r]->first; inner; inner = inner->next) {
            buffer_puts(&key, r ? " else " : " then ");
            put_key(&key, inner, &places);
            for (int i = 0; i < inner->result_count; i++)
                map_set_pointer(&places, inner->results[i], (void *)++count);
        }
    return str_from(buffer_text(&key));
}

static Op *share_find(const ShareScope *scope, Str key) {
    for (; scope; scope = scope->outer) {
        Op *op = map_get(&scope->table, key);
        if (op) return op;
    }
    return NULL;
}

/// `half = 0.5`: one number, and nothing that a sum or a maximum starts from.
static bool is_named_number(const Op *op) {
    double number;
    return op->results[0]->type.rank == 0 && value_is_number(op->operands[1], &number) &&
           number != 0 && isfinite(number);
}

typedef struct Sharing {
    Function *function;
    WrittenRoots writes;
    Map instead;  // value that went away -> the one that stays
    int gone;
} Sharing;

static bool dim_mentions(const Poly *dim, const Map *values) {
    for (int t = 0; dim && t < dim->count; t++)
        for (int i = 0; i < dim->terms[t].atom_count; i++)
            if (map_has_pointer(values, dim->terms[t].atoms[i])) return true;
    return false;
}

/// A tile's sizes are said in values, too.
static void share_sizes(const Sharing *sharing, Value *value) {
    bool mentions = false;
    for (int i = 0; i < value->type.rank && !mentions; i++)
        mentions = dim_mentions(value->type.dims[i], &sharing->instead);
    if (mentions)
        value->type = type_mapped(sharing->function->arena, value->type, &sharing->instead);
}

static void read_shared(const Sharing *sharing, Op *op) {
    if (!sharing->instead.count) return;
    for (int i = 0; i < op->result_count; i++) share_sizes(sharing, op->results[i]);
    for (int r = 0; r < op->region_count; r++)
        for (int i = 0; i < op->regions[r]->argument_count; i++)
            share_sizes(sharing, op->regions[r]->arguments[i]);
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i]) op->operands[i] = value_mapped(&sharing->instead, op->operands[i]);
    for (int i = 0; i < op->keyword_count; i++)
        op->keywords[i].value = value_mapped(&sharing->instead, op->keywords[i].value);
}

bool op_chooses_number(const Op *op) {
    if (op->code != OP_IF || op->result_count != 1) return false;
    Type type = op->results[0]->type;
    if (type.kind != TYPE_NUMBER || !dtype_is_integer(type.element)) return false;
    for (int r = 0; r < op->region_count; r++)
        for (const Op *inner = op->regions[r]->first; inner; inner = inner->next)
            if (inner->code != OP_YIELD && (inner->region_count || !op_is_pure(inner)))
                return false;
    return true;
}

static bool is_shareable(const Sharing *sharing, const Op *op) {
    if (op_chooses_number(op)) return true;
    if (op->region_count || op->result_count == 0 || op->code == OP_UNDEFINED) return false;
    if (op->code == OP_FULL && !is_named_number(op))
        return false;  // each loop starts from its own zeros
    return op_is_pure(op) || load_is_stable(&sharing->writes, op);
}

/// A value is read behind its op alone, so what went away is replaced as the walk goes on.
static void share_region(Sharing *sharing, Region *region, const ShareScope *outer) {
    Arena *arena = sharing->function->arena;
    ShareScope scope = {.table = map_new(arena), .outer = outer};
    for (Op *op = region->first, *next; op; op = next) {
        next = op->next;
        read_shared(sharing, op);
        for (int i = 0; i < op->region_count; i++) share_region(sharing, op->regions[i], &scope);
        if (!is_shareable(sharing, op)) continue;
        Str key = op_key(arena, op);
        Op *same = share_find(&scope, key);
        if (!same) {
            map_set(&scope.table, key, op);
            continue;
        }
        for (int i = 0; i < op->result_count; i++) {
            if (!same->results[i]->name) same->results[i]->name = op->results[i]->name;
            map_set_pointer(&sharing->instead, op->results[i], same->results[i]);
        }
        op_remove(op);
        sharing->gone++;
    }
}

int function_share(Function *function) {
    Sharing sharing = {.function = function,
                       .writes = function_writes(function),
                       .instead = map_new(function->arena)};
    share_region(&sharing, function->body, NULL);
    return sharing.gone;
}

/* ---- hoisting ---- */

static bool is_loop(const Op *op) { return op_is_loop(op->code); }

void op_move_before(Op *op, Op *place) {
    op_remove(op);
    Region *region = place->parent;
    op->parent = region;
    region->is_numbered = false;
    op->next = place;
    op->previous = place->previous;
    if (place->previous)
        place->previous->next = op;
    else
        region->first = op;
    place->previous = op;
}

static bool operands_outside(const Op *op, const Op *loop) {
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i])
            for (int r = 0; r < loop->region_count; r++)
                if (region_defines(loop->regions[r], op->operands[i])) return false;
    return true;
}

/// Whether the body of a loop runs in every program, or in none because of what the caller passed. Where ids or memory decide, a
/// program that leaves the loop out may have no such element as the loop loads.
static bool runs_alike(const Op *loop) {
    if (loop->code == OP_WHILE) return false;
    int64_t lower, upper;
    bool runs = value_is_int(loop->operands[0], &lower) &&
                value_is_int(loop->operands[1], &upper) && lower < upper;
    return runs ||
           (value_is_of_parameters(loop->operands[0]) && value_is_of_parameters(loop->operands[1]));
}

static bool branches_outside(const Op *branch, const Op *loop) {
    for (int r = 0; r < branch->region_count; r++)
        for (const Op *inner = branch->regions[r]->first; inner; inner = inner->next)
            for (int i = 0; i < inner->operand_count; i++)
                if (inner->operands[i] && region_defines(loop->regions[0], inner->operands[i]) &&
                    !region_defines(branch->regions[r], inner->operands[i]))
                    return false;
    return operands_outside(branch, loop);
}

static void hoist_choices(Region *region, Op *loop) {
    for (Op *op = region->first, *next; op; op = next) {
        next = op->next;
        bool chooses = op_chooses_number(op);
        for (int r = 0; r < op->region_count && op->code == OP_IF && !chooses; r++)
            hoist_choices(op->regions[r], loop);
        bool is_number = region->parent == loop && op_is_pure(op) && op->region_count == 0 &&
                         op->result_count == 1 && op->results[0]->type.kind == TYPE_NUMBER &&
                         op->code != OP_UNDEFINED;
        if ((is_number && operands_outside(op, loop)) || (chooses && branches_outside(op, loop)))
            op_move_before(op, loop);
    }
}

void loop_hoist_choices(Op *loop) { hoist_choices(loop->regions[0], loop); }

static void hoist_region(const WrittenRoots *writes, Region *region) {
    for (Op *op = region->first; op; op = op->next) {
        for (int r = 0; r < op->region_count; r++) hoist_region(writes, op->regions[r]);
        if (!is_loop(op)) continue;
        bool moves_loads = runs_alike(op);
        for (int r = 0; r < op->region_count; r++) {
            for (Op *inner = op->regions[r]->first, *next; inner; inner = next) {
                next = inner->next;
                bool movable = (op_is_pure(inner) && inner->region_count == 0) ||
                               (moves_loads && load_is_stable(writes, inner));
                bool is_start = inner->code == OP_UNDEFINED || inner->code == OP_FULL;
                if (movable && !is_start && operands_outside(inner, op)) op_move_before(inner, op);
            }
        }
    }
}

void function_hoist(Function *function) {
    WrittenRoots writes = function_writes(function);
    hoist_region(&writes, function->body);
}

/* ---- sinking ---- */

/// The outermost branch of a branch on a constexpr that holds `user` but not `op`, or NULL.
static Region *branch_between(const Op *op, const Op *user) {
    Region *found = NULL;
    for (Region *region = user->parent; region != op->parent; region = region->parent->parent) {
        if (!region || !region->parent) return NULL;
        const Op *owner = region->parent;
        if (owner->code == OP_IF && owner->operands[0]->type.is_constexpr) found = region;
    }
    return found;
}

/// The same number where the builder stands: what functions share stays at their entry.
static Value *item_here(Builder *builder, const Op *op) {
    Op *copy = op_append(builder, op->code, op->operands, op->operand_count, op->result_count);
    copy->range = op->range;
    copy->call = op->call;
    copy->results[0]->type = op->results[0]->type;
    copy->results[0]->name = op->results[0]->name;
    copy->results[0]->range = op->results[0]->range;
    return copy->results[0];
}

/// Copies an address into the branches that alone use it. True where nothing is left to use the original.
static bool sink_into_branches(Function *function, Op *op, Map *readers) {
    const OpList *users = value_readers(readers, op->results[0]);
    for (int i = 0; i < users->count; i++)
        if (!branch_between(op, users->items[i])) return false;
    Map copies = map_new(function->arena);  // branch -> the address there
    for (int i = 0; i < users->count; i++) {
        Op *user = users->items[i];
        Region *branch = branch_between(op, user);
        Value *copy = map_get_pointer(&copies, branch);
        if (!copy) {
            Builder builder = {.function = function,
                               .region = branch,
                               .before = branch->first,
                               .range = op->range,
                               .call = op->call};
            Map values = map_new(function->arena);
            copy = op->code == OP_ITEM ? item_here(&builder, op)
                                       : op_clone(&builder, op, &values)->results[0];
            map_set_pointer(&copies, branch, copy);
            readers_add(function->arena, readers, copy->op);
        }
        for (int k = 0; k < user->operand_count; k++)
            if (user->operands[k] == op->results[0]) op_set_operand(user, k, copy);
    }
    return users->count > 0;
}

/// An address, a number made of the type that a pointer's elements have, an item of a tuple that a launch passes: none is there where
/// the pointer, or the tuple beside it, is None.
static bool asks_what_may_be_none(const Op *op) {
    if (op->result_count != 1 || op->region_count || !op_is_pure(op)) return false;
    const Type *type = &op->results[0]->type;
    bool is_of_pointer = op->code == OP_CAST && type->element.code == DTYPE_OF_PARAMETER;
    const Value *tuple = op->code == OP_ITEM ? op->operands[0] : NULL;
    bool is_of_launch = tuple && !tuple->op && tuple->region && !tuple->region->parent;
    return (type->kind == TYPE_POINTER && op->code != OP_UNDEFINED) || is_of_pointer ||
           is_of_launch;
}

/// True where something was moved.
static bool sink_region(Function *function, Region *region, Map *readers) {
    bool moves = false;
    for (Op *op = region->last, *previous; op; op = previous) {
        previous = op->previous;
        for (int r = 0; r < op->region_count; r++)
            moves |= sink_region(function, op->regions[r], readers);
        if (!asks_what_may_be_none(op) || !sink_into_branches(function, op, readers)) continue;
        readers_drop(readers, op);
        op_remove(op);
        moves = true;
    }
    return moves;
}

void function_sink_addresses(Function *function) {
    bool moves = true;
    while (moves) {  // branches stand in branches
        Map readers = function_readers(function->arena, function);
        moves = sink_region(function, function->body, &readers);
    }
}

/* ---- dropping ---- */

typedef struct Liveness {
    Map live;  // values
    bool changed;
} Liveness;

static void live_mark(Liveness *liveness, const Value *value) {
    if (!value || map_has_pointer(&liveness->live, value)) return;
    map_set_pointer(&liveness->live, value, (void *)1);
    liveness->changed = true;
}

static bool live_is(const Liveness *liveness, const Value *value) {
    return map_has_pointer(&liveness->live, value);
}

static bool region_has_effect(const Region *region);

static bool op_has_effect(const Op *op) {
    if (op_rows[op->code].effects & (EFFECT_WRITES | EFFECT_ATOMIC | EFFECT_ORDERED)) return true;
    for (int i = 0; i < op->region_count; i++)
        if (region_has_effect(op->regions[i])) return true;
    return false;
}

static bool region_has_effect(const Region *region) {
    for (const Op *op = region->first; op; op = op->next)
        if (op_has_effect(op)) return true;
    return false;
}

static bool any_result_live(const Liveness *liveness, const Op *op) {
    for (int i = 0; i < op->result_count; i++)
        if (live_is(liveness, op->results[i])) return true;
    return false;
}

static void live_region(Liveness *liveness, const Region *region);

/// Marks what a live structured op needs: carried values only where their result or argument is live.
static void live_structured(Liveness *liveness, const Op *op) {
    int first = op->code == OP_WHILE ? 0 : 3;
    if (op->code == OP_IF) live_mark(liveness, op->operands[0]);
    if (op->code == OP_FOR || op->code == OP_STATIC_FOR)
        for (int i = 0; i < 3; i++) live_mark(liveness, op->operands[i]);
    for (int i = 0; i < op->keyword_count; i++) live_mark(liveness, op->keywords[i].value);
    if (op->code == OP_WHILE) live_mark(liveness, region_terminator(op->regions[0])->operands[0]);
    for (int i = 0; i < op->result_count; i++) {
        bool live = live_is(liveness, op->results[i]);
        if (op->code == OP_IF) {
            for (int r = 0; live && r < 2; r++)
                live_mark(liveness, region_terminator(op->regions[r])->operands[i]);
            continue;
        }
        for (int r = 0; r < op->region_count; r++) {
            int shift = op->code == OP_WHILE ? 0 : 1;
            live = live || live_is(liveness, op->regions[r]->arguments[i + shift]);
        }
        if (!live) continue;
        live_mark(liveness, op->results[i]);
        live_mark(liveness, op->operands[first + i]);
        int body = op->code == OP_WHILE ? 1 : 0;
        live_mark(liveness, region_terminator(op->regions[body])->operands[i]);
    }
    for (int r = 0; r < op->region_count; r++) live_region(liveness, op->regions[r]);
}

static void live_region(Liveness *liveness, const Region *region) {
    for (const Op *op = region->last; op; op = op->previous) {
        if (op->code == OP_YIELD || op->code == OP_CONDITION) continue;
        bool structured = is_loop(op) || op->code == OP_IF;
        if (!op_has_effect(op) && !any_result_live(liveness, op)) continue;
        if (structured) {
            live_structured(liveness, op);
            continue;
        }
        for (int i = 0; i < op->operand_count; i++) live_mark(liveness, op->operands[i]);
        for (int i = 0; i < op->region_count; i++) {
            const Op *end = region_terminator(op->regions[i]);
            for (int k = 0; end && k < end->operand_count; k++)
                live_mark(liveness, end->operands[k]);
            live_region(liveness, op->regions[i]);
        }
    }
}

static void array_remove(Value **items, int *count, int index) {
    memmove(items + index, items + index + 1, sizeof(Value *) * (size_t)(*count - index - 1));
    (*count)--;
}

static void renumber(Value **items, int count) {
    for (int i = 0; i < count; i++) items[i]->index = i;
}

/// Removes result `index` of a structured op and all that carries it.
static void structured_remove(Op *op, int index) {
    if (op->code != OP_IF) {
        int shift = op->code == OP_WHILE ? 0 : 1;
        array_remove(op->operands, &op->operand_count, index + (op->code == OP_WHILE ? 0 : 3));
        for (int r = 0; r < op->region_count; r++) {
            Region *region = op->regions[r];
            array_remove(region->arguments, &region->argument_count, index + shift);
            renumber(region->arguments, region->argument_count);
        }
    }
    for (int r = 0; r < op->region_count; r++) {
        Op *end = region_terminator(op->regions[r]);
        if (end->code == OP_YIELD) array_remove(end->operands, &end->operand_count, index);
    }
    array_remove(op->results, &op->result_count, index);
    renumber(op->results, op->result_count);
}

static void drop_region(const Liveness *liveness, Region *region) {
    for (Op *op = region->first, *next; op; op = next) {
        next = op->next;
        if (op->code == OP_YIELD || op->code == OP_CONDITION) continue;
        if (!op_has_effect(op) && !any_result_live(liveness, op)) {
            op_remove(op);
            continue;
        }
        bool structured = is_loop(op) || op->code == OP_IF;
        for (int i = op->result_count - 1; structured && i >= 0; i--)
            if (!live_is(liveness, op->results[i])) structured_remove(op, i);
        if (structured || op->region_count)
            for (int r = 0; r < op->region_count; r++) drop_region(liveness, op->regions[r]);
    }
}

void function_drop_dead(Function *function) {
    Liveness liveness = {.live = map_new(function->arena), .changed = true};
    while (liveness.changed) {
        liveness.changed = false;
        live_region(&liveness, function->body);
    }
    drop_region(&liveness, function->body);
}

/* ---- trips ---- */

static bool is_negative(Arena *arena, Value *step) {
    int64_t number;
    if (value_is_int(step, &number)) return number < 0;
    const Poly *poly = value_poly(arena, step);
    return poly->count > 0 &&
           poly_is_nonnegative(arena, poly_subtract(arena, poly_constant(arena, -1), poly));
}

Value *build_trip_count(Builder *builder, Value *lower, Value *upper, Value *step) {
    int64_t number;
    bool from_zero = value_is_int(lower, &number) && number == 0;
    Value *distance = from_zero ? upper : build_binary(builder, OP_SUB, upper, lower);
    if (value_is_int(step, &number) && number == 1) return distance;
    Arena *arena = builder->function->arena;
    if (value_is_int(step, &number) && number == -1)
        return build_poly(builder,
                          poly_subtract(arena, value_poly(arena, lower), value_poly(arena, upper)));
    const Poly *exact = poly_divide_exact(
        arena, poly_subtract(arena, value_poly(arena, upper), value_poly(arena, lower)),
        value_poly(arena, step));
    if (exact) return build_poly(builder, exact);
    bool downwards = is_negative(arena, step);
    Value *slack = build_binary(builder, downwards ? OP_ADD : OP_SUB, step, build_int(builder, 1));
    return build_binary(builder, OP_FLOORDIV, build_binary(builder, OP_ADD, distance, slack), step);
}

/* ---- uses ---- */

static void use_count(Map *uses, const Value *value) {
    if (!value) return;
    intptr_t count = (intptr_t)map_get_pointer(uses, value);
    map_set_pointer(uses, value, (void *)(count + 1));
}

static bool visit_uses(void *context, Op *op) {
    for (int i = 0; i < op->operand_count; i++) use_count(context, op->operands[i]);
    for (int i = 0; i < op->keyword_count; i++) use_count(context, op->keywords[i].value);
    return true;
}

Map function_count_uses(Arena *arena, const Function *function) {
    Map uses = map_new(arena);
    region_walk(function->body, visit_uses, &uses);
    return uses;
}

typedef struct UnreadSearch {
    Map uses;
    OpList ops;
    Arena *arena;
} UnreadSearch;

static bool visit_unread(void *context, Op *op) {
    UnreadSearch *search = context;
    bool is_read = op->result_count != 1 || op->region_count || !op_is_pure(op) ||
                   map_has_pointer(&search->uses, op->results[0]);
    if (!is_read) LIST_PUSH(search->arena, &search->ops, op);
    return true;
}

void function_drop_unread(Function *function) {
    UnreadSearch search = {.arena = function->arena};
    do {
        search.ops.count = 0;
        search.uses = function_count_uses(function->arena, function);
        region_walk(function->body, visit_unread, &search);
        for (LIST_EACH(int, i, search.ops)) op_remove(search.ops.items[i]);
    } while (search.ops.count);
}

void function_clean(Function *function) {
    for (int round = 0; round < 4; round++) {
        function_simplify(function);
        int gone = function_share(function);
        function_drop_dead(function);
        if (round && !gone) break;
    }
}
