// What each loop-carried value is: induction, sum, gauge (rescaled) or recurrence (scheduling.md, section 2).
#ifndef TAD_ANALYSIS_LOOPS_H
#define TAD_ANALYSIS_LOOPS_H

#include "analysis/ir.h"

typedef enum CarriedClass {
    CARRIED_UNCHANGED, // yields its own argument
    CARRIED_INDUCTION, // x += c, c invariant in the loop (integers, pointers, block pointers by advance)
    CARRIED_SUM,       // acc += e (also acc = dot(a, b, acc)), the argument is not otherwise used in the body
    CARRIED_GAUGE,     // rescaled running state (online softmax)
    CARRIED_RECURRENCE // anything else
} CarriedClass;

typedef struct Carried {
    CarriedClass class;
    Value *step; // induction: the invariant increment (defined outside the loop); for block pointers a tuple of offsets
    Value *term; // sum: e (the value added), or NULL where it is inside a dot
    Op *dot;     // sum: the dot whose accumulator it is
} Carried;

/// One entry per carried value of an OP_FOR or OP_STATIC_FOR (operands 3...). Allocated in the arena.
Carried *loop_classify(Arena *arena, const Op *loop);
const char *carried_class_name(CarriedClass class);

#endif
