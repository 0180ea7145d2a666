// The command line in, a filled Options out. Rows: options.def; formats: formats.def.
#ifndef TAD_SERVER_SETTINGS_OPTIONS_H
#define TAD_SERVER_SETTINGS_OPTIONS_H

#include "autodiff/backward.h"
#include "base/error.h"
#include "server/report/formats.h"
#include "server/report/say.h"

typedef enum ColorChoice { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER } ColorChoice;

typedef enum BackendChoice { BACKEND_CPU, BACKEND_CUDA, BACKEND_AUTO } BackendChoice;

typedef enum CommandId {
#define COMMAND(id, name, operands, fewest, most, function, help) COMMAND_##id,
#define OPTION(...)
#include "server/settings/options.def"
#undef COMMAND
#undef OPTION
    COMMAND_COUNT
} CommandId;

typedef struct Names {
    const char **items;
    int count;
} Names;

/// What `--tune` says with `--backward`.
typedef enum TuningKind { TUNING_FORWARD, TUNING_NONE } TuningKind;
typedef enum SavingKind { SAVING_AUTO, SAVING_NONE } SavingKind;

typedef struct Options {
    CommandId command;
    const char **operands;
    int operand_count;
    bool stdio, grad, quiet, diff, no_proof, force, agree, write, from_stdin, update_baseline,
        forget, json, update, time;
    const char *pipe;                                    // NULL: stdin and stdout
    const char *record;                                  // NULL: do not
    int socket, client_process;                          // 0: none
    int format;                                          // a Format
    int color;                                           // a ColorChoice
    int wrapper;                                         // a WrapperKind
    int saving;                                          // a SavingKind
    int tuning;                                          // a TuningKind
    int backend;                                         // a BackendChoice
    const char *output;                                  // NULL: stdout
    const char *baseline;                                // NULL: report all
    const char *write_baseline;                          // NULL: do not
    const char *shard, *results;                         // NULL: all of it; do not write
    const char *runner;                                  // NULL: look for it
    const char *python;                                  // NULL: $TAD_PYTHON, else python3
    const char *reference;                               // NULL: none is timed
    const char *endpoint, *api, *model;                  // of --ask; NULL: as the user's file says
    const char *answers;                                 // NULL: from the endpoint
    const char *module;                                  // NULL: forwards are tuned
    int examples;                                        // of the index, for --ask; 0: none
    int max_iters, max_stalls, max_tokens, max_seconds;  // 0: as the user's file says
    double temperature;                                  // negative: the same
    const char *effort;                                  // NULL: the same
    const char *card;                                    // NULL: that of the settings
    Names select, ignore, severity, wrt, sizes, phases;
    int jobs;  // 0: one per core
    int seed;
    double time_limit_s;
    int top_k;       // 0: not said
    double min_sim;  // negative: not said
    Names exclude;
    const char *csv, *html, *save_times, *compare_times;  // NULL: do not
    const char *fail_slower;                              // "10%"; NULL: do not
} Options;

/// Fills `options` (strings borrowed from `arguments`). Otherwise one sentence that says what is wrong.
Error options_parse(Arena *arena, int argument_count, char **arguments, Options *options);
/// What to do where a file is not replaced.
#define FORCE_HINT "name another file, or give --force to replace it"

// The commands: each returns the exit status of the program.
#define COMMAND(id, name, operands, fewest, most, function, help) int function(const Options *options);
#define OPTION(...)
#include "server/settings/options.def"
#undef COMMAND
#undef OPTION

int command_run_chosen(const Options *options);

#endif
