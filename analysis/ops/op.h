// The operation table: one row of ops.def per operation drives lowering, typing, execution, differentiation, emission and help.
#ifndef TAD_ANALYSIS_OPS_OP_H
#define TAD_ANALYSIS_OPS_OP_H

#include "base/text.h"

typedef enum OpCode {
#define OP(id, ...) OP_##id,
#include "analysis/ops/ops.def"
#undef OP
    OP_COUNT
} OpCode;

/// How a row takes part in the IR.
typedef enum OpKind {
    KIND_ORDINARY = 0,  // operands are its parameters
    KIND_STRUCTURAL,    // FOR, IF, CONSTANT, TUPLE...: built by the lowering, never by name
    KIND_EXPANDS,  // defined by EXPANDS(...) in Triton source and inlined; never appears in the IR
    KIND_HINT,  // no value (static_print, debug_barrier, assume, static_assert...) or its first operand (multiple_of)
    KIND_REMOVED,  // a name that older or newer Triton had: a diagnostic says what to use instead
} OpKind;

typedef enum OpShape {  // shape of the result
    SHAPE_SPECIAL = 0,  // a case in infer.c
    SHAPE_SAME,         // of the first operand
    SHAPE_BROADCAST,    // of all tile operands together
    SHAPE_SCALAR,
    SHAPE_REDUCED,  // first operand without `axis` (all of it when axis is None), keep_dims honoured
} OpShape;

typedef enum OpDType {    // element type of the result
    ELEMENT_SPECIAL = 0,  // a case in infer.c
    ELEMENT_SAME,         // of the first operand
    ELEMENT_PROMOTE,      // Triton's promotion of the operands
    ELEMENT_DIVIDE,       // promotion of true division: ints become float32
    ELEMENT_FLOAT,        // of the first operand, which must be a float (ints become float32)
    ELEMENT_BOOL,
    ELEMENT_INT32,
    ELEMENT_INT64,
    ELEMENT_FLOAT32,
    ELEMENT_FLOAT64,
    ELEMENT_POINTEE,  // of what the first operand points to
    ELEMENT_NONE,     // no result
} OpDType;

enum {
    EFFECT_PURE = 0,
    EFFECT_READS = 1,   // memory
    EFFECT_WRITES = 2,  // memory
    EFFECT_ATOMIC = 4,
    EFFECT_RANDOM = 8,   // replayed, not differentiated (still a function of its operands)
    EFFECT_ORDERED = 16  // must stay where it is (barriers, prints, asserts)
};

/// What holds of an operation, whatever its operands are. A row that does not say so is not known to have it: who asks takes
/// the safe side. tests/unit/traits.c tries on numbers what can be tried.
enum {
    TRAIT_FINITE = 1 << 0,  // finite wherever its operands are (of a size whose square is a float)
    TRAIT_MONOTONE = 1
        << 1,  // rises or falls with each operand on either side of 0: over a box its extremes lie at the ends and at 0
    TRAIT_SHIFTS = 1 << 2,  // a number added to all its operands is added to its result
    TRAIT_MOVES = 1 << 3,   // its elements are elements of its operands
    TRAIT_LINEAR = 1 << 4,  // of the sum of two operands (or lists of them) it is the sum
    TRAIT_GROWS = 1
        << 5,  // no bound and no logarithm: large where its operands are (as what is linear)
    TRAIT_LAYOUT = 1
        << 6,  // the elements of its first operand, all of them, in another shape or order
    TRAIT_ORDERED = 1
        << 7,  // the same, and they keep their order: axes are added, split, joined or repeated
    TRAIT_LOOP = 1 << 8,       // a region that runs several times
    TRAIT_COMPARES = 1 << 9,   // == != < <= > >=
    TRAIT_ORDERS = 1 << 10,    // < <= > >=
    TRAIT_LOGICAL = 1 << 11,   // truths to a truth
    TRAIT_INTEGERS = 1 << 12,  // its operands are whole numbers or truths
    TRAIT_WIDE = 1 << 13,      // Triton compiles it for floats of 32 and 64 bits only
    TRAIT_RUNTIME = 1 << 14,   // its result is of the running program, never a constexpr
    TRAIT_COLLECTS = 1
        << 15,  // an atomic update that comes to the same in whatever order programs run
    TRAIT_PRODUCT = 1 << 16,  // a product of matrices: what it costs depends on its tiles
    TRAIT_BOTH = 1 << 17,     // of two truths: that both hold
    TRAIT_LIMITS = 1
        << 18,  // of each place the first operand's element, or a limit among the others
};

/// Where the bits of operands are in the result of an operation on whole numbers.
typedef enum OpBits {
    BITS_ANYWHERE = 0,  // not known
    BITS_NONE,          // nowhere: it is a truth, a place, a number from memory
    BITS_STAY,          // where they were
    BITS_CARRY,         // there, or above
} OpBits;

/// Which operands, where they are 0, make the result 0, whatever finite number the others are.
typedef enum OpZero {
    ZERO_NONE = 0,  // not known
    ZERO_FIRST,     // the first
    ZERO_ANY,       // any of them
    ZERO_ALL,       // all of them together
} OpZero;

