// Inside autodiff/spans: numbers of each program of a launch, as Python over all its programs at once.
#ifndef TAD_AUTODIFF_SPANS_SPAN_TEXT_H
#define TAD_AUTODIFF_SPANS_SPAN_TEXT_H

#include "autodiff/state/differentiation.h"

/// How numbers depend on the ids along an axis of the grid: on all of them, on `id // quotient`, on `id % rest`.
typedef struct AxisUse {
    bool is_whole;
    Value *quotient, *rest;
} AxisUse;

/// What numbers are made of.
typedef struct SpanUses {
    AxisUse axes[PROGRAM_AXES];
    bool loads;    // something is read from memory
    bool is_open;  // of more than is understood
} SpanUses;

/// What programs are numbered by along an axis: their ids, or a digit of these.
typedef enum Driver { DRIVER_NONE, DRIVER_ID, DRIVER_QUOTIENT, DRIVER_REST } Driver;

typedef struct SpanText {
    Arena *arena;
    Differentiation *state;
    SpanUses uses;  // of all that is said
    Driver drivers[PROGRAM_AXES];
    int driver_count;
    int parts;          // that were said so far
    const char *reads;  // a parameter that is read from
} SpanText;

/// What has to hold: a scalar, on the first side of its branch or on the other; or a number that is at least 1.
typedef struct StoreCondition {
    Value *value;
    bool is_first, is_flag;
    const Poly *positive;
} StoreCondition;

/// Adds what a number is made of.
void span_note(const SpanText *text, SpanUses *uses, Value *value);
void span_note_poly(const SpanText *text, SpanUses *uses, const Poly *poly);
/// Whether both depend on ids along one axis.
bool span_uses_meet(const SpanUses *a, const SpanUses *b);
/// Whether all that `other` depends on are axes, or digits of ids, that `text->uses` does not depend on.
bool span_uses_are_apart(const SpanText *text, const SpanUses *other);
/// Decides, with all uses noted, what programs are numbered by. False where it is something else than ids, their digits and memory.
bool span_settle(SpanText *text);
/// As Python, with `@0`, `@1` for the numbers of programs; NULL where nobody can say it.
const char *span_poly_text(SpanText *text, const Poly *poly);
const char *span_number_text(SpanText *text, Value *value);
const char *span_condition_text(SpanText *text, const StoreCondition *condition);
/// How many programs there are along each of the axes, as a list over `grid.0`; NULL likewise.
const char *span_counts_text(SpanText *text);

#endif
