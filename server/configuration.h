// What the user set in the editor. Immutable and counted: a request keeps the one of its time.
#ifndef TAD_SERVER_CONFIGURATION_H
#define TAD_SERVER_CONFIGURATION_H

#include <stdatomic.h>

#include "base/json.h"
#include "server/options.h"

typedef struct Configuration {
    Arena *arena;
    atomic_int count;  // of holders
    bool diagnostics, hints, inlay_hints, code_lens, semantic_tokens, derive, check_after_generate;
    bool trusted;
    Names select, ignore;
    const char *docs_url, *runner, *python;
    double time_limit_s, workers;
} Configuration;

/// From the `tad` section, an object of objects or one with dotted names; what is missing has its default. `fallback`, an
/// earlier section, is asked for what `section` lacks. Either may be NULL. What is ill-typed is told in `*complaint`.
Configuration *configuration_new(const Json *section, const Json *fallback, Arena *arena,
                                 Error *complaint);
Configuration *configuration_retain(Configuration *configuration);
/// NULL is allowed.
void configuration_release(Configuration *configuration);

#endif