/// A derivative rule column: GRAD("x: grad * result") or GRAD_NONE (declared constant) or GRAD_UNSUPPORTED("why, what to do instead").
typedef struct OpRow {
    const char *id;  // "EXP"
    OpKind kind;
    const char
        *name;  // "exp": as tl.NAME, or "libdevice.tanh"; NULL for operators and structural rows
    const char *aliases;  // "math.exp, libdevice.exp, libdevice.fast_expf": space/comma separated
    const char
        *method;  // as a tensor method: "sum"; "cast, to"; "descriptor.load" on a tensor descriptor
    const char *symbol;  // Python operator: "+", "<", "~", ...
    int precedence;      // of the operator, Python's: 1 or ... 12 **; 0: call syntax
    const char
        *parameters;  // "x, axis=None, keep_dims=False": Triton's own names and defaults, exactly
    OpShape shape;
    OpDType element;
    int effects;  // EFFECT_ bits
    const char *
        gradient;  // lines "param: expression" over the parameters, `grad`, `result`; NULL: see below
    bool
        gradient_none;  // declared without derivative: its result is constant (integers, comparisons, program ids, random)
    const char *gradient_unsupported;  // on an active path: an error with this advice
    bool
        gradient_special;  // a case in autodiff/sweep/adjoint.c (load, store, loops, dot's acc, reduce with a combine, scans)
    const char *
        expands;  // KIND_EXPANDS: Triton source of a function body: lines of statements, last `return ...`
    int traits;  // TRAIT_ bits
    OpZero zero;
    OpBits bits;
    bool has_value;  // VALUE(...): the C expression of one element is in ops.def (see op_columns.h)
    bool has_slope;  // SLOPE(...): and the derivatives of it
    const char *since;    // "3.2": first Triton that has it; NULL: before 3.0
    const char *until;    // first Triton that no longer has it
    const char *instead;  // for KIND_REMOVED or libdevice spellings
    const char *doc;      // one to three sentences of help
} OpRow;

extern const OpRow op_rows[OP_COUNT];

/// The row's code for a qualified name as Triton spells it under triton.language: "exp", "math.exp", "libdevice.exp",
/// "extra.cuda.libdevice.exp". OP_COUNT where there is none.
OpCode op_find(Str name);
/// The op of a tensor method, "sum" in x.sum(axis=0); for a descriptor's methods "descriptor.load". OP_COUNT where there is none.
OpCode op_find_method(Str name);
/// How unlike two names are: twice the edits between them, one less where `name` is the beginning.
int op_spelling_distance(Str name, Str candidate);
/// The nearest public name, for "did you mean", or NULL.
const char *op_suggest(Str name);
/// What triton.language has in place of a name of PyTorch or NumPy, or NULL.
const char *op_foreign(Str name);

/// A flag that an operation had before Triton 2.0: the operand of this number goes through another operation where it is true.
typedef struct FormerKeyword {
    OpCode code;
    const char *name;
    int operand;
    OpCode through;
    const char *instead;  // in Triton
} FormerKeyword;
/// NULL where it had none of that name.
const FormerKeyword *op_former_keyword(OpCode code, const char *name);
/// The attribute or method of a tensor that is spelt most like `name`, and by how many edits it differs.
typedef struct OpMember {
    Str name;
    int distance;
} OpMember;
OpMember op_suggest_member(Str name);

/// What an operation makes of one element of its first three operands, by its VALUE column; false where it has none. Operands
/// that are not there do not matter.
bool op_value(OpCode code, double a, double b, double c, double *value);

/// == != < <= > >=
bool op_is_comparison(OpCode code);
/// < <= > >=
bool op_is_ordering(OpCode code);
/// for, static_range, while
bool op_is_loop(OpCode code);
/// dot, dot_scaled
bool op_is_product(OpCode code);
/// and, or, not
bool op_is_logical(OpCode code);
/// Whether the row says so: one TRAIT_ bit, or any of several.
bool op_has(OpCode code, int traits);

typedef struct OpParameter {
    Str name;
    Str default_text;      // empty: required (or variadic)
    bool is_variadic;      // *dims: all positional arguments from here on, as one tuple operand
    bool is_keyword_only;  // after `*` or a variadic one
} OpParameter;

/// "EXP", or "?" for a code out of range.
const char *op_id(OpCode code);
/// The whole table as tab-separated text, one row per line: id, kind, name, aliases, method, symbol, parameters, shape,
/// element, effects, gradient, expands, since, until, instead, doc. Line breaks inside a cell are "; ".
const char *op_table_print(Arena *arena);

/// The parsed parameter list. `*count` entries, static storage.
const OpParameter *op_parameters(OpCode code, int *count);
/// Index of a parameter by name, or -1.
int op_parameter_index(OpCode code, Str name);
/// Index of the parameter that numbers an axis of the first operand (`axis` or `dim`), or -1.
int op_axis_index(OpCode code);

#endif
