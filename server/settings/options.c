// Parsing by table. `--name VALUE`, `--name=VALUE`, `-x VALUE`, `--` ends options; anything unknown is answered with the nearest name.
#include "server/settings/options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum ValueKind {
    FLAG,
    TEXT,
    NAMES,
    CHOICE,
    COUNT,
    INTEGER,
    SECONDS,
    SHARE,
    REAL
} ValueKind;

#define FOR(command) (1u << COMMAND_##command)

typedef struct CommandRow {
    const char *name, *operands;
    int fewest, most;
    int (*function)(const Options *options);
    const char *help;
} CommandRow;

static const CommandRow commands[COMMAND_COUNT] = {
#define COMMAND(id, name, operands, fewest, most, function, help)                                  \
    {name, operands, fewest, most, function, help},
#define OPTION(...)
#include "server/settings/options.def"
#undef COMMAND
#undef OPTION
};

typedef enum OptionId {
#define COMMAND(...)
#define OPTION(id, ...) OPTION_##id,
#include "server/settings/options.def"
#undef COMMAND
#undef OPTION
    OPTION_COUNT
} OptionId;

typedef struct OptionRow {
    const char *name;
    char letter;
    ValueKind kind;
    size_t field;
    const char *value;
    unsigned commands;
    const char *help;
} OptionRow;

static const OptionRow rows[OPTION_COUNT] = {
#define COMMAND(...)
#define OPTION(id, name, letter, kind, field, value, commands, help)                               \
    {name, letter, kind, offsetof(Options, field), value, commands, help},
#include "server/settings/options.def"
#undef COMMAND
#undef OPTION
};

typedef struct OptionChoice {
    const char *name, *help;
} OptionChoice;

static const OptionChoice format_choices[] = {
#define FORMAT(id, name, writer, help) {name, help},
#include "server/report/formats.def"
#undef FORMAT
    {0}};
static const OptionChoice color_choices[] = {
    {"auto", "on a terminal without NO_COLOR (the default)"},
    {"always", "always"},
    {"never", "never"},
    {0}};
static const OptionChoice wrapper_choices[] = {
    {"autograd", "a torch.autograd.Function (the default)"},
    {"none", "nothing: the kernels alone"},
    {"triton_op", "torch.library.triton_op: traced by torch.compile"},
    {0}};

static const OptionChoice tuning_choices[] = {
    {"forward", "by the list of the forward's autotune (the default)"},
    {"none", "not at all: each launch takes what the forward's tuner took"},
    {0}};

static const OptionChoice saving_choices[] = {
    {"auto", "row statistics, where the backward then has fewer loops (the default)"},
    {"none", "nothing"},
    {0}};

static const OptionChoice backend_choices[] = {
    {"cpu", "an interpreter (the default)"},
    {"cuda", "the GPU where it can, else the interpreter"},
    {"auto", "the GPU for large sizes, else the interpreter"},
    {0}};

static const OptionChoice *const choices[OPTION_COUNT] = {
    [OPTION_FORMAT] = format_choices,   [OPTION_COLOR] = color_choices,
    [OPTION_WRAPPER] = wrapper_choices, [OPTION_TUNING] = tuning_choices,
    [OPTION_SAVING] = saving_choices,   [OPTION_BACKEND] = backend_choices,
};

static void help_line(Buffer *out, const char *left, const char *right) {
    enum { COLUMN = 36 };
    buffer_printf(out, "  %-*s%s%s\n", COLUMN, left, strlen(left) >= COLUMN ? " " : "", right);
}

static const char *option_left(Arena *arena, const OptionRow *row) {
    const char *letter = row->letter ? arena_printf(arena, "-%c, ", row->letter) : "    ";
    return arena_printf(arena, "%s%s%s%s", letter, row->name, *row->value ? " " : "", row->value);
}

static const char *options_help(Arena *arena) {
    Buffer out = buffer_new(arena);
    buffer_puts(&out,
                "tad-lsp " TAD_VERSION ": Triton kernels, checked and differentiated\n\nUsage:\n");
    for (int i = 0; i < COMMAND_COUNT; i++)
        help_line(&out,
                  arena_printf(arena, "tad-lsp %s %s", commands[i].name, commands[i].operands),
                  commands[i].help);
    for (int command = 0; command < COMMAND_COUNT; command++) {
        bool titled = false;
        for (int i = 0; i < OPTION_COUNT; i++) {
            if (!(rows[i].commands & (1u << command))) continue;
            if (!titled) buffer_printf(&out, "\nWith %s:\n", commands[command].name);
            titled = true;
            help_line(&out, option_left(arena, &rows[i]), rows[i].help);
            for (const OptionChoice *choice = choices[i]; choice && choice->name; choice++)
                help_line(&out, "", arena_printf(arena, "  %-10s %s", choice->name, choice->help));
        }
    }
    buffer_puts(
        &out,
        "\nExit status: 0 clean, 1 findings (errors or warnings, or a gradient that is wrong),\n"
        "2 wrong use or something that could not be read or run.\n"
        "Settings: [tool.tad] in the nearest pyproject.toml. "
        "On a line: `# tad: ignore[name]`.\n");
    return buffer_text(&out);
}

