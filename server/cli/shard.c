// Heaviest part first, each to the shard that has least: the order in which files were named does not matter. What weighs is how many
// kernels a part has, as the text shows them; one that is seen only later belongs to the part around it.
#include "server/cli/shard.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"

enum {
    MOST_KERNELS = 16,  // of a part, where the shards are few
    FINENESS = 4,       // parts for each shard, at the least, where kernels are many
};

typedef struct Weighed {
    ShardPart part;
    const char *path;
    int weight, kernels;
} Weighed;

typedef struct ShardPlan {
    Arena *arena;
    LIST(Weighed) parts;
} ShardPlan;

/// What is known of a file from its text.
typedef struct ShardFile {
    int file;
    const char *path;
    uint64_t hash;
    LIST(uint32_t) kernels;  // where they begin
} ShardFile;

Error shard_parse(Arena *arena, const char *text, Shard *shard) {
    *shard = (Shard){.number = 1, .count = 1};
    if (!text) return NULL;
    char *end = NULL;
    const char *after = text;
    long number = strtol(text, &end, 10), count = 0;
    if (end != text && *end == '/') {
        after = end + 1;
        count = strtol(after, &end, 10);
    }
    if (end == after || *end || number < 1 || count < number || count > MOST_SHARDS)
        return arena_printf(arena,
                            "--shard takes a part and how many there are, as 3/16, with 1 to %d of "
                            "them; not `%s`",
                            MOST_SHARDS, text);
    shard->number = (int)number;
    shard->count = (int)count;
    return NULL;
}

/// Whether the line, at its first word, decorates a function that Triton compiles.
static bool is_jit(Str line) {
    return line.size && line.data[0] == '@' && str_contains(line, STR("jit"));
}

static void see_kernels(Arena *arena, Str text, ShardFile *seen) {
    bool is_decorated = false;
    for (size_t at = 0; at < text.size;) {
        const char *end = memchr(text.data + at, '\n', text.size - at);
        size_t size = end ? (size_t)(end - text.data) - at : text.size - at;
        Str line = str_trim((Str){text.data + at, size});
        if (is_jit(line)) is_decorated = true;
        if (str_starts(line, "def ")) {
            if (is_decorated) LIST_PUSH(arena, &seen->kernels, (uint32_t)at);
            is_decorated = false;
        }
        at += size + 1;
    }
}

static ShardFile see_file(Arena *arena, const FileItem *item, int file) {
    ShardFile seen = {.file = file, .path = item->path};
    Arena *scratch = arena_new();
    Str text = {"", 0};
    if (!file_read(scratch, item->path, &text)) see_kernels(arena, text, &seen);
    seen.hash = map_hash(text);
    arena_free(scratch);
    return seen;
}

static int by_path(const void *left, const void *right) {
    return strcmp(((const ShardFile *)left)->path, ((const ShardFile *)right)->path);
}

static void divide(ShardPlan *plan, const ShardFile *seen, int most) {
    int kernels = seen->kernels.count, parts = kernels > most ? (kernels + most - 1) / most : 1;
    for (int i = 0; i < parts; i++) {
        // Even pieces: seven kernels in three are 2, 2 and 3.
        int first = (int)((int64_t)kernels * i / parts),
            next = (int)((int64_t)kernels * (i + 1) / parts);
        Weighed weighed = {
            .part = {.file = seen->file,
                     .is_first = i == 0,
                     .start = i == 0 ? 0 : seen->kernels.items[first],
                     .end = i + 1 == parts ? UINT32_MAX : seen->kernels.items[next]},
            .path = seen->path,
            .weight = next - first + (i == 0),
            .kernels = next - first,
        };
        LIST_PUSH(plan->arena, &plan->parts, weighed);
    }
}

static int heaviest_first(const void *left, const void *right) {
    const Weighed *a = left, *b = right;
    if (a->weight != b->weight) return b->weight - a->weight;
    int order = strcmp(a->path, b->path);
    return order ? order : (a->part.start > b->part.start) - (a->part.start < b->part.start);
}

static int by_place(const void *left, const void *right) {
    const ShardPart *a = left, *b = right;
    if (a->file != b->file) return a->file - b->file;
    return (a->start > b->start) - (a->start < b->start);
}

