// The tile IR: static single assignment with structured regions (for, while, if); loop-carried values are region arguments.
// One IR serves analysis (symbolic constexprs), execution (constexprs bound) and differentiation.
#ifndef TAD_ANALYSIS_IR_H
#define TAD_ANALYSIS_IR_H

#include "analysis/constant.h"
#include "analysis/source.h"

typedef struct Op Op;
typedef struct Region Region;
typedef struct Function Function;

/// One SSA value: a result of an op or an argument of a region.
struct Value {
    int id;  // unique in its function, in creation order
    Type type;
    Op *op;                    // defining op, or NULL for a region argument
    Region *region;            // the region it is an argument of, or NULL
    int index;                 // result or argument number
    const char *name;          // the user's name for it, or NULL
    const Constant *constant;  // when its value is known
    bool is_chosen;            // a parameter: what the launcher's caller picks (launch_note_chosen)
    bool may_be_zero;          // a parameter: a stride that a launcher sets to 0 on one of its ways
    Range range;               // of the expression that made it
};

/// Where an inlined helper was called from (innermost first).
typedef struct CallSite {
    Range range;
    const FunctionDefinition *callee;
    const struct CallSite *outer;
} CallSite;

typedef struct Keyword {
    const char *name;
    Value *value;
} Keyword;

struct Op {
    OpCode code;
    int id;
    Value **operands;  // table ops: one per parameter of its row, NULL where omitted
    int operand_count;
    Value **results;
    int result_count;
    Region **regions;
    int region_count;
    Keyword *keywords;  // extra keywords of tl.range / tl.static_range, kept for emission
    int keyword_count;
    Range range;
    const CallSite *call;
    const char *
        note;  // OP_UNKNOWN: what was not understood; OP_TUPLE: the names of its items, or NULL; loops: an emitted comment;
               // an address: that it is in the backward's own memory, which is never None
    Region *parent;
    Op *previous;
    Op *next;
    int number;  // rises along the region, where that is numbered
};

/// A list of ops with arguments. Loop bodies, arms and combine functions end in OP_YIELD
/// (a while's condition region in OP_CONDITION); a kernel's body ends without one.
struct Region {
    Value **arguments;
    int argument_count;
    Op *first;
    Op *last;
    Op *parent;        // the op that owns it, NULL for a function's body
    bool is_numbered;  // until an op is added (autodiff/order.c)
};

typedef struct Parameter {
    const char *name;
    Value *value;  // argument of the body region
    bool is_constexpr;
    bool is_optional;  // compared with None, or defaults to None
    bool is_stored;    // something is stored through it
    bool is_loaded;
    bool may_be_descriptor;  // a pointer, where the launcher does not make the descriptor itself
    bool may_have_contents;  // a launcher passes what is not certainly new memory (launches_note)
    bool
        comes_from_tensor;  // a number that a launcher reads off a tensor it is given (launches_note)
    bool has_contents;      // and the backward gives the gradient of what was there before
    Str annotation;         // as written, empty when none
    const Constant *default_value;  // NULL when none or not a constant
    Str default_text;               // as written, empty when none
    Range range;
} Parameter;

struct Function {
    Arena *arena;
    const char *name;
    const FunctionDefinition *definition;
    Parameter *parameters;
    int parameter_count;
    Region *body;
    int value_count;
    int op_count;
    Map shared;  // build.c: constexpr expressions by their text, so that equal ones are one value
    Map sightings;  // lower.c: what expressions of the kernel's own text came to; asked by function_value_at
    Map inlined;  // the same of names in helpers of the file: node id -> Map; asked by function_inlined_at
};

/* Shapes of the structural ops.
 *
 * OP_FOR    operands: lower, upper, step, then initial values; region 0: arguments (iv, carried...), OP_YIELD next values;
 *           results: final values. `is_static` range: code OP_STATIC_FOR, same shape.
 * OP_WHILE  operands: initial values; region 0 (condition): arguments carried, ends in OP_CONDITION(cond);
 *           region 1 (body): arguments carried, ends in OP_YIELD; results: final values.
 * OP_IF     operands: condition; regions then, else (both always there), each ends in OP_YIELD; results: the yielded values.
 *           A `return` in the middle puts the rest of the function into the other arm.
 *           An arm that does not define a variable yields OP_UNDEFINED.
 * OP_TUPLE  operands: items. OP_ITEM(tuple, index).
 * OP_CONSTANT no operands; the result's `constant` is set.
 * OP_UNKNOWN any operands, one result of TYPE_UNKNOWN, `note`.
 * OP_REDUCE, OP_ASSOCIATIVE_SCAN with a user's combine function: region 0, arguments (a items..., b items...), OP_YIELD items.
 */