static Error unknown_option(Arena *arena, Str name) {
    const char *best = NULL;
    int best_distance = 4;
    for (int i = 0; i < COMMAND_COUNT + OPTION_COUNT; i++) {
        const char *candidate = i < COMMAND_COUNT ? commands[i].name : rows[i - COMMAND_COUNT].name;
        int distance = str_distance(name, str_from(candidate));
        if (distance < best_distance) {
            best_distance = distance;
            best = candidate;
        }
    }
    if (best)
        return arena_printf(arena, "there is no option %.*s; did you mean %s?", STR_ARGS(name),
                            best);
    return arena_printf(arena, "there is no option %.*s; `tad-lsp --help` lists them",
                        STR_ARGS(name));
}

static Error parse_choice(Arena *arena, int option, const char *value, int *chosen) {
    Buffer known = buffer_new(arena);
    for (int i = 0; choices[option][i].name; i++) {
        if (strcmp(choices[option][i].name, value) == 0) {
            *chosen = i;
            return NULL;
        }
        buffer_printf(&known, "%s%s", i ? ", " : "", choices[option][i].name);
    }
    return arena_printf(arena, "%s takes one of %s, not `%s`", rows[option].name,
                        buffer_text(&known), value);
}

static Error parse_names(Arena *arena, const OptionRow *row, const char *value, Names *names) {
    LIST(const char *) list = {names->items, names->count, names->count};
    for (const char *at = value;; at++) {
        size_t size = strcspn(at, ",");
        Str name = str_trim((Str){at, size});
        if (name.size == 0)
            return arena_printf(arena, "%s takes names with commas between them, not `%s`",
                                row->name, value);
        LIST_PUSH(arena, &list, str_dup(arena, name));
        at += size;
        if (!*at) break;
    }
    *names = (Names){list.items, list.count};
    return NULL;
}

static Error parse_number(Arena *arena, const OptionRow *row, const char *value, double least,
                          double *number) {
    char *end = NULL;
    errno = 0;
    *number = strtod(value, &end);
    bool is_real = row->kind == SECONDS || row->kind == SHARE || row->kind == REAL;
    bool whole = is_real || (*number <= INT_MAX && *number == (double)(long)*number);
    if (end == value || *end || errno || !(*number >= least && *number <= INT_MAX) || !whole)
        return arena_printf(arena, "%s takes a %s of at least %g, not `%s`", row->name,
                            is_real ? "number" : "whole number", least, value);
    return NULL;
}

static Error option_set(Arena *arena, Options *options, int option, const char *value) {
    const OptionRow *row = &rows[option];
    void *field = (char *)options + row->field;
    double number = 0;
    Error error = NULL;
    switch (row->kind) {
    case FLAG: *(bool *)field = true; return NULL;
    case TEXT: *(const char **)field = value; return NULL;
    case NAMES: return parse_names(arena, row, value, field);
    case CHOICE: return parse_choice(arena, option, value, field);
    case COUNT:
        error = parse_number(arena, row, value, 1, &number);
        *(int *)field = (int)number;
        return error;
    case INTEGER:
        error = parse_number(arena, row, value, 0, &number);
        *(int *)field = (int)number;
        return error;
    case SECONDS:
        error = parse_number(arena, row, value, 0.001, &number);
        *(double *)field = number;
        return error;
    case SHARE:
        error = parse_number(arena, row, value, 0, &number);
        if (!error && number > 1)
            error =
                arena_printf(arena, "%s takes a number of at most 1, not `%s`", row->name, value);
        *(double *)field = number;
        return error;
    case REAL:
        error = parse_number(arena, row, value, 0, &number);
        *(double *)field = number;
        return error;
    }
    return NULL;
}

static int find_command(Str name) {
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (str_is(name, commands[i].name)) return i;
    return str_is(name, "-h") ? (int)COMMAND_HELP : -1;
}

static int find_option(Str name) {
    for (int i = 0; i < OPTION_COUNT; i++) {
        if (str_is(name, rows[i].name)) return i;
        if (rows[i].letter && name.size == 2 && name.data[1] == rows[i].letter) return i;
    }
    return -1;
}

typedef struct Parse {
    Arena *arena;
    int count, at;
    char **arguments;
    Options *options;
    int command;  // -1: none yet
    unsigned seen[OPTION_COUNT];
    LIST(const char *) operands;
} Parse;

static Error parse_option(Parse *parse, Str name, const char *equals) {
    int option = find_option(name);
    if (option < 0) return unknown_option(parse->arena, name);
    const OptionRow *row = &rows[option];
    parse->seen[option] = 1;
    const char *value = equals ? equals + 1 : NULL;
    if (row->kind == FLAG && value)
        return arena_printf(parse->arena, "%s takes no value", row->name);
    if (row->kind != FLAG && !value) {
        if (parse->at + 1 >= parse->count)
            return arena_printf(parse->arena, "%s needs a value: %s %s", row->name, row->name,
                                row->value);
        value = parse->arguments[++parse->at];
    }
    return option_set(parse->arena, parse->options, option, value);
}

