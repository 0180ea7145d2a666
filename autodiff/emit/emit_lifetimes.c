// Positions of readers in emission order: a value whose expression is inlined is read where its users are.
// In a loop a value from outside is read until the loop ends.
#include "autodiff/emit/emit_lifetimes.h"

#include "analysis/ir/walk.h"
#include "base/list.h"

typedef LIST(Op *) Users;

struct Lifetimes {
    Arena *arena;
    const Map *inlined;
    Map first;  // op -> its position (from 1)
    Map last;   // op -> the last position inside it
    Map users;  // value -> Users
    Map ends;   // value -> the last position that reads it, plus 1
    intptr_t count;
};

static bool is_loop(const Op *op) { return op_is_loop(op->code); }

static const Region *region_of(const Value *value) {
    return value->op ? value->op->parent : value->region;
}

static intptr_t position(const Map *map, const Op *op) {
    return (intptr_t)map_get_pointer(map, op);
}

/* ---- readers ---- */

static void add_user(Lifetimes *lifetimes, const Value *value, Op *user) {
    if (!value) return;
    Users *users = map_get_pointer(&lifetimes->users, value);
    if (!users) {
        users = ARENA_NEW(lifetimes->arena, Users);
        map_set_pointer(&lifetimes->users, value, users);
    }
    LIST_PUSH(lifetimes->arena, users, user);
}

static void number_region(Lifetimes *lifetimes, const Region *region) {
    for (Op *op = region->first; op; op = op->next) {
        map_set_pointer(&lifetimes->first, op, (void *)++lifetimes->count);
        for (int i = 0; i < op->operand_count; i++) add_user(lifetimes, op->operands[i], op);
        for (int i = 0; i < op->keyword_count; i++) add_user(lifetimes, op->keywords[i].value, op);
        for (int i = 0; i < op->region_count; i++) number_region(lifetimes, op->regions[i]);
        map_set_pointer(&lifetimes->last, op, (void *)lifetimes->count);
    }
}

Lifetimes *lifetimes_of(Arena *arena, const Function *function, const Map *inlined) {
    Lifetimes *lifetimes = ARENA_NEW(arena, Lifetimes);
    *lifetimes = (Lifetimes){.arena = arena,
                             .inlined = inlined,
                             .first = map_new(arena),
                             .last = map_new(arena),
                             .users = map_new(arena),
                             .ends = map_new(arena)};
    number_region(lifetimes, function->body);
    return lifetimes;
}

static bool is_inlined(const Lifetimes *lifetimes, const Op *op) {
    return op->result_count == 1 && map_has_pointer(lifetimes->inlined, op->results[0]);
}

typedef struct Home {
    Lifetimes *lifetimes;
    const Region *region;
} Home;

/// The last position where `user` reads a value of a region.
static intptr_t reading_by(ValueWalk *walk, const Op *user) {
    const Home *of = walk->context;
    Lifetimes *lifetimes = of->lifetimes;
    const Region *home = of->region;
    if (is_inlined(lifetimes, user)) return walk_ask(walk, user->results[0]);
    intptr_t end = position(&lifetimes->first, user);
    for (const Region *region = user->parent; region && region != home;
         region = region->parent ? region->parent->parent : NULL)
        if (region->parent && is_loop(region->parent)) {
            intptr_t loop_end = position(&lifetimes->last, region->parent);
            if (loop_end > end) end = loop_end;
        }
    return end;
}

static intptr_t last_reading(ValueWalk *walk, const Value *value) {
    const Home *home = walk->context;
    const Users *users = map_get_pointer(&home->lifetimes->users, value);
    intptr_t end = 0;
    for (int i = 0; users && i < users->count; i++) {
        intptr_t reading = reading_by(walk, users->items[i]);
        if (reading > end) end = reading;
    }
    return end;
}

static intptr_t end_of(Lifetimes *lifetimes, const Value *value) {
    intptr_t known = (intptr_t)map_get_pointer(&lifetimes->ends, value);
    if (known) return known - 1;
    const Home home = {lifetimes, region_of(value)};
    intptr_t end = walk_from(value, last_reading, INTPTR_MAX, &home);
    if (end < INTPTR_MAX) map_set_pointer(&lifetimes->ends, value, (void *)(end + 1));
    return end;
}

typedef struct Reading {
    const Lifetimes *lifetimes;
    const Value *holder;
} Reading;

/// Whether printing `value` reads `holder`.
static intptr_t reads_holder(ValueWalk *walk, const Value *value) {
    const Reading *reading = walk->context;
    if (!value) return false;
    if (value == reading->holder) return true;
    if (!value->op || !is_inlined(reading->lifetimes, value->op)) return false;
    for (int i = 0; i < value->op->operand_count; i++)
        if (walk_ask(walk, value->op->operands[i])) return true;
    return false;
}

static bool reads(const Lifetimes *lifetimes, const Value *value, const Value *holder) {
    return walk_from(value, reads_holder, true, &(Reading){lifetimes, holder});
}

/* ---- names that go on ---- */

