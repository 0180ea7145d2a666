#include "server/times/timed_kernel.h"

#include <stdlib.h>
#include <string.h>

#include "autodiff/kept.h"
#include "autodiff/module/module.h"
#include "autodiff/saving/saving.h"

typedef struct TimeLines {
    LIST(const char *) list;
} TimeLines;

/// The `# tad time:` lines of a comment, each as it stands.
static TimeLines time_lines(Arena *arena, const char *comment) {
    static const char mark[] = "# tad time:";
    TimeLines lines = {0};
    for (const char *at = comment; at && (at = strstr(at, mark)); at += sizeof mark - 1)
        LIST_PUSH(arena, &lines.list, arena_strndup(arena, at, strcspn(at, "\n")));
    return lines;
}

static void put_params(Arena *arena, Json *params, TimedKernel *timed) {
    const Json *spec = json_get(params, "spec");
    TimeLines lines = time_lines(arena, json_get_string(spec, "text", NULL));
    timed->count = lines.list.count ? lines.list.count : 1;
    timed->params = ARENA_ARRAY(arena, Json *, timed->count);
    timed->params[0] = params;
    for (LIST_EACH(int, i, lines.list)) {
        timed->params[i] = json_copy(arena, params);
        json_set_string(json_get(timed->params[i], "spec"), "text", lines.list.items[i]);
    }
}

// --- lines of the text that is timed -----------------------------------------------------------------------------------

static int line_at(const char *text, const char *at) {
    int line = 1;
    for (; text < at; text++) line += *text == '\n';
    return line;
}

/// Functions that stand in the text as they do in the file.
void timed_kernel_lines(Arena *arena, const Snapshot *snapshot, TimedKernel *timed) {
    for (LIST_EACH(int, i, snapshot->module->functions)) {
        Range range = snapshot->module->functions.items[i]->range;
        const char *own = str_dup(arena, source_slice(range)), *at = strstr(timed->module, own);
        if (!at || !*own) continue;
        int count = line_at(own, own + strlen(own));
        TimedLines lines = {line_at(timed->module, at), count, range_line(range)};
        LIST_PUSH(arena, &timed->lines, lines);
    }
}

const char *timed_line_text(Arena *arena, const Json *row) {
    Buffer out = buffer_new(arena);
    const char *between = ": ";
    buffer_printf(&out, "%d instructions", json_get_int(row, "instructions", 0));
    for (int i = 0; i < row->count; i++) {
        char *key = str_dup(arena, row->keys[i]);
        bool is_kind = row->items[i]->kind == JSON_NUMBER && strcmp(key, "line") != 0 &&
                       strcmp(key, "instructions") != 0;
        if (!is_kind) continue;
        for (char *at = strchr(key, '_'); at; at = strchr(at, '_')) *at = ' ';
        buffer_printf(&out, "%s%s %d", between, key, (int)row->items[i]->number);
        between = ", ";
    }
    return buffer_text(&out);
}

/// The line of the user's file, or 0.
static int own_line(const TimedKernel *kernel, int line) {
    for (LIST_EACH(int, i, kernel->lines)) {
        const TimedLines *lines = &kernel->lines.items[i];
        if (line >= lines->first && line < lines->first + lines->count)
            return lines->own + line - lines->first;
    }
    return 0;
}

static const char *text_of_line(Arena *arena, const char *text, int line) {
    for (; line > 1 && text; line--) {
        text = strchr(text, '\n');
        if (text) text++;
    }
    return text ? str_dup(arena, str_trim((Str){text, strcspn(text, "\n")})) : "";
}

static void name_lines(const TimedKernel *kernel, const Json *direction) {
    const Json *kernels = json_get(direction, "kernels");
    for (int i = 0; kernels && kernels->kind == JSON_ARRAY && i < kernels->count; i++) {
        const Json *lines = json_get(kernels->items[i], "lines");
        for (int k = 0; lines && lines->kind == JSON_ARRAY && k < lines->count; k++) {
            Json *row = lines->items[k];
            int line = json_get_int(row, "line", 0), own = own_line(kernel, line);
            if (!line) continue;
            json_set_string(row, "text", text_of_line(row->arena, kernel->module, line));
            if (own) json_set_number(row, "line", own);
            if (!own) json_set_bool(row, "is_derived", true);
        }
    }
}

