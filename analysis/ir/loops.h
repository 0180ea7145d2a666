// What each loop-carried value is: induction, sum, gauge (rescaled) or recurrence (scheduling.md, section 2).
#ifndef TAD_ANALYSIS_IR_LOOPS_H
#define TAD_ANALYSIS_IR_LOOPS_H

#include "analysis/ir/ir.h"

typedef enum CarriedClass {
    CARRIED_UNCHANGED,  // yields its own argument
    CARRIED_INDUCTION,  // x += c, c invariant in the loop (integers, pointers, block pointers by advance)
    CARRIED_SUM,  // acc += e (also acc = dot(a, b, acc)), the argument is not otherwise used in the body
    CARRIED_GAUGE,  // rescaled running state (online softmax): the gauge itself and the values it rescales
    CARRIED_RECURRENCE  // anything else
} CarriedClass;

typedef struct Carried {
    CarriedClass class;
    Value *
        step;  // induction: the invariant increment (outside the loop, or in the body from invariant values alone);
               // for block pointers the tuple of offsets
    bool negated;  // induction: `step` is subtracted; sum: `term` is
    Value *
        term;  // sum: e (the value added), or NULL where it is inside a dot, or where there are several links
    Op *dot;  // sum: the dot whose accumulator it is
    Op **
        links;  // sum: the ops from the yielded value back to the argument: ADD, SUB, DOT, FMA, a CAST to the same type,
                // an IF whose branches both are such chains, an inner loop that sums into it
    int link_count;
    int gauge;  // gauge: index of the carried value that rescales this one (its own index for the gauge itself)
    Value *factor;  // gauge: what the argument is multiplied by, NULL for the gauge itself
} Carried;

/// One entry per carried value of an OP_FOR or OP_STATIC_FOR (operands 3...). Allocated in the arena.
Carried *loop_classify(Arena *arena, const Op *loop);
const char *carried_class_name(CarriedClass class);

/// The carried value of an OP_FOR or OP_WHILE whose former value number `index` becomes, having started as the same value; -1
/// where there is none. Triton (3.9: CodeGenerator._find_carries compares handles) takes number `index` for unchanged then.
int loop_shared_start(const Op *loop, int index);

/// Whether the operation is `around`, or is in one of its regions, however deep.
bool op_is_within(const Op *op, const Op *around);
/// Whether `value` is the same in each iteration: defined outside the loop, or in its body by pure ops of such values.
bool loop_invariant(const Op *loop, const Value *value);
/// Whether `value` can change when `on` does, through operands, regions and carried values. Stops at `stop` (may be NULL).
bool value_depends_on(Arena *arena, const Value *value, const Value *on, const Value *stop);

#endif
