// The tile IR: static single assignment with structured regions (for, while, if); loop-carried values are region arguments.
// One IR serves analysis (symbolic constexprs), execution (constexprs bound) and differentiation.
#ifndef TAD_ANALYSIS_IR_IR_H
#define TAD_ANALYSIS_IR_IR_H

#include "analysis/ir/constant.h"
#include "analysis/syntax/source.h"

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

/// A list of ops with arguments. Loop bodies, branches and combine functions end in OP_YIELD
/// (a while's condition region in OP_CONDITION); a kernel's body ends without one.
struct Region {
    Value **arguments;
    int argument_count;
    Op *first;
    Op *last;
    Op *parent;        // the op that owns it, NULL for a function's body
    bool is_numbered;  // until an op is added (autodiff/rewrite/order.c)
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
    bool is_saved;          // what is stored there is for the backward alone (autodiff/saving)
    bool has_contents;      // and the backward gives the gradient of what was there before
    Str annotation;         // as written, empty when none
    const Constant *default_value;  // NULL when none or not a constant
    Str default_text;               // as written, empty when none
    Range range;
} Parameter;

/// `whole >= times * count * part`, of constexpr parameters by their names; `count` may be NULL.
typedef struct BlockParts {
    const char *whole, *count, *part;
    int64_t times;
    bool is_used;  // something rests on it
} BlockParts;

struct Function {
    Arena *arena;
    const char *name;
    const FunctionDefinition *definition;
    const Function *
        general;  // the kernel as it was lowered first, of which this is a copy or a special case; or NULL
    Parameter *parameters;
    int parameter_count;
    Region *body;
    int value_count;
    int op_count;
    bool is_cut;        // a limit was reached: what the kernel does beyond is missing
    BlockParts *parts;  // what a derivation takes for granted of blocks; shared with copies
    int part_count;
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
 *           A `return` in the middle puts the rest of the function into the other branch.
 *           A branch that does not define a variable yields OP_UNDEFINED.
 * OP_TUPLE  operands: items. OP_ITEM(tuple, index).
 * OP_CONSTANT no operands; the result's `constant` is set.
 * OP_GIVEN  operands: the helper, the element type of the result (a type, or the number of the argument that has it), whether
 *           differences of the helper say something of its derivative, a bit for each argument that may have a gradient, then an
 *           argument for each parameter; `note`: why its
 *           rule cannot be used, or NULL.
 * OP_UNKNOWN any operands, one result of TYPE_UNKNOWN, `note`.
 * OP_REDUCE, OP_ASSOCIATIVE_SCAN with a user's combine function: region 0, arguments (a items..., b items...), OP_YIELD items.
 */

enum { GIVEN_ARGUMENTS = 4 };  // operands of an OP_GIVEN before its arguments

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

/// The note of an OP_BROADCAST_TO that a merge of branches made, of a tile that is wider in the other one.
#define SPREAD_NOTE "wider in the other branch"

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

/// A tuple of so many values that the lowering made.
bool value_is_tuple(const Value *value, int *count);
/// Whether the value is a parameter that is a tuple of integers, which nobody knows yet.
bool value_is_open_tuple(const Value *value);

/// The type with the values in its dims replaced as the map says.
Type type_mapped(Arena *arena, Type type, const Map *values);
static inline Value *value_mapped(const Map *values, Value *value) {
    Value *mapped = value ? map_get_pointer(values, value) : NULL;
    return mapped ? mapped : value;
}

/// Walks every op of a region, outer before inner; stops when `visit` returns false.
typedef bool OpVisitor(void *context, Op *op);
bool region_walk(const Region *region, OpVisitor *visit, void *context);
/// Whether every operation, and the type of each value, is known. Globals computed elsewhere may be open.
bool function_is_understood(const Function *function);

/// An integer from 2^63 up to 2^64 - 1.
bool value_is_int(const Value *value, int64_t *integer);   // constant int or bool
bool value_is_number(const Value *value, double *number);  // constant int, bool or float
bool value_is_none(const Value *value);
bool value_is_bool(const Value *value, bool *boolean);
/// Whether a cast makes whole numbers of whole numbers, each what it was: of 32 bits or more, or of no fewer than before.
bool op_keeps_numbers(const Op *op);
/// Pure: the same operands give the same result and nothing else happens. Random numbers are pure (they are replayed).
bool op_is_pure(const Op *op);
/// Whether whole numbers are made that may wrap around: those of fewer than 32 bits do at once.
bool value_may_wrap(const Value *value);

#endif
