// To the output file, or to stdout.
#include "server/settings/result.h"

#include <errno.h>
#include <stdio.h>

int result_write(Arena *arena, const Options *options, Output output, const char *text,
                 int status) {
    if (options->output) {
        output.path = options->output;
        output.is_forced = options->force;
        output.way_out = FORCE_HINT;
        Error error = output_write(arena, &output, text);
        if (!error) return status;
        say("%s", error);
        return STATUS_TROUBLE;
    }
    fputs(text, stdout);
    if (fflush(stdout) == 0 && !ferror(stdout)) return status;
    if (errno == EPIPE) return status;  // `| head` has seen enough
    say("writing to stdout failed");
    return STATUS_TROUBLE;
}
