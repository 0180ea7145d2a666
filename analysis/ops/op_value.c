// The VALUE column as a function, for who asks what an operation makes of some number.
#include <math.h>

#include "analysis/ops/op.h"

bool op_value(OpCode code, double a, double b, double c, double *value) {
    switch (code) {
#define OP(id, ...)                                                                                \
    case OP_##id: {                                                                                \
        __VA_ARGS__                                                                                \
        break;                                                                                     \
    }
#define VALUE(...)                                                                                 \
    *value = (double)(__VA_ARGS__);                                                                \
    return true;
#include "analysis/ops/op_columns.h"

#include "analysis/ops/ops.def"

#include "analysis/ops/op_columns_end.h"
    case OP_COUNT: break;
    }
    (void)a, (void)b, (void)c;
    return false;
}