/// The index of a value that a loop carries, or -1.
static int carried_index(const Value *value) {
    if (value->op || !value->region || !value->region->parent) return -1;
    const Op *loop = value->region->parent;
    if (!is_loop(loop)) return -1;
    int index = value->index - (loop->code == OP_WHILE ? 0 : 1);
    return index < 0 ? -1 : index;
}

/// Whether a loop carries `value` on where it carries `argument`.
static bool is_next(const Value *argument, const Value *value) {
    int carried = carried_index(argument);
    const Op *yield = carried < 0 ? NULL : region_terminator(argument->region);
    return yield && carried < yield->operand_count && yield->operands[carried] == value;
}

/// What may stand in the variable of `holder` next, whatever is read: a parameter only hands on to an address of its kind, a
/// carried variable to its own next value.
static bool kinds_agree(const Value *holder, const Value *value) {
    if (holder->op) return true;
    if (carried_index(holder) >= 0) return is_next(holder, value);
    return !holder->region->parent && holder->type.kind == TYPE_POINTER &&
           value->type.kind == TYPE_POINTER && value->type.rank == 0 &&
           dtype_equal(holder->type.element, value->type.element);
}

static bool types_agree(const Value *holder, const Value *value) {
    return !holder->type.is_constexpr && !value->type.is_constexpr &&
           type_equal(holder->type, value->type);
}

/// The branches of an `if` assign its results at their ends, one after the other.
static bool branches_let_reuse(const Lifetimes *lifetimes, const Value *holder, const Value *value,
                               const Op *op) {
    bool is_alike = types_agree(holder, value);
    if (!op->operands[0]->type.is_constexpr && !is_alike) return false;
    for (int side = 0; side < 2; side++) {
        const Op *yield = region_terminator(op->regions[side]);
        const Op *made =
            yield && value->index < yield->operand_count ? yield->operands[value->index]->op : NULL;
        // A side that assigns nothing would leave the holder, of another type, in the variable.
        if (!is_alike && made && made->code == OP_UNDEFINED) return false;
        for (int i = 0; yield && i < yield->operand_count; i++)
            if (i != value->index && reads(lifetimes, yield->operands[i], holder)) return false;
    }
    return true;
}

bool lifetimes_let_reuse(Lifetimes *lifetimes, const Value *holder, const Value *value,
                         const Op *op) {
    if (region_of(holder) != op->parent || !kinds_agree(holder, value)) return false;
    if (holder->op == op) return false;  // results of one op hold their values side by side
    intptr_t end = end_of(lifetimes, holder), here = position(&lifetimes->first, op);
    if (op->code == OP_IF)
        return end <= position(&lifetimes->last, op) &&
               branches_let_reuse(lifetimes, holder, value, op);
    return is_loop(op) ? end < here : end <= here;
}

/// Whether something reads `holder` behind `from` and up to `to`.
static bool is_read_between(Lifetimes *lifetimes, const Value *holder, intptr_t from, intptr_t to) {
    const Users *users = map_get_pointer(&lifetimes->users, holder);
    const Home home = {lifetimes, region_of(holder)};
    ValueWalk walk;
    walk_start(&walk, last_reading, INTPTR_MAX, &home);
    for (int i = 0; users && i < users->count; i++) {
        if (position(&lifetimes->first, users->items[i]) > to) continue;
        if (reading_by(&walk, users->items[i]) > from) return true;
    }
    return false;
}

bool lifetimes_let_promise(Lifetimes *lifetimes, const Value *holder, const Op *branch, int side,
                           int index) {
    const Region *region = branch->regions[side];
    const Op *yield = region_terminator(region);
    const Value *value = yield->operands[index];
    const Op *op = value->op;
    if (!op || op->parent != region || is_inlined(lifetimes, op)) return false;
    if (op->region_count && op->code != OP_IF) return false;
    if (!holder) return true;
    if (op->code == OP_IF && !branches_let_reuse(lifetimes, holder, value, op)) return false;
    intptr_t made = position(op->code == OP_IF ? &lifetimes->last : &lifetimes->first, op);
    return !is_read_between(lifetimes, holder, made, position(&lifetimes->first, yield));
}

bool lifetimes_let_carry(Lifetimes *lifetimes, const Op *loop, int index) {
    int first = loop->code == OP_WHILE ? 0 : 3;
    const Value *initial = loop->operands[first + index];
    const Region *body = loop->regions[loop->code == OP_WHILE ? 1 : 0];
    const Value *carried = body->arguments[index + (loop->code == OP_WHILE ? 0 : 1)];
    if (region_of(initial) != loop->parent || !types_agree(initial, carried)) return false;
    if (!initial->op && !is_next(initial, loop->results[index])) return false;
    const Users *users = map_get_pointer(&lifetimes->users, initial);
    if (users->count != 1) return false;
    for (int i = 0; i < loop->operand_count; i++)  // an expression that is printed after it
        if (i != first + index && reads(lifetimes, loop->operands[i], initial)) return false;
    return true;
}
