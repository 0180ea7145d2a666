// Bodies of kernels that a model may rewrite, and everything else, which it may not. What is locked is compared in our own parse of the whole
// text, never believed.
#ifndef TAD_SERVER_PHASES_BODIES_H
#define TAD_SERVER_PHASES_BODIES_H

#include "analysis/snapshot.h"
#include "base/error.h"

/// A kernel whose body is open; names are the arena's own.
typedef struct OpenBodies {
    LIST(const char *) names;
} OpenBodies;

/// The kernels of the text that differentiate `forward`.
OpenBodies bodies_open(Arena *arena, const Snapshot *snapshot, const Kernel *forward);
/// The definitions of these kernels one after the other, decorators included.
const char *bodies_text(Arena *arena, const Snapshot *snapshot, const OpenBodies *open);
/// How many names, numbers, calls and operations the open bodies have: what tidying makes less. A long name is one, a comment none.
int bodies_size(const Snapshot *snapshot, const OpenBodies *open);
/// How many findings of all severities stand in the open kernels.
int bodies_findings(const Snapshot *snapshot, const OpenBodies *open);
/// These findings, a line each: where, what it is, what it says.
const char *bodies_findings_text(Arena *arena, const Snapshot *snapshot, const OpenBodies *open);

/// The text of `base` with the bodies that the answer gives, whatever stands around its code. NULL and `*why` where it gives none, or
/// another signature, or a function that is not open. Nothing of the answer is run.
const char *bodies_take(Arena *arena, const Snapshot *base, const OpenBodies *open,
                        const char *answer, const char **why);
/// The code of an answer: what stands between fences, else all of it. An empty text and `*why` where no kernel could hold it.
Str answer_code(Arena *arena, const char *answer, const char **why);
/// Where the answer, which the parsed text has from `start` to `end`, is no Python: " (its line 2, `x = (`)"; "" where that is not told.
const char *answer_fault(Arena *arena, const Snapshot *parsed, uint32_t start, uint32_t end);
/// The lines of code with `indent` blanks in the place of those that they begin with in common.
const char *answer_indented(Arena *arena, Str code, size_t indent);
/// Why the candidate is more than new bodies: NULL where all else is byte for byte that of `base`, as both parse.
Error bodies_refuse(Arena *arena, const Snapshot *base, const Snapshot *candidate,
                    const OpenBodies *open);
/// The text with a comment above each kernel whose body is another than in `before`.
const char *bodies_marked(Arena *arena, const Snapshot *before, const Snapshot *after,
                          const OpenBodies *open, const char *mark);

#endif
