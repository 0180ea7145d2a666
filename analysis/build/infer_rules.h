// What the files of type inference share: one op being typed, and how to read its operands. Private to infer*.c.
#ifndef TAD_ANALYSIS_BUILD_INFER_RULES_H
#define TAD_ANALYSIS_BUILD_INFER_RULES_H

#include "analysis/build/infer.h"

typedef struct Inference {
    Arena *arena;
    Op *op;
    Diagnostics *diagnostics;  // may be NULL
} Inference;

/// The operand, or NULL where it is omitted or None.
Value *infer_operand(const Inference *inference, int index);
/// The operand of the parameter named `name`.
Value *infer_operand_named(const Inference *inference, const char *name);
/// The type of an operand; TYPE_UNKNOWN where it is omitted.
Type infer_operand_type(const Inference *inference, int index);
/// The n-th operand as a known constant flag; `missing` where it is omitted. False in the result where it is not known.
bool infer_flag(const Value *value, bool missing, bool *flag);

Type type_number(DType element, int rank, const Poly *const *dims);
/// `type` with other dims.
Type type_reshaped(Type type, int rank, const Poly *const *dims);
/// `axis` counted from the front; false where it is not known or (with an error) outside of `rank`.
bool infer_axis(const Inference *inference, const Value *axis, int rank, int *result);
/// Whether a tile may have so many axes; where not, that is said.
bool infer_rank_fits(const Inference *inference, int rank);
/// Dims from a tuple of constexpr values or one such value. False where the number of them is not known, or too large.
bool infer_dims(const Inference *inference, const Value *shape, int *rank, const Poly ***dims);
/// The broadcast of two types' shapes with an error at `op` when they certainly do not broadcast.
bool infer_broadcast(const Inference *inference, Type a, Type b, int *rank, const Poly **dims);
/// The element type that a dtype operand names; DTYPE_ANY_NUMBER where it is not known, `*is_pointer` for pointer types.
DType infer_dtype_operand(const Value *value, bool *is_pointer);
void infer_error(const Inference *inference, DiagnosticId id, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void infer_set(const Inference *inference, int result, Type type);

/// Python's operators and what Triton computes at compile time too: constexpr where all operands are.
bool op_stays_constexpr(OpCode code);

#endif