/// Whether `name`, which is a command, is an option of `command` as well: --check --time, --backward --tune.
static bool is_option_of(int command, const char *name) {
    int option = command < 0 ? -1 : find_option(str_from(name));
    return option >= 0 && (rows[option].commands & (1u << command));
}

/// What was taken for a command is an option of one that comes later: --time --check, --tune none --backward.
static Error option_after_all(Parse *parse, const char *name) {
    const char *value = NULL;
    if (rows[find_option(str_from(name))].kind != FLAG && parse->operands.count) {
        value = arena_printf(parse->arena, "=%s", parse->operands.items[0]);
        for (int i = 1; i < parse->operands.count; i++)
            parse->operands.items[i - 1] = parse->operands.items[i];
        parse->operands.count--;
    }
    return parse_option(parse, str_from(name), value);
}

static Error parse_argument(Parse *parse, const char *argument) {
    if (argument[0] != '-' || !argument[1]) {
        LIST_PUSH(parse->arena, &parse->operands, argument);
        return NULL;
    }
    const char *equals = argument[1] == '-' ? strchr(argument, '=') : NULL;
    Str name = {argument, equals ? (size_t)(equals - argument) : strlen(argument)};
    int command = find_command(name);
    if (command < 0 || is_option_of(parse->command, commands[command].name))
        return parse_option(parse, name, equals);
    if (parse->command >= 0 && is_option_of(command, commands[parse->command].name)) {
        Error error = option_after_all(parse, commands[parse->command].name);
        if (error) return error;
        parse->command = command;
    }
    if (parse->command >= 0 && parse->command != command && command != COMMAND_HELP)
        return arena_printf(parse->arena, "%s and %s cannot be used together",
                            commands[parse->command].name, commands[command].name);
    if (equals) LIST_PUSH(parse->arena, &parse->operands, equals + 1);
    parse->command = command;
    return NULL;
}

static Error parse_finish(Parse *parse) {
    if (parse->command < 0 && parse->operands.count)
        return "say what to do, for example `tad-lsp --check PATH`; `tad-lsp --help` lists the commands";
    if (parse->command < 0) parse->command = 0;
    if (parse->command == COMMAND_HELP) return NULL;
    const CommandRow *command = &commands[parse->command];
    for (int i = 0; i < OPTION_COUNT; i++)
        if (parse->seen[i] && !(rows[i].commands & (1u << parse->command)))
            return arena_printf(parse->arena, "%s has no meaning with %s", rows[i].name,
                                command->name);
    int count = parse->operands.count;
    bool lists_stages = parse->command == COMMAND_DUMP && count == 1;
    if (count < command->fewest && !lists_stages)
        return arena_printf(parse->arena, "%s needs %s", command->name, command->operands);
    if (command->most >= 0 && count > command->most) {
        const char *extra = parse->operands.items[command->most];
        return arena_printf(parse->arena, "%s does not know what to do with `%s`", command->name,
                            extra);
    }
    return NULL;
}

Error options_parse(Arena *arena, int argument_count, char **arguments, Options *options) {
    enum { CHECK_SECONDS = 60, BACKWARD_SECONDS = 10, TUNE_SECONDS = 600 };
    *options = (Options){0};
    Parse parse = {.arena = arena,
                   .count = argument_count,
                   .arguments = arguments,
                   .options = options,
                   .command = -1};
    for (parse.at = 1; parse.at < parse.count; parse.at++) {
        const char *argument = arguments[parse.at];
        if (strcmp(argument, "--") == 0) {
            while (++parse.at < parse.count) LIST_PUSH(arena, &parse.operands, arguments[parse.at]);
            break;
        }
        Error error = parse_argument(&parse, argument);
        if (error) return error;
    }
    Error error = parse_finish(&parse);
    if (error) return error;
    if (options->output && strcmp(options->output, "-") == 0) options->output = NULL;
    options->command = (CommandId)parse.command;
    if (options->time_limit_s == 0)
        options->time_limit_s = options->command == COMMAND_BACKWARD ? BACKWARD_SECONDS
                                : options->command == COMMAND_TUNE   ? TUNE_SECONDS
                                                                     : CHECK_SECONDS;
    if (!parse.seen[OPTION_MIN_SIM]) options->min_sim = -1;
    if (!parse.seen[OPTION_TEMPERATURE]) options->temperature = -1;
    options->operands = parse.operands.items;
    options->operand_count = parse.operands.count;
    return NULL;
}

int command_run_chosen(const Options *options) {
    return commands[options->command].function(options);
}

int command_help(const Options *options) {
    (void)options;
    Arena *arena = arena_new();
    fputs(options_help(arena), stdout);
    arena_free(arena);
    return STATUS_CLEAN;
}

int command_version(const Options *options) {
    (void)options;
    puts("tad-lsp " TAD_VERSION);
    return STATUS_CLEAN;
}
