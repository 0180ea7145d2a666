// Reading half-typed code: brackets, strings and callees by their text, where the syntax tree has nothing to say. Private to features/.
#ifndef TAD_FEATURES_NAMES_SCAN_H
#define TAD_FEATURES_NAMES_SCAN_H

#include "features/names/locate.h"

/// A bracket that is open at the cursor.
typedef struct OpenBracket {
    uint32_t offset;
    char bracket;
    int commas;           // at its level, before the cursor
    uint32_t item_start;  // after the bracket or the last comma
} OpenBracket;

typedef struct Scan {
    uint32_t start;
    uint32_t offset;
    bool in_comment;
    bool in_string;
    uint32_t text_start;  // of the comment or string that the cursor is in
    OpenBracket open[BRACKETS_MOST_NESTED];
    int depth;
} Scan;

/// From the start of the top-level statement around the cursor (decorators included) to the cursor.
Scan scan_to(FileNames *names, uint32_t offset);

/// Where the spaces before `end` begin.
uint32_t skip_spaces_back(const Source *source, uint32_t end);

/// What stands before an open bracket.
typedef struct Callee {
    enum {
        CALLEE_NONE,
        CALLEE_OPERATION,
        CALLEE_METHOD,
        CALLEE_FUNCTION,
        CALLEE_LAUNCH,
        CALLEE_DECORATOR
    } kind;
    OpCode op;
    const FunctionDefinition *function;
    Str dotted;      // CALLEE_DECORATOR: "triton.autotune"
    uint32_t start;  // of the callee's text
} Callee;

/// The innermost call around the cursor whose callee is known; its bracket in `*open`.
Callee callee_around(FileNames *names, const Kernel *kernel, const Scan *scan, OpenBracket *open);
/// The name of `name=` when the text of an argument starts with it; size 0 otherwise.
Str keyword_of(const Source *source, uint32_t start, uint32_t end);
/// The keywords that the argument list from `start` on gives, up to its end.
Map keywords_given(FileNames *names, uint32_t start);

/// `a.b.c` that ends at `end` (spaces aside); size 0 where it is something else.
Range dotted_before(const Source *source, uint32_t end);
/// What a dotted text stands for at module level.
ScopeEntry entry_of_dotted(FileNames *names, Str dotted);
/// The value of a variable as it is right before the cursor, or NULL.
const Value *variable_before(FileNames *names, const Kernel *kernel, Str name, uint32_t offset);

/// The jit function that the cursor is in; also on an empty line at its end.
const Kernel *kernel_at(FileNames *names, uint32_t offset);
/// A text in which the statement at the cursor parses, equal before it; NULL where it parses as it is, or there is no way.
const char *text_repaired(FileNames *names, const Scan *scan);

#endif
