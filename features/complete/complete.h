// The parts of completion that are told apart: members, names, arguments, comments. Private to features/complete*.c.
#ifndef TAD_FEATURES_COMPLETE_COMPLETE_H
#define TAD_FEATURES_COMPLETE_COMPLETE_H

#include "features/features.h"
#include "features/names/scan.h"

typedef struct Completer {
    Arena *arena;
    FileNames *names;
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

#endif
