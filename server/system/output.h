// Files that are written: refused where they are somebody else's, else made beside the old one and renamed over it.
#ifndef TAD_SERVER_SYSTEM_OUTPUT_H
#define TAD_SERVER_SYSTEM_OUTPUT_H

#include "base/error.h"
#include "base/text.h"

/// What is written where, and what it must not replace.
typedef struct Output {
    const char *path;
    const char *root;  // links below this folder must not lead out of it; NULL: the current folder
    /// Whether a file with this text was made by us, so that it may be replaced. Empty files always may.
    bool (*is_ours)(Arena *arena, Str text);
    bool is_forced;             // files of others, too, may be replaced
    const char *way_out;        // what to do where it is a file of others
    const char *const *inputs;  // files that were read: never replaced
    int input_count;
} Output;

/// Why the file must not be written; NULL where it may. `*real` is then where, with all links followed.
Error output_refuse(Arena *arena, const Output *output, const char **real);
/// All of `text`, or the file is as it was. Keeps the permissions of a file that is replaced.
Error output_write(Arena *arena, const Output *output, const char *text);
/// The same for a file that grows: an empty one, open for appending, takes the place of what was there.
Error output_open(Arena *arena, const Output *output, int *file);

#endif
