// The memory of a walk: a table of fixed size, so that asking needs no arena and ends.
#include "analysis/ir/walk.h"

#include <string.h>

#include "base/budget.h"

void walk_start(ValueWalk *walk, WalkRule *rule, intptr_t unknown, const void *context) {
    walk->rule = rule;
    walk->unknown = unknown;
    walk->context = context;
    walk->count = 0;
    memset(walk->values, 0, sizeof walk->values);
}

/// Where the value is, or would be.
static int slot_of(const ValueWalk *walk, const Value *value) {
    enum { SLOTS = sizeof walk->values / sizeof *walk->values };
    uint64_t hash = (uint64_t)(uintptr_t)value * 0x9E3779B97F4A7C15U;
    int slot = (int)(hash >> 40) % SLOTS;
    while (walk->values[slot] && walk->values[slot] != value) slot = (slot + 1) % SLOTS;
    return slot;
}

intptr_t walk_ask(ValueWalk *walk, const Value *value) {
    budget_take(1);
    if (!value) return walk->rule(walk, value);
    int slot = slot_of(walk, value);
    if (walk->values[slot]) return walk->answers[slot];
    if (walk->count == WALK_MOST_VALUES) return walk->unknown;
    walk->count++;
    walk->values[slot] = value;
    walk->answers[slot] = walk->unknown;  // until it is known, for one that leads back to itself
    intptr_t answer = walk->rule(walk, value);
    walk->answers[slot] = answer;
    return answer;
}

WalkPair walk_pair(ValueWalk *walk, const Value *a, const Value *b) {
    budget_take(1);
    int slot = slot_of(walk, a);
    if (walk->values[slot] && walk->answers[slot] == (intptr_t)b) return WALK_PAIR_KNOWN;
    if (walk->count == WALK_MOST_VALUES) return WALK_PAIR_TOO_MANY;
    walk->count++;
    walk->values[slot] = a;
    walk->answers[slot] = (intptr_t)b;  // the last that it was compared with
    return WALK_PAIR_NEW;
}

intptr_t walk_from(const Value *value, WalkRule *rule, intptr_t unknown, const void *context) {
    ValueWalk walk;
    walk_start(&walk, rule, unknown, context);
    return walk_ask(&walk, value);
}
