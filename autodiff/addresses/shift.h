// Gauge invariance: does anything that leaves the kernel change when some values are shifted by a common constant?
// (scheduling.md, section 2.3.) Where nothing does, no gradient flows through them, whatever their value.
#ifndef TAD_AUTODIFF_ADDRESSES_SHIFT_H
#define TAD_AUTODIFF_ADDRESSES_SHIFT_H

#include "analysis/ir/ir.h"

/// True where shifting every value of `seeds` (Map by pointer) by the same constant c provably leaves all stores,
/// addresses, masks and conditions of the function as they are. `relaxed` (Map by pointer, may be NULL): initial values
/// of carried values whose own scaling does not matter because the shift-invariant value starts at minus infinity.
/// `held` (Map by pointer, may be NULL): values of which nothing depends, so that they may be taken to stay, whatever the seeds do to
/// them: a maximum that was found invisible by itself, each time that it is computed.
bool shift_is_invisible(Arena *arena, const Function *function, const Map *seeds,
                        const Map *relaxed, const Map *held);

/// What becomes of a state of a loop for a number c of each row.
typedef struct StateShift {
    enum {
        STATE_STAYS,
        STATE_SHIFTED,  // x + amount * c
        STATE_SCALED,   // x * exp(amount * c)
    } kind;
    double amount;
    unsigned axes;      // along which c varies, counted from the last (bit 0)
    const Value *unit;  // that the amount is counted in, or NULL for 1
} StateShift;

/// A number that is the same in all lanes and iterations, as `*number` times `*unit`: a float that the launch passes, or
/// that the kernel makes before its loops. The unit of a written number is NULL. False where it is neither, or 0.
bool value_as_unit(const Value *value, double *number, const Value **unit);

/// True where all stores, addresses, masks and conditions of the function provably stay as they are when the results of
/// `loop`, whatever it does, are changed as `states` says: one for each result, with one c for a row.
bool states_may_be_scaled(Arena *arena, const Function *function, const Op *loop,
                          const StateShift *states);

/// What becomes of each value of a function when one is shifted.
typedef struct ShiftedValues ShiftedValues;

/// When `seed` is shifted by a number c of each of its elements; NULL where anything that leaves the function may change. Of a result of
/// a loop, `base` is not 0: the loop's other results of its shape are scaled by exp(-base * c). `held`: as for shift_is_invisible.
const ShiftedValues *values_when_shifted(Arena *arena, const Function *function, const Value *seed,
                                         double base, const Map *held);
/// What becomes of a value. False where it is not known.
bool value_when_shifted(const ShiftedValues *shifted, const Value *value, StateShift *shift);

#endif
