// A compile-time value that is known, and what Python computes from such values.
#ifndef TAD_ANALYSIS_IR_CONSTANT_H
#define TAD_ANALYSIS_IR_CONSTANT_H

#include "analysis/ir/type.h"
#include "analysis/ops/op.h"

typedef struct FunctionDefinition FunctionDefinition;  // analysis/module/module.h

/// int and bool are apart, both behave as numbers.
typedef enum ConstantKind {
    CONSTANT_NONE,
    CONSTANT_BOOL,
    CONSTANT_INT,
    CONSTANT_FLOAT,
    CONSTANT_STRING,
    CONSTANT_DTYPE,     // `dtype`; `is_pointer` for tl.pointer_type
    CONSTANT_FUNCTION,  // `function`, or `op` for a built-in passed as a value
    CONSTANT_TUPLE,     // `items`
} ConstantKind;

typedef struct Constant {
    ConstantKind kind;
    int64_t
        integer;  // also 0/1 of a bool; the bits of an integer from 2^63 on, whose value `number` has
    double number;
    Str string;
    DType dtype;
    bool is_pointer;
    const FunctionDefinition *function;
    OpCode op;
    const struct Constant *items;
    int item_count;
} Constant;

static inline Constant constant_of_int(int64_t value) {
    return (Constant){.kind = CONSTANT_INT, .integer = value, .number = (double)value};
}
static inline Constant constant_of_bool(bool value) {
    return (Constant){.kind = CONSTANT_BOOL, .integer = value, .number = value};
}
static inline Constant constant_of_float(double value) {
    return (Constant){.kind = CONSTANT_FLOAT, .number = value};
}
static inline Constant constant_of_string(Str value) {
    return (Constant){.kind = CONSTANT_STRING, .string = value};
}
static inline Constant constant_of_dtype(DTypeCode code) {
    return (Constant){.kind = CONSTANT_DTYPE, .dtype = dtype_of(code)};
}

const Constant *constant_new(Arena *arena, Constant constant);

/// A whole number or a bool.
typedef void ConstantWriter(Buffer *out, const Constant *constant);
/// A tuple as Python writes it, each item by `write`: "()", "(1,)", "(1, 2)".
void constant_write_tuple(Buffer *out, const Constant *tuple, ConstantWriter *write);

bool constant_is_int(const Constant *constant);
bool constant_is_number(const Constant *constant);
double constant_number(const Constant *constant);
bool constant_is_beyond_int64(const Constant *constant);
bool constant_truth(const Constant *constant);
/// As `==` of Python; false in `*known` where that depends on the run-time kernel arguments.
bool constant_equal(const Constant *a, const Constant *b, bool *known);
/// What an operator, `not`, `min` or `max` makes of numbers; of truth values in the case of `not`. `b` is NULL where the operator
/// takes one. False where there is no such value or it does not fit.
bool constant_apply(OpCode code, const Constant *a, const Constant *b, Constant *result);

#endif
