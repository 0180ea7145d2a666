// What the user set in the editor. Immutable and counted: a request keeps the one of its time.
#ifndef TAD_SERVER_SETTINGS_CONFIGURATION_H
#define TAD_SERVER_SETTINGS_CONFIGURATION_H

#include <stdatomic.h>

#include "base/json.h"
#include "server/settings/options.h"

/// What a request that would start a process is answered where `trusted` is not set.
#define UNTRUSTED_WORDS                                                                            \
    "this workspace is not trusted, so nothing of it is run: trust it first (in VS Code "          \
    "`Manage Workspace Trust`, in Neovim `:Tad trust`, elsewhere `initializationOptions.trusted`)"

typedef struct Configuration Configuration;
struct Configuration {
    Arena *arena;
    atomic_int count;               // of holders, of the whole: of `whole`
    Configuration *whole;           // what holds for files outside of folders
    LIST(Configuration *) folders;  // of the whole: one for each folder of the workspace
    const char *folder;             // its path; NULL for the whole
    const Json *section;            // what it was read from, or NULL
    bool diagnostics, hints, inlay_hints, type_hints, parameter_hints, cost_hints, completion,
        hover, signatures, code_lens, cost_lens, semantic_tokens, derive, check_after_generate,
        tunes_backward, saves_for_backward;
    bool asks_model;
    bool trusted;
    Names select, ignore;
    Names severity;             // `name=level` each
    const char *beside_python;  // "on": another server answers for Python
    const char *docs_url, *runner, *python, *model_name, *model_temperature, *model_effort;
    double time_limit_s, workers, model_max_tokens, model_max_seconds;
};

/// A folder of the workspace and its `tad` section; NULL where the client did not say one.
typedef struct FolderSection {
    const char *path;
    const Json *section;
} FolderSection;

/// From the `tad` section, an object of objects or one with dotted names; what is missing has its default. `fallback`, an
/// earlier section, is asked for what `section` lacks. Either may be NULL. What is ill-typed is told in `*complaint`.
Configuration *configuration_new(const Json *section, const Json *fallback, Arena *arena,
                                 Error *complaint);
/// Adds a folder with settings of its own; without a section those of the whole. Relative paths of programs are seen from it.
void configuration_add_folder(Configuration *whole, FolderSection folder, const Json *section,
                              const Json *fallback, Arena *arena, Error *complaint);
/// Of the innermost folder that holds `path`, else the whole. Not counted.
const Configuration *configuration_for(const Configuration *configuration, const char *path);
Names configuration_folders(const Configuration *configuration, Arena *arena);
/// Worker processes may not be started.
void configuration_distrust(Configuration *whole);
Configuration *configuration_retain(const Configuration *configuration);
/// NULL is allowed.
void configuration_release(const Configuration *configuration);

#endif
