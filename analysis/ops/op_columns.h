// Include before analysis/ops/ops.def to pick some columns out of its rows: every column not defined by the
// includer becomes empty. Include op_columns_end.h afterwards. No include guard: it is used repeatedly.
//     #define OP(id, ...) static double value_##id(double a, double b, double c) { __VA_ARGS__ }
//     #define VALUE(...) return (__VA_ARGS__);
//     #include "analysis/ops/op_columns.h"
//
//     #include "analysis/ops/ops.def"
//
//     #include "analysis/ops/op_columns_end.h"
// (the empty lines keep clang-format from sorting them)
#ifndef KIND
#define KIND(...)
#endif
#ifndef NAME
#define NAME(...)
#endif
#ifndef ALIASES
#define ALIASES(...)
#endif
#ifndef METHOD
#define METHOD(...)
#endif
#ifndef SYMBOL
#define SYMBOL(...)
#endif
#ifndef PRECEDENCE
#define PRECEDENCE(...)
#endif
#ifndef PARAMS
#define PARAMS(...)
#endif
#ifndef SHAPE
#define SHAPE(...)
#endif
#ifndef ELEMENT
#define ELEMENT(...)
#endif
#ifndef EFFECT
#define EFFECT(...)
#endif
#ifndef VALUE
#define VALUE(...)
#endif
#ifndef TRAITS
#define TRAITS(...)
#endif
#ifndef ZERO
#define ZERO(...)
#endif
#ifndef BITS
#define BITS(...)
#endif
#ifndef SLOPE
#define SLOPE(...)
#endif
#ifndef GRAD
#define GRAD(...)
#endif
#ifndef GRAD_NONE
#define GRAD_NONE
#endif
#ifndef GRAD_UNSUPPORTED
#define GRAD_UNSUPPORTED(...)
#endif
#ifndef GRAD_SPECIAL
#define GRAD_SPECIAL
#endif
#ifndef EXPANDS
#define EXPANDS(...)
#endif
#ifndef SINCE
#define SINCE(...)
#endif
#ifndef UNTIL
#define UNTIL(...)
#endif
#ifndef INSTEAD
#define INSTEAD(...)
#endif
#ifndef DOC
#define DOC(...)
#endif