Json *timed_kernel_result(Arena *arena, const TimedKernel *kernel, const Json *result) {
    Json *copy = json_copy(arena, result);
    name_lines(kernel, json_get(copy, "forward"));
    name_lines(kernel, json_get(copy, "backward"));
    return copy;
}

const char *timed_kernel_problem(Arena *arena, const TimedKernel *kernel, const char *problem,
                                 int *line) {
    static const char before[] = "line ", behind[] = " of the text that was compiled: ";
    const char *end = strstr(problem, behind), *start = end;
    *line = 0;
    while (start && start > problem && start[-1] >= '0' && start[-1] <= '9') start--;
    size_t size = sizeof before - 1;
    if (!start || (size_t)(start - problem) < size || strncmp(start - size, before, size) != 0)
        return problem;
    *line = own_line(kernel, (int)strtol(start, NULL, 10));
    if (!*line) return problem;
    return arena_printf(arena, "%.*s%s:%d: %s", (int)(start - size - problem), problem,
                        kernel->path, *line, end + sizeof behind - 1);
}

TimedKernel timed_pair(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                       const Backward *backward, const ProofFile *file, int seed,
                       double max_seconds) {
    TimedKernel timed = {.name = arena_strdup(arena, kernel->function->name),
                         .path = arena_strdup(arena, snapshot->source->path),
                         .comment = str_dup(arena, kernel->definition->comment),
                         .module = str_dup(arena, snapshot->source->text)};
    ProofPlan plan = proof_plan(arena, kernel, backward, timed.module, file->settings);
    put_params(arena, json_copy(arena, proof_params(arena, file, &plan, seed, max_seconds)),
               &timed);
    timed_kernel_lines(arena, snapshot, &timed);
    return timed;
}

/// `kernel` is of the snapshot, which `file` is the text of.
static TimedKernel timed_in(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                            const ProofFile *file, int seed, double max_seconds) {
    BackwardOptions options = {.wrapper = WRAPPER_NONE};
    Diagnostics ignored = {.arena = arena};
    Backward *backward = backward_kept(arena, snapshot, kernel, WRAPPER_AUTOGRAD, NULL);
    TimedKernel timed = {.name = arena_strdup(arena, kernel->function->name),
                         .path = arena_strdup(arena, snapshot->source->path),
                         .comment = str_dup(arena, kernel->definition->comment)};
    bool is_derived = backward->status == BACKWARD_DERIVED;
    if (!is_derived) timed.no_backward = arena_strdup(arena, backward->reason);
    timed.module = is_derived ? backward_module(arena, snapshot, &backward, 1, &options, &ignored)
                              : str_dup(arena, snapshot->source->text);
    Backward alone = {.kernel = kernel};
    ProofPlan plan = proof_plan(arena, kernel, is_derived ? backward : &alone,
                                is_derived ? timed.module : "", file->settings);
    Json *params = proof_params(arena, file, &plan, seed, max_seconds);
    params = json_copy(arena, params);
    put_params(arena, params, &timed);
    timed_kernel_lines(arena, snapshot, &timed);
    return timed;
}

TimedKernel timed_kernel(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                         const ProofFile *file, int seed, double max_seconds) {
    Saving saving = saving_of(arena, snapshot, NULL, kernel);
    const Kernel *own = saving_kernel(&saving, kernel);
    ProofFile storing = *file;
    if (own != kernel) {
        Str text = saving.snapshot->source->text;
        storing.source =
            source_new(arena, file->source->path, (Str){str_dup(arena, text), text.size});
    }
    TimedKernel timed = timed_in(arena, saving.snapshot, own, &storing, seed, max_seconds);
    saving_close(&saving);
    return timed;
}