/// Where new ops go. Copy it to save a position.
typedef struct Builder {
    Function *function;
    Region *region;
    Op *before;  // insert before this op; NULL: at the end of the region
    Range range;
    const CallSite *call;
    struct Diagnostics *diagnostics;  // type errors go here; NULL to drop them
} Builder;

Function *function_new(Arena *arena, const char *name);
Value *function_add_parameter(Function *function, const char *name, Type type);
Region *region_new(Function *function);
Value *region_add_argument(Function *function, Region *region, Type type, const char *name);

/// Appends an op without folding or inference: results get TYPE_UNKNOWN. `operands` is copied.
Op *op_append(Builder *builder, OpCode code, Value *const *operands, int operand_count,
              int result_count);
Region *op_add_region(Builder *builder, Op *op);
void op_set_operand(Op *op, int index, Value *value);
void op_append_operand(Function *function, Op *op, Value *value);
Value *op_append_result(Function *function, Op *op, Type type);
void op_remove(Op *op);
/// Every use of `from` in `region` and below becomes `to`.
void region_replace_uses(Region *region, const Value *from, Value *to);
/// Whether `value` is defined inside `region` or a region below it.
bool region_defines(const Region *region, const Value *value);
/// The terminator (OP_YIELD or OP_CONDITION), or NULL.
Op *region_terminator(const Region *region);

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
/// Whether the value is an integer by guess alone: it comes from a parameter for which a caller may pass a float. `depth`: 0.
bool value_may_be_real(const Value *value, int depth);
/// Whether the value is float32 by guess alone: it meets what may be float64, as the elements of a pointer may. `depth`: 0.
bool value_may_be_double(const Value *value, int depth);
/// Whether the value is a constexpr parameter that is a tuple of integers, which nobody knows yet.
bool value_is_open_tuple(const Value *value);
/// OP_TUPLE of the type's dims as values (constants or constexpr expressions). NULL where a dim is not understood.
Value *build_shape(Builder *builder, Type type);
Value *build_poly(Builder *builder, const Poly *poly);
Value *build_unknown(Builder *builder, const char *note);

/// Copies ops of `from` (terminator excluded) into the builder's place; `values` maps old to new values
/// (Map by pointer) and is extended. Operands not in the map are kept.
void region_clone_into(Builder *builder, const Region *from, Map *values);
/// The last op it made, or the existing one where the clone is a shared constexpr expression.
Op *op_clone(Builder *builder, const Op *op, Map *values);
/// The type with the values in its dims replaced as the map says.
Type type_mapped(Arena *arena, Type type, const Map *values);
/// build.c: the shared value of a constexpr op over other operands, or NULL where it is none.
Value *op_clone_shared(Builder *builder, const Op *op, Value *const *operands);
static inline Value *value_mapped(const Map *values, Value *value) {
    Value *mapped = value ? map_get_pointer(values, value) : NULL;
    return mapped ? mapped : value;
}

/// Walks every op of a region, outer before inner; stops when `visit` returns false.
typedef bool OpVisitor(void *context, Op *op);
bool region_walk(const Region *region, OpVisitor *visit, void *context);
/// Whether every operation, and the type of each value, is known. Globals computed elsewhere may be open.
bool function_is_understood(const Function *function);

/// Readable text, the `--dump ir` form; stable, for golden tests.
const char *function_print(Arena *arena, const Function *function);
/// Our own invariants: dominance, terminators, operand counts. NULL when they hold, else what does not.
const char *function_verify(Arena *arena, const Function *function);

/// An integer from 2^63 up to 2^64 - 1.
bool value_is_int(const Value *value, int64_t *integer);   // constant int or bool
bool value_is_number(const Value *value, double *number);  // constant int, bool or float
bool value_is_none(const Value *value);
bool value_is_bool(const Value *value, bool *boolean);

#endif
