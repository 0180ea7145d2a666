// Positions of readers in emission order: a value whose expression is inlined is read where its users are.
// In a loop a value from outside is read until the loop ends.
#include "autodiff/emit_lifetimes.h"

#include "base/list.h"

enum { DEPTH_LIMIT = 400 };

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

static bool is_loop(const Op *op) {
    return op->code == OP_FOR || op->code == OP_STATIC_FOR || op->code == OP_WHILE;
}

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

/// The last position where `user` reads a value of `home`.
static intptr_t last_reading(Lifetimes *lifetimes, const Region *home, const Op *user, int depth) {
    if (depth > DEPTH_LIMIT) return INTPTR_MAX;
    if (is_inlined(lifetimes, user)) {
        const Users *users = map_get_pointer(&lifetimes->users, user->results[0]);
        intptr_t end = 0;
        for (int i = 0; users && i < users->count; i++) {
            intptr_t reading = last_reading(lifetimes, home, users->items[i], depth + 1);
            if (reading > end) end = reading;
        }
        return end;
    }
    intptr_t end = position(&lifetimes->first, user);
    for (const Region *region = user->parent; region && region != home;
         region = region->parent ? region->parent->parent : NULL)
        if (region->parent && is_loop(region->parent)) {
            intptr_t loop_end = position(&lifetimes->last, region->parent);
            if (loop_end > end) end = loop_end;
        }
    return end;
}

static intptr_t end_of(Lifetimes *lifetimes, const Value *value) {
    intptr_t known = (intptr_t)map_get_pointer(&lifetimes->ends, value);
    if (known) return known - 1;
    const Users *users = map_get_pointer(&lifetimes->users, value);
    intptr_t end = 0;
    for (int i = 0; users && i < users->count; i++) {
        intptr_t reading = last_reading(lifetimes, region_of(value), users->items[i], 0);
        if (reading > end) end = reading;
    }
    if (end < INTPTR_MAX) map_set_pointer(&lifetimes->ends, value, (void *)(end + 1));
    return end;
}

/// Whether printing `value` reads `holder`.
static bool reads(const Lifetimes *lifetimes, const Value *value, const Value *holder, int depth) {
    if (!value) return false;
    if (value == holder || depth > DEPTH_LIMIT) return true;
    if (!value->op || !is_inlined(lifetimes, value->op)) return false;
    for (int i = 0; i < value->op->operand_count; i++)
        if (reads(lifetimes, value->op->operands[i], holder, depth + 1)) return true;
    return false;
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

/// What may stand in the variable of `holder` next, whatever is read: a parameter only hands on to an address of its kind, a
/// carried variable to its own next value.
static bool kinds_agree(const Value *holder, const Value *value) {
    if (holder->op) return true;
    int carried = carried_index(holder);
    if (carried >= 0) {
        const Op *yield = region_terminator(holder->region);
        return yield && carried < yield->operand_count && yield->operands[carried] == value;
    }
    return !holder->region->parent && holder->type.kind == TYPE_POINTER &&
           value->type.kind == TYPE_POINTER && value->type.rank == 0 &&
           dtype_equal(holder->type.element, value->type.element);
}

static bool types_agree(const Value *holder, const Value *value) {
    return !holder->type.is_constexpr && !value->type.is_constexpr &&
           type_equal(holder->type, value->type);
}

/// The arms of an `if` assign its results at their ends, one after the other.
static bool arms_let_reuse(const Lifetimes *lifetimes, const Value *holder, const Value *value,
                           const Op *op) {
    if (!op->operands[0]->type.is_constexpr && !types_agree(holder, value)) return false;
    for (int arm = 0; arm < 2; arm++) {
        const Op *yield = region_terminator(op->regions[arm]);
        for (int i = 0; yield && i < yield->operand_count; i++)
            if (i != value->index && reads(lifetimes, yield->operands[i], holder, 0)) return false;
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
               arms_let_reuse(lifetimes, holder, value, op);
    return is_loop(op) ? end < here : end <= here;
}

/// Whether something reads `holder` behind `from` and up to `to`.
static bool is_read_between(Lifetimes *lifetimes, const Value *holder, intptr_t from, intptr_t to) {
    const Users *users = map_get_pointer(&lifetimes->users, holder);
    for (int i = 0; users && i < users->count; i++) {
        if (position(&lifetimes->first, users->items[i]) > to) continue;
        if (last_reading(lifetimes, region_of(holder), users->items[i], 0) > from) return true;
    }
    return false;
}

bool lifetimes_let_promise(Lifetimes *lifetimes, const Value *holder, const Op *branch, int arm,
                           int index) {
    const Region *region = branch->regions[arm];
    const Op *yield = region_terminator(region);
    const Value *value = yield->operands[index];
    const Op *op = value->op;
    if (!op || op->parent != region || is_inlined(lifetimes, op)) return false;
    if (op->region_count && op->code != OP_IF) return false;
    if (!holder) return true;
    if (op->code == OP_IF && !arms_let_reuse(lifetimes, holder, value, op)) return false;
    intptr_t made = position(op->code == OP_IF ? &lifetimes->last : &lifetimes->first, op);
    return !is_read_between(lifetimes, holder, made, position(&lifetimes->first, yield));
}

bool lifetimes_let_carry(Lifetimes *lifetimes, const Op *loop, int index) {
    int first = loop->code == OP_WHILE ? 0 : 3;
    const Value *initial = loop->operands[first + index];
    const Region *body = loop->regions[loop->code == OP_WHILE ? 1 : 0];
    const Value *carried = body->arguments[index + (loop->code == OP_WHILE ? 0 : 1)];
    if (!initial->op || region_of(initial) != loop->parent || !types_agree(initial, carried))
        return false;
    const Users *users = map_get_pointer(&lifetimes->users, initial);
    if (users->count != 1) return false;
    for (int i = 0; i < loop->operand_count; i++)  // an expression that is printed after it
        if (i != first + index && reads(lifetimes, loop->operands[i], initial, 0)) return false;
    return true;
}
