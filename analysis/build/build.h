// The usual way to make ops: constants folded, equal constexpr expressions shared, types inferred.
#ifndef TAD_ANALYSIS_BUILD_BUILD_H
#define TAD_ANALYSIS_BUILD_BUILD_H

#include "analysis/ir/ir.h"

/// The usual way to make an op: folds constants, shares equal constexpr expressions (these are put at the start of the
/// function, or right after what they depend on), infers the result's type (infer.h) and appends. `operands` are by the
/// row's parameters (NULL: omitted; trailing ones may be left out). Where the op has several results (split, max with
/// indices, a reduce over a tuple, rand4x...) the value is the OP_TUPLE of them; where it has none, NULL.
Value *build(Builder *builder, OpCode code, Value *const *operands, int operand_count);
Value *build_unary(Builder *builder, OpCode code, Value *a);
Value *build_binary(Builder *builder, OpCode code, Value *a, Value *b);
Value *build_ternary(Builder *builder, OpCode code, Value *a, Value *b, Value *c);
Value *build_constant(Builder *builder, Constant constant);
Value *build_int(Builder *builder, int64_t value);
Value *build_float(Builder *builder, double value);
Value *build_bool(Builder *builder, bool value);
Value *build_none(Builder *builder);
Value *build_string(Builder *builder, const char *text);
Value *build_dtype(Builder *builder, DType dtype);
Value *build_tuple(Builder *builder, Value *const *items, int count);
/// Whether the value is an integer by guess alone: it comes from a parameter for which a caller may pass a float.
bool value_may_be_real(const Value *value);
/// Whether the value is float32 by guess alone: it meets what may be float64, as the elements of a pointer may.
bool value_may_be_double(const Value *value);
/// OP_TUPLE of the type's dims as values (constants or constexpr expressions). NULL where a dim is not understood.
Value *build_shape(Builder *builder, Type type);
Value *build_poly(Builder *builder, const Poly *poly);
Value *build_unknown(Builder *builder, const char *note);
/// build.c: the shared value of a constexpr op over other operands, or NULL where it is none.
Value *op_clone_shared(Builder *builder, const Op *op, Value *const *operands);
/// Whether `a` stands before `b`. Both are of one region.
bool op_comes_before(const Op *a, const Op *b);

#endif
