// The parts of completion that are told apart: members, names, arguments, comments. Private to features/complete*.c.
#ifndef TAD_FEATURES_COMPLETE_H
#define TAD_FEATURES_COMPLETE_H

#include "features/features.h"
#include "features/scan.h"

typedef struct Completer {
    Arena *arena;
    Names *names;
    const Kernel *kernel;  // around the cursor, or NULL
    const Scan *scan;
    uint32_t offset;
    Range prefix;      // the word that is being written, up to the cursor
    bool has_bracket;  // `(` follows already
    Completions completions;
    Map seen;
} Completer;

void complete_add(Completer *completer, CompletionItem item);
/// An operation as `name(`; `sort` orders it among its kind.
void complete_operation(Completer *completer, OpCode code, const char *label, bool method,
                        const char *sort);

/// `tl.`, `tl.math.`: what does not depend on the kernel around it. False where `object` is something
/// else, and in an annotation, where not all of it is wanted.
bool complete_language(Completer *completer, Range object);
/// `object.`: operations of a module, methods and attributes of a value.
void complete_members(Completer *completer, Range object);
/// Variables, parameters, globals and functions that the kernel sees, and keyword arguments of the call around.
void complete_names(Completer *completer);
/// Keyword arguments of the call around the cursor, or what the argument at hand may be.
/// True where nothing else is to be offered.
bool complete_arguments(Completer *completer);
/// Inside a string: what the argument may be, or names of parameters in configurations.
void complete_string(Completer *completer);
/// Inside a comment: `# tad:`.
void complete_comment(Completer *completer);

/// The name under which the file knows triton.language: "tl".
const char *language_alias(Names *names);

#endif
