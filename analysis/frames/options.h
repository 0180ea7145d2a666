// What a kernel is lowered with.
#ifndef TAD_ANALYSIS_FRAMES_OPTIONS_H
#define TAD_ANALYSIS_FRAMES_OPTIONS_H

#include "analysis/module/module.h"

/// What is known about a parameter before lowering: a constant (constexprs, None for an absent pointer), or a type.
typedef struct Binding {
    Str name;
    const Constant *constant;  // or NULL
    Type type;                 // used when constant is NULL and kind is not TYPE_UNKNOWN
} Binding;

typedef struct LowerOptions {
    const Binding *bindings;
    int binding_count;
    const Function
        *general;  // the same kernel lowered without bindings, or NULL; outlives the function
    const Binding
        *excluded;  // numbers that constexprs are taken not to have; the function asserts so
    int excluded_count;
    bool
        unroll_static;  // unroll tl.static_range with known bounds (execution); else keep OP_STATIC_FOR
    bool keeps_given;  // calls of helpers whose derivative is given by hand stay calls (OP_GIVEN)
    int max_ops;       // 0: a default; beyond it lowering stops with a diagnostic
    int max_depth;     // of inlined calls
    Map *
        observed;  // out (empty before), or NULL: helper (FunctionDefinition *) -> Type[] that it was called with
} LowerOptions;

#endif
