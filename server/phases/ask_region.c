// The refused lines of a kernel, where no helper can be asked about: what a model proposes in their place is told, and kept when it is proved.
#include "server/model/agreement.h"
#include "server/phases/ask.h"
#include "server/phases/region.h"

static const char LATER[] =
    "Later requests add the answers, what the check says of them, and other lines of this kernel.\n";

static void report_tries(Ask *ask, const RegionRun *run, int line) {
    Buffer *out = &ask->out;
    buffer_printf(out, "%s:%d: `%s`: %s\n", ask->target.path, line, run->kernel, run->refusal);
    for (LIST_EACH(int, i, run->tries)) {
        const RegionTry *one = &run->tries.items[i];
        buffer_printf(out, "    answer %d %s%s\n", i + 1, one->is_kept ? "kept: " : "", one->words);
        ask_put_diff(out, one->diff);
    }
    if (run->stopped) buffer_printf(out, "    stopped: %s\n", run->stopped);
}

bool ask_region(Ask *ask, const char *kernel, int line, const char *text, const char **next) {
    *next = NULL;
    if (ask->options->examples) return false;  // they come with questions about helpers
    RegionRun run;
    Error error =
        region_begin(ask->arena, ask->options, &ask->asker, ask->target.path, text, kernel, &run);
    if (error) return false;
    if (!ask_may_send(ask, &run.chat, "Its lines stand in the kernel itself", AGREEMENT_KERNELS,
                      LATER))
        return true;
    region_run(&run);
    report_tries(ask, &run, line);
    ask->is_failed |= run.is_failed;
    const RegionTry *last = run.tries.count ? &run.tries.items[run.tries.count - 1] : NULL;
    if (run.stopped) ask->last = last && !run.is_failed ? last->words : run.stopped;
    if (run.moves_on) *next = run.text;
    if (!run.result) return true;
    ask->best = run.result;
    ask->proved++;
    ask->regions++;
    return true;
}
