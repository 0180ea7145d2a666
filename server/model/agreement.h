// What the user has agreed to: that the code of one workspace may be sent to one endpoint. Kept outside of every workspace.
#ifndef TAD_SERVER_MODEL_AGREEMENT_H
#define TAD_SERVER_MODEL_AGREEMENT_H

#include "base/arena.h"
#include "base/error.h"

/// Whether it was agreed before. What cannot be read, or is not the user's alone, counts as no.
bool agreement_holds(Arena *arena, const char *workspace, const char *url);
/// Remembers it. A failure is a sentence; the agreement holds for this run all the same.
Error agreement_keep(Arena *arena, const char *workspace, const char *url);

/// Shows what would be sent, and what later requests add, and asks on a terminal; `agrees`: the answer was given on the command line. Remembers
/// it. Where there is none, says so.
bool agreement_ask(Arena *arena, const char *workspace, const char *subject, const char *requests,
                   const char *later, bool agrees);

/// Why an editor does not ask a model about the file: none is set up in the user's own file, or he has not agreed. NULL: it may.
/// `scope`: what is sent beyond the text of a helper, or NULL.
Error agreement_refuse(Arena *arena, const char *file, const char *scope);
/// What is agreed to: the URL, and what is sent there beyond the text of a helper (`scope`, or NULL).
const char *agreement_subject(Arena *arena, const char *url, const char *scope);
/// The scope of requests that hold kernels as a whole.
#define AGREEMENT_KERNELS "whole kernels"
/// The scope of requests that hold a helper of another file.
#define AGREEMENT_HELPERS "helpers of other files"
/// The scope of requests for embeddings.
#define AGREEMENT_EMBEDDING "kernels for their embeddings"

#endif
