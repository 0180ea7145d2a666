// Inside autodiff/: Python text of IR values, with the precedence of their outermost operator.
#ifndef TAD_AUTODIFF_EMIT_EMIT_EXPRESSION_H
#define TAD_AUTODIFF_EMIT_EMIT_EXPRESSION_H

#include "analysis/ir/ir.h"
#include "autodiff/emit/emit_lifetimes.h"
#include "autodiff/rewrite/rewrite.h"

/// Text and how tightly its outermost operator binds (op.h's precedence; 20 for names and calls).
typedef struct EmittedText {
    const char *text;
    int precedence;
} EmittedText;

enum { PRECEDENCE_ATOM = 20 };

typedef struct Emitter {
    Arena *arena;
    const Function *function;
    Map texts;    // value -> Text *: what a use of it prints
    Map uses;     // value -> number of uses
    Map readers;  // value -> the ops that have it as an operand
    Map *
        names;  // names visible in the scope under way (loops open a copy): text -> the value it stands for, or NULL
    Map counters;          // name -> the variable of a loop, now or earlier, that has it
    Map promised;          // value -> the name that the end of its branch would give it
    Map inlined;           // values that print as expressions
    Map functions;         // FunctionDefinition -> the name of a combine function
    Lifetimes *lifetimes;  // NULL while `inlined` is being found
    Buffer out;
    int indent;
    bool needs_libdevice;
} Emitter;

EmittedText emit_value(Emitter *emitter, const Value *value);
/// The right side of an assignment of `op`'s result, or of a call statement without result.
EmittedText emit_op(Emitter *emitter, const Op *op);
/// `value` as an operand of an operator that binds with `precedence`; parentheses where needed.
const char *emit_operand(Emitter *emitter, const Value *value, int precedence, bool is_right);

#endif
