// Two pieces of Python, one derived and one written: where the written one is another, whatever its layout and its local names are.
#ifndef TAD_SERVER_EDITS_ALIKE_H
#define TAD_SERVER_EDITS_ALIKE_H

#include "analysis/module/module.h"
#include "server/edits/parts.h"

/// What is compared with what.
typedef struct Likeness {
    Arena *arena;
    const Module *derived, *written;
    /// Names at module level that the written module has otherwise: under the derived one, the written one as text.
    Map renamed;
} Likeness;

typedef struct LikenessFault {
    Range range;        // in the written module
    const char *words;  // what differs there: "returns `-dx` where the derived one returns `dx`"
} LikenessFault;

typedef LIST(LikenessFault) LikenessFaults;

/// Adds each place where `written` is not what `derived` is. Local names may differ, one by one; keywords may stand in another order.
/// Of a kernel the decorators and the defaults count: what is in it is proved by numbers.
void likeness_compare(const Likeness *likeness, SyntaxNode derived, SyntaxNode written,
                      LikenessFaults *faults);

#endif
