// tad-lsp: the command line. The commands are rows of options.def.
#include "server/options.h"

int main(int argument_count, char **arguments) {
    Arena *arena = arena_new();
    Options options;
    Error error = options_parse(arena, argument_count, arguments, &options);
    int status = STATUS_TROUBLE;
    if (error)
        say("%s", error);
    else
        status = command_run_chosen(&options);
    arena_free(arena);
    return status;
}
