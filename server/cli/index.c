// `--index PATH...`: forward kernels that have a backward, from places that the user names, into a file of his own. Texts are read, and
// nothing of them is run.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "server/crash/contain.h"
#include "server/embedding/vectors.h"
#include "server/report/report.h"
#include "server/retrieval/collect.h"
#include "server/retrieval/similar.h"
#include "server/settings/options.h"
#include "server/system/files.h"
#include "server/system/loop.h"

typedef struct IndexRun {
    Arena *arena;
    const Options *options;
    Containment *containment;
    Report report;
    StorePaths paths;  // real
    Map known;         // of the index
    Map there;         // real paths of the files that were found
    StoreChange change;
    int unchanged, kernels, pairs;
} IndexRun;

/// Whether `path` is `folder` or lies below it.
static bool is_below(const char *path, const char *folder) {
    size_t size = strlen(folder);
    if (strcmp(folder, "/") == 0) return true;
    return strncmp(path, folder, size) == 0 && (path[size] == '/' || path[size] == 0);
}

static void read_file(IndexRun *run, Collector *collector, const char *path) {
    if (!contain_may_enter(run->containment, &run->report, path)) return;
    contain_enter(run->containment, path);
    BugGuard guard;
    Error error = NULL;
    if (BUG_GUARD(&guard)) {
        StoredFile *file = collector_read(collector, path, &error);
        if (file) LIST_PUSH(run->arena, &run->change.files, file);
        bug_guard_end(&guard);
        if (error) report_problem(&run->report, "%s", error);
    } else {
        report_problem(&run->report, "%s: internal error: %s", path, guard.message);
    }
}

static void read_files(IndexRun *run) {
    const Names *excluded = &run->options->exclude;
    FileList files =
        files_collect(run->arena, &run->report, run->paths.list.items, run->paths.list.count);
    Collector *collector = collector_new(run->arena, &run->known);
    for (LIST_EACH(int, i, files.items)) {
        const char *path = path_real(run->arena, files.items.items[i].path);
        if (path_is_excluded(path, excluded->items, excluded->count)) continue;
        map_set(&run->there, str_from(path), run);
        if (collector_is_current(collector, path))
            run->unchanged++;
        else
            read_file(run, collector, path);
    }
    contain_enter(run->containment, NULL);
    collector_free(collector);
}

/// What the index has of the paths, and what is not there any more.
static void find_gone(IndexRun *run) {
    for (int i = 0; i < run->known.count; i++) {
        const StoredFile *file = run->known.entries[i].value;
        bool is_ours = false;
        for (LIST_EACH(int, p, run->paths.list))
            is_ours |= is_below(file->stamp.path, run->paths.list.items[p]);
        if (is_ours && !map_has(&run->there, str_from(file->stamp.path)))
            LIST_PUSH(run->arena, &run->change.gone, file->stamp.path);
    }
}

static void find_forgotten(IndexRun *run, const StorePaths *roots) {
    for (LIST_EACH(int, i, roots->list))
        for (LIST_EACH(int, p, run->paths.list))
            if (is_below(roots->list.items[i], run->paths.list.items[p]))
                LIST_PUSH(run->arena, &run->change.forgotten, roots->list.items[i]);
}

/// The named paths; without any those of before.
static Error find_paths(IndexRun *run, const StorePaths *roots) {
    const Options *options = run->options;
    for (int i = 0; i < options->operand_count; i++) {
        const char *path = path_real(run->arena, options->operands[i]);
        bool is_there = *path == '/' && (file_exists(path) || folder_exists(path));
        if (!is_there && !options->forget)
            return arena_printf(run->arena, "%s: %s", options->operands[i], strerror(ENOENT));
        LIST_PUSH(run->arena, &run->paths.list, path);
    }
    if (options->operand_count) return NULL;
    if (options->forget) return "--forget needs PATH...: what is to be taken out of the index";
    run->paths = *roots;
    if (roots->list.count) return NULL;
    return "nothing is indexed: name files and folders, of packages or code of your own";
}

static void tell(const IndexRun *run, uint64_t started_ns) {
    if (run->options->forget) {
        say("%d file%s forgotten", run->change.gone.count, run->change.gone.count == 1 ? "" : "s");
        return;
    }
    int kernels = 0, pairs = 0;
    for (LIST_EACH(int, i, run->change.files)) {
        kernels += run->change.files.items[i]->kernels.count;
        pairs += run->change.files.items[i]->pairs.count;
    }
    say("%d file%s read: %d kernel%s, %d Function%s with a backward; %d unchanged, %d gone; %.1f s",
        run->change.files.count, run->change.files.count == 1 ? "" : "s", kernels,
        kernels == 1 ? "" : "s", pairs, pairs == 1 ? "" : "s", run->unchanged,
        run->change.gone.count, (double)(clock_ns() - started_ns) / 1e9);
}

static Error bring_up_to_date(IndexRun *run, Store *store) {
    Error error;
    run->known = store_files(store, &error);
    StorePaths roots = {0};
    if (!error) roots = store_roots(store, &error);
    if (!error) error = find_paths(run, &roots);
    if (error) return error;
    if (run->options->forget) {
        find_forgotten(run, &roots);
    } else {
        read_files(run);
        for (LIST_EACH(int, i, run->paths.list))
            LIST_PUSH(run->arena, &run->change.roots, run->paths.list.items[i]);
    }
    find_gone(run);
    return store_write(store, &run->change);
}

static int index_all(const Options *options, Containment *containment) {
    Arena *arena = arena_new();
    uint64_t started_ns = clock_ns();
    IndexRun run = {.arena = arena,
                    .options = options,
                    .containment = containment,
                    .report = {.arena = arena},
                    .there = map_new(arena)};
    const char *made_anew;
    Error error;
    Store *store = store_open_to_write(arena, &made_anew, &error);
    if (made_anew) say("the index is made anew: %s", made_anew);
    if (store) error = bring_up_to_date(&run, store);
    store_close(store);
    if (error)
        say("%s", error);
    else
        tell(&run, started_ns);
    int status = error || run.report.problems.count ? STATUS_TROUBLE : STATUS_CLEAN;
    arena_free(arena);
    return status;
}

int command_index(const Options *options) {
    int status = contain_run(options, index_all);
    if (!options->forget) vectors_update(options);
    return status;
}
