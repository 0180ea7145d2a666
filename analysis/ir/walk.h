// A walk from a value back to what it is made of, over values that others share.
// The ways from a value to another double with each `m = m * m + m`, while the values are few. So a walk asks once about each
// value and remembers the answer. Of a walk that met too many values, or one that runs in a circle, the answer is the one that
// its caller is right under: `unknown`.
#ifndef TAD_ANALYSIS_WALK_H
#define TAD_ANALYSIS_WALK_H

#include "analysis/ir/ir.h"
#include "analysis/ir/limits.h"

typedef struct ValueWalk ValueWalk;

/// What a value comes to, of what walk_ask says of its operands.
typedef intptr_t WalkRule(ValueWalk *walk, const Value *value);

struct ValueWalk {
    WalkRule *rule;
    intptr_t unknown;     // the answer where the walk ends early
    const void *context;  // the rule's own
    int count;
    const Value *values[2 * WALK_MOST_VALUES];  // by hash
    intptr_t answers[2 * WALK_MOST_VALUES];
};

/// A walk that has asked nothing yet; it lives on the stack.
void walk_start(ValueWalk *walk, WalkRule *rule, intptr_t unknown, const void *context);
/// The rule's answer for `value`, which may be NULL.
intptr_t walk_ask(ValueWalk *walk, const Value *value);
/// Whether two values are asked about together for the first time. A walk over pairs needs no rule: who compares operand by operand
/// takes a known pair for equal, for else it would have ended, and too many for different.
typedef enum WalkPair { WALK_PAIR_NEW, WALK_PAIR_KNOWN, WALK_PAIR_TOO_MANY } WalkPair;
WalkPair walk_pair(ValueWalk *walk, const Value *a, const Value *b);
/// One walk from `value`.
intptr_t walk_from(const Value *value, WalkRule *rule, intptr_t unknown, const void *context);

#endif