static void share_out(ShardPlan *plan, Shard *shard) {
    int64_t *loads = ARENA_ARRAY(plan->arena, int64_t, (size_t)shard->count);
    if (plan->parts.count)
        qsort(plan->parts.items, (size_t)plan->parts.count, sizeof *plan->parts.items,
              heaviest_first);
    for (LIST_EACH(int, i, plan->parts)) {
        int least = 0;
        for (int k = 1; k < shard->count; k++)
            if (loads[k] < loads[least]) least = k;
        loads[least] += plan->parts.items[i].weight;
        shard->all_kernels += plan->parts.items[i].kernels;
        if (least + 1 != shard->number) continue;
        shard->kernels += plan->parts.items[i].kernels;
        LIST_PUSH(plan->arena, &shard->parts, plan->parts.items[i].part);
    }
    if (shard->parts.count)
        qsort(shard->parts.items, (size_t)shard->parts.count, sizeof *shard->parts.items, by_place);
}

static uint64_t mixed(uint64_t hash, uint64_t next) { return hash * 1099511628211u ^ next; }

void shard_plan(Arena *arena, const FileList *files, bool by_kernel, Shard *shard) {
    LIST(ShardFile) seen = {0};
    int64_t kernels = 0;
    for (LIST_EACH(int, i, files->items)) {
        ShardFile one = see_file(arena, &files->items.items[i], i);
        kernels += one.kernels.count;
        LIST_PUSH(arena, &seen, one);
    }
    if (seen.count) qsort(seen.items, (size_t)seen.count, sizeof *seen.items, by_path);
    int64_t most = kernels / ((int64_t)FINENESS * shard->count);
    most = most < 1 ? 1 : most > MOST_KERNELS ? MOST_KERNELS : most;
    ShardPlan plan = {.arena = arena};
    for (LIST_EACH(int, i, seen)) {
        shard->tree = mixed(shard->tree, map_hash(str_from(seen.items[i].path)));
        shard->tree = mixed(shard->tree, seen.items[i].hash);
        divide(&plan, &seen.items[i], by_kernel && shard->count > 1 ? (int)most : INT32_MAX);
    }
    share_out(&plan, shard);
}

const char *shard_text(Arena *arena, const Shard *shard, int file_count) {
    int files = 0;
    for (LIST_EACH(int, i, shard->parts))
        files += i == 0 || shard->parts.items[i].file != shard->parts.items[i - 1].file;
    return arena_printf(arena, "part %d of %d: %d of %d kernel%s, in %d of %d file%s",
                        shard->number, shard->count, shard->kernels, shard->all_kernels,
                        shard->all_kernels == 1 ? "" : "s", files, file_count,
                        file_count == 1 ? "" : "s");
}

void shard_whole(Arena *arena, const FileList *files, Shard *shard) {
    for (LIST_EACH(int, i, files->items))
        LIST_PUSH(arena, &shard->parts, (ShardPart){i, true, 0, UINT32_MAX});
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void put_names(Arena *arena, Buffer *words, const char *option, const Names *names) {
    if (!names->count) return;
    const char **sorted = ARENA_ARRAY(arena, const char *, names->count);
    memcpy(sorted, names->items, sizeof *sorted * (size_t)names->count);
    qsort(sorted, (size_t)names->count, sizeof *sorted, by_text);
    buffer_printf(words, "%s%s ", words->size ? " " : "", option);
    for (int i = 0; i < names->count; i++) buffer_printf(words, "%s%s", i ? "," : "", sorted[i]);
}

const char *shard_words(Arena *arena, const Options *options) {
    Buffer words = buffer_new(arena);
    put_names(arena, &words, "--select", &options->select);
    put_names(arena, &words, "--ignore", &options->ignore);
    put_names(arena, &words, "--severity", &options->severity);
    if (options->card) buffer_printf(&words, "%s--card %s", words.size ? " " : "", options->card);
    if (!options->grad) return buffer_text(&words);
    buffer_printf(&words, "%s--seed %d --time-limit %g", words.size ? " " : "", options->seed,
                  options->time_limit_s);
    return buffer_text(&words);
}
