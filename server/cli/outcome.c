// A merged report has the words, the numbers and the exit status of the run that was divided, so both end here.
#include "server/cli/outcome.h"

#include <stdlib.h>
#include <unistd.h>

#include "server/report/ours.h"
#include "server/settings/baseline.h"
#include "server/settings/result.h"

/// Whether colour goes to `stdout`.
static bool wants_color(const Options *options) {
    if (options->color != COLOR_AUTO) return options->color == COLOR_ALWAYS;
    const char *off = getenv("NO_COLOR");
    return !options->output && isatty(STDOUT_FILENO) && !(off && *off);
}

Error outcome_refuse(const Options *options) {
    if (options->baseline && options->write_baseline)
        return "--baseline and --write-baseline: give one of them";
    bool leaves_out = options->select.count || options->ignore.count || options->quiet;
    if (options->update_baseline && !options->baseline)
        return "--update-baseline needs --baseline FILE";
    if (options->update_baseline && leaves_out)
        return "--update-baseline needs all findings: leave out --select, --ignore and --quiet";
    return NULL;
}

int outcome_write(Report *report, const Options *options, const char *const *inputs,
                  int input_count) {
    Arena *arena = report->arena;
    Error error = NULL;
    if (options->baseline) error = baseline_apply(report, options);
    if (!error && options->write_baseline) error = baseline_write(report, options);
    if (error) report_problem(report, "%s", error);
    Buffer out = buffer_new(arena);
    FormatOptions format = {wants_color(options), options->quiet};
    report_write(&out, report, (Format)options->format, &format);
    LIST(const char *) kept = {0};
    for (LIST_EACH(int, i, report->files)) LIST_PUSH(arena, &kept, report->files.items[i]);
    for (int i = 0; i < input_count; i++) LIST_PUSH(arena, &kept, inputs[i]);
    Output output = {.is_ours = report_is_ours, .inputs = kept.items, .input_count = kept.count};
    return result_write(arena, options, output, buffer_text(&out), report_status(report));
}
