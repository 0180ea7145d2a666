// From a model's words to a rule by hand, `# tad: backward of f(x): grad * result`, and into the text of a file. Nothing of it is run: our own
// front end reads it.
#ifndef TAD_SERVER_MODEL_CANDIDATE_H
#define TAD_SERVER_MODEL_CANDIDATE_H

#include "analysis/snapshot.h"

/// A helper that wants a rule, and the one that is tried.
typedef struct OpenHelper {
    const FunctionDefinition *definition;
    const FunctionDefinition
        *above;  // of this file, where the helper is not: its rule stands above that; else NULL
    const char *name;     // in this file
    const char *refusal;  // why it wants one
    Range refused;        // the operation
    const char *rule;     // a line without its end; NULL: none yet
} OpenHelper;

typedef LIST(OpenHelper) OpenHelpers;

/// The last rule for the helper in the answer, whatever stands around it, as one comment. NULL: there is none, and `*why` says what
/// there is.
const char *candidate_find(Arena *arena, Str answer, const char *helper, const char **why);
/// The file's text with the rules that are there, each above its helper and, where `mark` is not NULL, below a comment that
/// begins with it. The rest is as it was, with the line ends that the file has.
const char *candidate_insert(Arena *arena, Str text, const OpenHelpers *helpers, const char *mark);
/// `f(x, y)`, without constexprs.
const char *helper_signature(Arena *arena, const char *name, const FunctionDefinition *definition);

#endif
