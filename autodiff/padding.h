// Inside autodiff/: what lanes beyond a mask hold along one axis, and what operations make of that.
#ifndef TAD_AUTODIFF_PADDING_H
#define TAD_AUTODIFF_PADDING_H

#include <math.h>

#include "analysis/ir.h"

/// What the lanes beyond the mask hold along one axis. In the order of what a join of two becomes.
typedef enum PadKind {
    PAD_CONSTANT,   // the same number in all lanes
    PAD_ORDINARY,   // as in the lanes that count: finite, fit to divide by
    PAD_KNOWN,      // this number, there alone
    PAD_ODD,        // finite, maybe 0
    PAD_UNBOUNDED,  // finite or minus infinity
    PAD_BAD,        // maybe no number at all
} PadKind;

/// Of an integer: how it moves along the axis.
typedef enum Slope { SLOPE_NONE, SLOPE_UP, SLOPE_DOWN, SLOPE_ANY } Slope;

typedef struct PadAxis {
    PadKind kind;
    double number;  // PAD_CONSTANT, PAD_KNOWN
    Slope slope;
    Value
        *label;  // a mask along this axis, of rank 1: an upstream gradient is 0 beyond it; or NULL
    Value *
        beyond;  // the mask, of rank 1, of the load that PAD_KNOWN comes from, where that put infinity there; or NULL
} PadAxis;

static const PadAxis pad_ordinary = {.kind = PAD_ORDINARY};
static const PadAxis pad_odd = {.kind = PAD_ODD};
static const PadAxis pad_bad = {.kind = PAD_BAD};

static inline PadAxis pad_number(PadKind kind, double number) {
    return isnan(number) ? pad_bad : (PadAxis){.kind = kind, .number = number};
}

static inline bool pad_has_number(PadAxis a) {
    return a.kind == PAD_CONSTANT || a.kind == PAD_KNOWN;
}
static inline bool pad_is_infinite(PadAxis a) { return pad_has_number(a) && isinf(a.number); }
static inline bool pad_is_zero(PadAxis a) { return pad_has_number(a) && a.number == 0; }
/// 0 in every lane, whatever mask one asks about.
static inline bool pad_is_nothing(PadAxis a) { return a.kind == PAD_CONSTANT && a.number == 0; }

/// Either of two: of two turns of a loop, of two arms, of lanes that a condition tells apart everywhere alike.
PadAxis pad_join(PadAxis a, PadAxis b);
PadAxis pad_product(PadAxis a, PadAxis b);
/// Of two operands; `uniform`: the operand does not vary along the axis.
PadAxis pad_of_binary(OpCode code, PadAxis a, PadAxis b, bool a_uniform, bool b_uniform);
PadAxis pad_of_unary(OpCode code, PadAxis a);
PadAxis pad_of_comparison(OpCode code, PadAxis a, PadAxis b);
/// Of OP_WHERE.
PadAxis pad_chosen(const Op *op, PadAxis condition, PadAxis x, PadAxis y);
/// How an integer moves that is computed from two.
Slope slope_of_binary(OpCode code, Slope a, Slope b);
/// ==, !=, <, <=, >, >=.

#endif
