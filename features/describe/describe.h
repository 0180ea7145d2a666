// Types, values and signatures as text that Triton authors read. Private to features/.
#ifndef TAD_FEATURES_DESCRIBE_DESCRIBE_H
#define TAD_FEATURES_DESCRIBE_DESCRIBE_H

#include "features/names/locate.h"

/// The same, items of tuples told.
const char *value_label(Arena *arena, const Value *value);
/// What there is to tell of a place of a kernel. In a helper the calls in the file know more than its own analysis.
typedef struct Told {
    const Value *value;  // an example of it; NULL: there is nothing to tell
    const char *label;   // NULL where calls differ
    const char *varies;  // then: "`f32[BLOCK]` in `a`, `f32[N]` in `b`"; else NULL
} Told;
/// `own` is what the kernel's own analysis says of the place, or NULL.
Told told_at(FileNames *names, const Kernel *kernel, Range place, const Value *own);
/// Whether there is anything to tell of the type.
bool value_is_told(const Value *value);
/// A compile-time value as Python text: "128", "tl.float32"; NULL where it is not known.
const char *constant_label(Arena *arena, const Constant *constant);
/// A polynomial with readable atoms: "pid*BLOCK + 1".
const char *poly_label(Arena *arena, const Poly *poly);

/// "tl.sum(input, axis=None)"; `method`: as a method, without its receiver.
const char *operation_label(Arena *arena, OpCode code, bool method);
/// "name(x_ptr, n, BLOCK: tl.constexpr = 16)", one line.
const char *function_label(Arena *arena, const FunctionDefinition *function);
/// What a jit function gives back: "f32[BLOCK]", "(f32, f32)"; NULL where nothing, or nothing that is understood.
const char *return_label(FileNames *names, const Kernel *kernel);
/// The first statement of a function where that is a text, unquoted; size 0 where there is none.
Str function_documentation(const FunctionDefinition *function);
/// A docstring as Markdown: as it was written, in a block that none of its links, images and HTML gets out of.
const char *stranger_text(Arena *arena, Str text);

/// Paragraphs of Markdown on a value: its constant, loop, address, memory, derivative.
void describe_value(Buffer *out, FileNames *names, const Kernel *kernel, const Value *value);
/// Signature, documentation, versions, definition and derivative of an operation.
void describe_operation(Buffer *out, OpCode code, bool method);
/// Its derivative alone, where it has one.
void describe_operation_rule(Buffer *out, OpCode code);

#endif
