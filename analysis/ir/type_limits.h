// What numbers an element type has room for, as finfo and iinfo of PyTorch and NumPy tell.
#ifndef TAD_ANALYSIS_IR_TYPE_LIMITS_H
#define TAD_ANALYSIS_IR_TYPE_LIMITS_H

#include "analysis/ir/type.h"

typedef struct TypeLimits {
    bool is_float;
    double high, tiny,
        eps;  // of floats: the largest number, the smallest normal one, what 1 and the next one differ by
    int64_t most, least;  // of whole numbers
    int bits;
} TypeLimits;

/// False for types whose limits are not known here.
bool type_limits(DTypeCode code, TypeLimits *limits);
/// The code named as PyTorch and NumPy do (`half`, `float8_e4m3fn`), or as Triton does; else DTYPE_UNKNOWN.
DTypeCode dtype_from_library_name(Str name);

#endif
