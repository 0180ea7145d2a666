// What arguments of operations may be, where that is one of a few texts. Private to features/.
#ifndef TAD_FEATURES_NAMES_VALUES_H
#define TAD_FEATURES_NAMES_VALUES_H

#include <string.h>

#include "analysis/ops/op.h"
#include "base/list.h"

typedef struct ArgumentValue {
    const char *text;  // as written: "\"ieee\"", "True"
    const char *doc;
} ArgumentValue;
typedef struct ArgumentValues {
    LIST(ArgumentValue) list;
} ArgumentValues;

/// The known values of `parameter` (of any operation; some differ between loads and stores). Empty where it takes anything.
ArgumentValues argument_values(Arena *arena, OpCode code, Str parameter);
/// What the parameter means, or NULL.
const char *argument_documentation(OpCode code, Str parameter);

#endif
