// The table of what is known, under a lock because the fast queue asks it; derivation in the background; staleness.
#include "server/gradients/gradients.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/module/given_rules.h"
#include "autodiff/kept.h"
#include "base/budget.h"
#include "base/escape.h"
#include "base/parallel.h"
#include "features/features.h"
#include "server/gradients/checks.h"
#include "server/gradients/kernel_hash.h"
#include "server/gradients/outdated.h"
#include "server/gradients/publish.h"
#include "server/gradients/written.h"
#include "server/queues/request.h"
#include "server/queues/slow_queue.h"
#include "server/session/client.h"
#include "server/session/send.h"

/// What is known of one kernel. Its arena is renewed with each result.
typedef struct GradientEntry {
    Arena *arena;
    GradientStatus status;
    int line;               // of the kernel's `def` when it was checked, one-based
    bool was_stale;         // as the client was told
    uint64_t derived_hash;  // 0: not derived
    bool derived_saves;     // Configuration.saves_for_backward of then
    char refusal[400];      // "": it was derived
    bool is_slow;           // what was derived: with atomics, or states made again and again
    char schedule[1400];    // of what was derived, in some lines; "": not known
    uint64_t compared;      // outdated_hash of what was compared last; 0: nothing was
    bool is_same;           // both had the same backward
} GradientEntry;

struct Gradients {
    Server *server;
    Lock lock;     // of the table and its entries
    Arena *arena;  // under the lock as well: queues make entries
    Map table;     // "uri\nkernel" -> Entry
    Checks *checks;
    Timer *pause;               // before deriving in the background
    LIST(const char *) unseen;  // URIs of documents to derive
};

static const char *const state_names[] = {
#define STATE(id, name) name,
    GRADIENT_STATES(STATE)
#undef STATE
};

struct Gradients *gradients_new(Server *server) {
    struct Gradients *gradients = ARENA_NEW(server->arena, struct Gradients);
    gradients->server = server;
    gradients->arena = arena_new();
    lock_init(&gradients->lock);
    gradients->table = map_new(gradients->arena);
    gradients->checks = checks_new(server);
    return gradients;
}

void gradients_end(struct Gradients *gradients) { checks_end(gradients->checks); }

void gradients_free(struct Gradients *gradients) {
    for (int i = 0; i < gradients->table.count; i++) {
        GradientEntry *entry = gradients->table.entries[i].value;
        arena_free(entry->arena);
    }
    arena_free(gradients->arena);
    lock_destroy(&gradients->lock);
}

Checks *gradients_checks(const struct Gradients *gradients) { return gradients->checks; }

void gradients_cancel_request(Server *server, const Request *request) {
    checks_cancel_request(server->gradients->checks, request);
}

// --- The table

/// Requires the lock.
static GradientEntry *entry_find(const struct Gradients *gradients, Arena *arena, const char *uri,
                                 const char *kernel) {
    const char *key = arena_printf(arena, "%s\n%s", uri, kernel);
    return map_get(&gradients->table, str_from(key));
}

static GradientEntry *entry_make(struct Gradients *gradients, Arena *arena, const char *uri,
                                 const char *kernel) {
    GradientEntry *entry = entry_find(gradients, arena, uri, kernel);
    if (entry) return entry;
    entry = ARENA_NEW(gradients->arena, GradientEntry);
    entry->arena = arena_new();
    entry->status.reason = "";
    const char *key = arena_printf(gradients->arena, "%s\n%s", uri, kernel);
    map_set(&gradients->table, str_from(key), entry);
    return entry;
}

static GradientStatus status_copy(Arena *arena, const GradientStatus *status) {
    GradientStatus copy = *status;
    copy.reason = arena_strdup(arena, status->reason);
    copy.details = status->details ? json_copy(arena, status->details) : NULL;
    copy.range = status->range ? json_copy(arena, status->range) : NULL;
    copy.given = status->given ? arena_strdup(arena, status->given) : NULL;
    copy.writer = (GradientWriter){str_from(str_dup(arena, status->writer.input)),
                                   str_from(str_dup(arena, status->writer.kernel)),
                                   str_from(str_dup(arena, status->writer.parameter))};
    return copy;
}

GradientStatus gradient_status(const struct Gradients *gradients, Arena *arena, const char *uri,
                               const char *kernel, uint64_t hash) {
    struct Gradients *table = (struct Gradients *)(uintptr_t)gradients;
    GradientStatus status = {.state = GRADIENT_UNCHECKED, .reason = ""};
    lock_take(&table->lock);
    const GradientEntry *entry = entry_find(gradients, arena, uri, kernel);
    if (entry) status = status_copy(arena, &entry->status);
    if (entry && status.state == GRADIENT_UNCHECKED && entry->derived_hash == hash &&
        *entry->refusal) {
        status.state = GRADIENT_REFUSED;
        status.reason = arena_strdup(arena, entry->refusal);
        status.hash = hash;
    }
    lock_give(&table->lock);
    status.is_stale = status.state != GRADIENT_UNCHECKED && status.state != GRADIENT_RUNNING &&
                      status.hash != hash;
    return status;
}

bool gradient_is_same(const struct Gradients *gradients, Arena *arena, const char *uri,
                      const char *kernel, uint64_t both) {
    struct Gradients *table = (struct Gradients *)(uintptr_t)gradients;
    lock_take(&table->lock);
    const GradientEntry *entry = entry_find(gradients, arena, uri, kernel);
    bool is_same = entry && entry->compared == both && entry->is_same;
    lock_give(&table->lock);
    return is_same;
}

const char *gradient_refusal(const struct Gradients *gradients, Arena *arena, const char *uri,
                             const char *kernel, uint64_t hash) {
    struct Gradients *table = (struct Gradients *)(uintptr_t)gradients;
    const char *refusal = NULL;
    lock_take(&table->lock);
    const GradientEntry *entry = entry_find(gradients, arena, uri, kernel);
    bool is_checked = entry && entry->status.hash == hash;
    if (entry && entry->derived_hash == hash && *entry->refusal)
        refusal = arena_strdup(arena, entry->refusal);
    else if (is_checked && (entry->status.state == GRADIENT_REFUSED ||
                            entry->status.state == GRADIENT_NOT_DIFFERENTIABLE))
        refusal = arena_strdup(arena, entry->status.reason);
    lock_give(&table->lock);
    return refusal;
}

const char *gradient_schedule(const struct Gradients *gradients, Arena *arena, const char *uri,
                              const char *kernel, uint64_t hash) {
    struct Gradients *table = (struct Gradients *)(uintptr_t)gradients;
    lock_take(&table->lock);
    const GradientEntry *entry = entry_find(gradients, arena, uri, kernel);
    bool is_known = entry && entry->derived_hash == hash && *entry->schedule;
    const char *schedule = is_known ? arena_strdup(arena, entry->schedule) : NULL;
    lock_give(&table->lock);
    return schedule;
}

bool gradient_is_slow(const struct Gradients *gradients, Arena *arena, const char *uri,
                      const char *kernel, uint64_t hash) {
    struct Gradients *table = (struct Gradients *)(uintptr_t)gradients;
    lock_take(&table->lock);
    const GradientEntry *entry = entry_find(gradients, arena, uri, kernel);
    bool is_slow = entry && entry->derived_hash == hash && entry->is_slow;
    lock_give(&table->lock);
    return is_slow;
}

Json *gradient_status_json(Arena *arena, const char *uri, const char *kernel, int version,
                           const GradientStatus *status) {
    static const char *const passed_on[] = {"inputs",     "together", "dot_test", "configurations",
                                            "discarded",  "covered",  "asserted", "coverage",
                                            "incomplete", "own_types"};
    Json *json = json_object(arena);
    json_set_string(json, "uri", uri);
    json_set_string(json, "kernel", kernel);
    json_set_number(json, "version", version);
    json_set_string(json, "status", state_names[status->state]);
    json_set(json, "worst_error",
             status->has_error ? json_number(arena, status->worst_error) : json_null(arena));
    json_set_number(json, "seconds", status->seconds);
    json_set_string(json, "reason", lines_visible(arena, status->reason));
    json_set_bool(json, "stale", status->is_stale);
    if (status->state == GRADIENT_RUNNING) {
        json_set_bool(json, "waiting", status->is_waiting);
        json_set_number(json, "percent", status->percent);
    }
    if (status->range) json_set(json, "range", json_copy(arena, status->range));
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++) {
        const Json *part = json_get(status->details, passed_on[i]);
        if (part) json_set(json, passed_on[i], json_copy(arena, part));
    }
    return json;
}

const char *gradient_status_words(Arena *arena, const char *kernel, const GradientStatus *status) {
    const char *covered = json_get_string(status->details, "covered", ""),
               *asserted = json_get_string(status->details, "asserted", "");
    switch (status->state) {
    case GRADIENT_RUNNING:
        return arena_printf(arena, "The gradients of `%s` are being checked.", kernel);
    case GRADIENT_PROVED:
        return arena_printf(arena, "The gradients of `%s` are proved, worst error %.1e.%s%s%s%s",
                            kernel, status->worst_error, *covered ? " Covered: " : "", covered,
                            *asserted ? ". Asserted at each call: " : "", asserted);
    case GRADIENT_FAILED:
        return arena_printf(arena, "A gradient of `%s` is wrong: %s", kernel, status->reason);
    case GRADIENT_UNPROVED:
        return arena_printf(arena, "The gradients of `%s` are not proved: %s", kernel,
                            status->reason);
    case GRADIENT_REFUSED:
    case GRADIENT_NOT_DIFFERENTIABLE:
        return arena_printf(arena, "`%s` has no backward: %s", kernel, status->reason);
    default: return "";
    }
}

static void notify_status(Server *server, const char *uri, const char *kernel, int version,
                          const GradientStatus *status) {
    Arena *arena = arena_new();
    server_notify(server, "tad/gradientStatus",
                  gradient_status_json(arena, uri, kernel, version, status));
    arena_free(arena);
}

void gradients_record(struct Gradients *gradients, const char *uri, const char *kernel, int version,
                      int line, const GradientStatus *status) {
    Arena *scratch = arena_new();
    lock_take(&gradients->lock);
    GradientEntry *entry = entry_make(gradients, scratch, uri, kernel);
    Arena *old = entry->arena;
    entry->arena = arena_new();
    entry->status = status_copy(entry->arena, status);
    entry->line = line;
    entry->was_stale = false;
    arena_free(old);
    lock_give(&gradients->lock);
    arena_free(scratch);
    Server *server = gradients->server;
    notify_status(server, uri, kernel, version, status);
    Document *document = documents_find(&server->documents, uri);
    if (document && status->state != GRADIENT_RUNNING) publish_document(server, document);
    client_refresh(server, true, false);
}

// --- Diagnostics of the family "checks", and what became stale

static void add_finding(Diagnostics *diagnostics, const char *name, Range range,
                        const char *message) {
    const DiagnosticRow *row = diagnostic_find(str_from(name));
    if (row) diagnose(diagnostics, (DiagnosticId)(row - diagnostic_rows), range, "%s", message);
}

/// What the worker saw in the forward itself; its lines are those of the text that was checked.
static void add_details(Diagnostics *diagnostics, const Snapshot *snapshot, const Kernel *kernel,
                        const GradientEntry *entry, int line) {
    const Json *findings = json_get(entry->status.details, "findings");
    Range name = snapshot_range(snapshot, kernel->definition->name_range);
    for (int i = 0; findings && findings->kind == JSON_ARRAY && i < findings->count; i++) {
        const Json *finding = findings->items[i];
        if (!str_is(kernel->definition->name, json_get_string(finding, "kernel", ""))) continue;
        int at = json_get_int(finding, "line", 0) + line - entry->line;
        add_finding(diagnostics, json_get_string(finding, "kind", ""),
                    proof_line_range(snapshot->source, at, name),
                    json_get_string(finding, "message", ""));
    }
}

/// "; expected dx[3, 7] = 2, actual 1" of the input that is most wrong, or "".
static const char *worst_words(Arena *arena, const Json *details) {
    const Json *inputs = json_get(details, "inputs"), *chosen = NULL;
    double error = -1;
    for (int i = 0; inputs && inputs->kind == JSON_ARRAY && i < inputs->count; i++) {
        const Json *worst = json_get(inputs->items[i], "worst");
        // What is not finite is null, and worst of all.
        double own = json_get_number(inputs->items[i], "error", HUGE_VAL);
        if (!worst || worst->kind != JSON_OBJECT || own <= error) continue;
        chosen = inputs->items[i];
        error = own;
    }
    if (!chosen) return "";
    const Json *worst = json_get(chosen, "worst"), *index = json_get(worst, "index");
    const Json *expected = json_get(worst, "expected"), *actual = json_get(worst, "actual");
    bool is_told =
        expected && actual && expected->kind == JSON_NUMBER && actual->kind == JSON_NUMBER;
    if (!is_told) return "";
    Buffer place = buffer_new(arena);
    for (int i = 0; index && index->kind == JSON_ARRAY && i < index->count; i++)
        buffer_printf(&place, "%s%.0f", i ? ", " : "[", index->items[i]->number);
    if (place.size) buffer_puts(&place, "]");
    return arena_printf(arena, "; expected d%s%s = %.6g, actual %.6g",
                        json_get_string(chosen, "name", ""), buffer_text(&place), expected->number,
                        actual->number);
}

/// "; in bf16: 1.3 times what the forward's rounding explains", or "".
static const char *own_types_words(Arena *arena, const GradientEntry *entry) {
    const Json *own_types = json_get(entry->status.details, "own_types");
    const char *words = own_types ? json_get_string(own_types, "words", "") : "";
    return *words ? arena_printf(arena, "; %s", words) : "";
}

/// Where the file holds the backward, at its line there; else at the line of the forward that it belongs to.
static void add_imprecise(Diagnostics *diagnostics, const Snapshot *snapshot, const Kernel *kernel,
                          const GradientEntry *entry) {
    const Json *finding = json_get(json_get(entry->status.details, "own_types"), "finding");
    if (!finding || finding->kind != JSON_OBJECT) return;
    Range name = snapshot_range(snapshot, kernel->definition->name_range);
    const char *backward = json_get_string(finding, "kernel", "");
    bool is_written = *backward && snapshot_find_kernel(snapshot, str_from(backward));
    int line = json_get_int(finding, is_written ? "line" : "forward_line", 0);
    if (line && !is_written) line += range_line(name) - entry->line;
    add_finding(diagnostics, "gradient-imprecise", proof_line_range(snapshot->source, line, name),
                json_get_string(finding, "message", ""));
}

/// The comment that gives the derivative that a wrong gradient rests on; else `otherwise`.
static Range place_of_given(Arena *arena, const Snapshot *snapshot, const GradientStatus *status,
                            Range otherwise) {
    if (!status->given) return otherwise;
    GivenRules rules = given_rules(arena, snapshot->module);
    for (LIST_EACH(int, i, rules))
        if (str_is(rules.items[i].name, status->given)) return rules.items[i].range;
    return otherwise;
}

/// The run stopped at a line of the kernel, which its words begin with (`..: softmax, line 7: integer division by zero`): there.
/// Without these words in `*reason`, as an edit above moves the line; else the kernel's name.
static Range place_of_stop(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                           const GradientEntry *entry, const char **reason) {
    Range name = snapshot_range(snapshot, kernel->definition->name_range);
    const char *words = strstr(*reason, ": ");
    const char *start =
        words ? arena_printf(arena, "%.*s, line ", STR_ARGS(kernel->definition->name)) : NULL;
    if (!words || !str_starts(str_from(words + 2), start)) return name;
    char *end;
    long line = strtol(words + 2 + strlen(start), &end, 10);
    if (line <= 0 || !str_starts(str_from(end), ": ")) return name;
    *reason = end + 2;
    return proof_line_range(snapshot->source, (int)line + range_line(name) - entry->line, name);
}

static void add_result(Diagnostics *diagnostics, const Snapshot *snapshot, const Kernel *kernel,
                       const GradientEntry *entry) {
    Range name = snapshot_range(snapshot, kernel->definition->name_range);
    const char *reason = entry->status.reason;
    switch (entry->status.state) {
    case GRADIENT_FAILED:
        diagnose(diagnostics, DIAGNOSTIC_GRADIENT_WRONG,
                 gradient_place(diagnostics->arena, snapshot, entry->status.writer,
                                place_of_given(diagnostics->arena, snapshot, &entry->status, name)),
                 "a gradient of `%.*s` is wrong: %s%s", STR_ARGS(kernel->definition->name), reason,
                 worst_words(diagnostics->arena, entry->status.details));
        break;
    case GRADIENT_PROVED:
        diagnose(diagnostics, DIAGNOSTIC_GRADIENT_PROVED, name,
                 "gradients of `%.*s` proved, worst error %.1e%s",
                 STR_ARGS(kernel->definition->name), entry->status.worst_error,
                 own_types_words(diagnostics->arena, entry))
            ->severity = SEVERITY_HINT;
        add_imprecise(diagnostics, snapshot, kernel, entry);
        break;
    case GRADIENT_UNPROVED:
        if (json_get_bool(entry->status.details, "contradicted", false)) {
            diagnose(diagnostics, DIAGNOSTIC_GRADIENT_WRONG, name,
                     "gradients of `%.*s` are not proved: %s", STR_ARGS(kernel->definition->name),
                     reason)
                ->severity = SEVERITY_WARNING;
            break;
        }
        name = place_of_stop(diagnostics->arena, snapshot, kernel, entry, &reason);
        diagnose(diagnostics, DIAGNOSTIC_GRADIENT_NOT_RUN, name,
                 "gradients of `%.*s` were not checked: %s", STR_ARGS(kernel->definition->name),
                 reason);
        break;
    default: break;
    }
    add_details(diagnostics, snapshot, kernel, entry, range_line(name));
}

void gradients_diagnose(struct Gradients *gradients, Arena *arena, const Snapshot *snapshot,
                        const char *uri, Diagnostics *diagnostics, StaleList *stale) {
    lock_take(&gradients->lock);
    bool is_empty = gradients->table.count == 0;
    for (int i = 0; !is_empty && i < snapshot->kernels.count; i++) {
        const Kernel *kernel = &snapshot->kernels.items[i];
        const char *name = str_dup(arena, kernel->definition->name);
        GradientEntry *entry = entry_find(gradients, arena, uri, name);
        if (!entry || entry->status.state <= GRADIENT_RUNNING) continue;
        bool is_stale = entry->status.hash != kernel_hash(snapshot, kernel);
        if (!is_stale) add_result(diagnostics, snapshot, kernel, entry);
        if (is_stale == entry->was_stale) continue;
        Stale item = {name, status_copy(arena, &entry->status)};
        item.status.is_stale = is_stale;
        LIST_PUSH(arena, &stale->list, item);
    }
    lock_give(&gradients->lock);
}

/// Whether it is still news: neither told for another list nor about a check that was followed by another.
static bool note_stale(struct Gradients *gradients, Arena *arena, const char *uri,
                       const Stale *item) {
    lock_take(&gradients->lock);
    GradientEntry *entry = entry_find(gradients, arena, uri, item->kernel);
    bool is_news = entry && entry->status.state == item->status.state &&
                   entry->status.hash == item->status.hash &&
                   entry->was_stale != item->status.is_stale;
    if (is_news) entry->was_stale = item->status.is_stale;
    lock_give(&gradients->lock);
    return is_news;
}

void gradients_tell_stale(Server *server, const char *uri, int version, const StaleList *stale) {
    Arena *scratch = arena_new();
    bool is_news = false;
    for (LIST_EACH(int, i, stale->list)) {
        const Stale *item = &stale->list.items[i];
        if (!note_stale(server->gradients, scratch, uri, item)) continue;
        is_news = true;
        notify_status(server, uri, item->kernel, version, &item->status);
    }
    if (is_news) client_refresh(server, true, false);  // those of the backward in another file
    arena_free(scratch);
}

// --- Deriving in the background

static bool knows_derivation(struct Gradients *gradients, Arena *arena, const char *uri,
                             const char *kernel, uint64_t hash, bool saves) {
    lock_take(&gradients->lock);
    const GradientEntry *entry = entry_find(gradients, arena, uri, kernel);
    bool known = entry && entry->derived_hash == hash && entry->derived_saves == saves;
    lock_give(&gradients->lock);
    return known;
}

/// "" where it is left out; NULL where nobody wants to know any longer.
static const char *schedule_of(const Snapshot *snapshot, const Kernel *kernel, Arena *arena) {
    BugGuard guard;
    if (!BUG_GUARD(&guard)) return guard.cause == BUG_UNWANTED ? NULL : "";
    ScheduleReport report = schedule_report(arena, snapshot, kernel, NULL);
    const char *schedule = schedule_brief(arena, &report);
    bug_guard_end(&guard);
    return schedule;
}

/// The schedule of what `Generate backward` would write; as schedule_of.
static const char *derive_schedule(Request *request, const Original *original,
                                   const Snapshot *snapshot, const Kernel *kernel, Arena *arena) {
    BugGuard guard;
    if (!BUG_GUARD(&guard)) return guard.cause == BUG_UNWANTED ? NULL : "";
    Saving saving = written_saving(request, original, snapshot, kernel);
    bug_guard_end(&guard);
    const char *schedule = schedule_of(saving.snapshot, saving_kernel(&saving, kernel), arena);
    saving_close(&saving);
    return schedule;
}

static void note_schedule(struct Gradients *gradients, Arena *arena, const char *uri,
                          const char *kernel, const char *schedule) {
    lock_take(&gradients->lock);
    GradientEntry *entry = entry_make(gradients, arena, uri, kernel);
    size_t size = strlen(schedule);
    if (size >= sizeof entry->schedule) size = 0;
    memcpy(entry->schedule, schedule, size);
    entry->schedule[size] = 0;
    lock_give(&gradients->lock);
}

static bool note_derivation(struct Gradients *gradients, Arena *arena, const char *uri,
                            const char *kernel, uint64_t hash, bool saves, const char *refusal,
                            bool is_slow) {
    lock_take(&gradients->lock);
    GradientEntry *entry = entry_make(gradients, arena, uri, kernel);
    bool differs = !entry->derived_hash || strcmp(entry->refusal, refusal) != 0;
    entry->derived_hash = hash;
    entry->derived_saves = saves;
    entry->is_slow = is_slow;
    size_t size = strlen(refusal);
    if (size >= sizeof entry->refusal) size = sizeof entry->refusal - 1;
    while (size && ((unsigned char)refusal[size] & 0xC0) == 0x80) size--;
    memcpy(entry->refusal, refusal, size);
    entry->refusal[size] = 0;
    lock_give(&gradients->lock);
    return differs;
}

/// "" where there is a gradient, NULL where nobody wants to know any longer.
static const char *derive_refusal(const Snapshot *snapshot, const Kernel *kernel, Arena *arena,
                                  bool *is_slow) {
    BugGuard guard;
    if (!BUG_GUARD(&guard)) {
        if (guard.cause == BUG_UNWANTED) return NULL;
        return arena_printf(arena, "internal error: %s", guard.message);
    }
    Diagnostics found = {.arena = arena};
    const Backward *backward = backward_kept(arena, snapshot, kernel, WRAPPER_AUTOGRAD, &found);
    bug_guard_end(&guard);
    for (LIST_EACH(int, i, found.list))
        *is_slow |= found.list.items[i].id == DIAGNOSTIC_GRADIENT_ATOMIC_HOT_SPOT ||
                    found.list.items[i].id == DIAGNOSTIC_GRADIENT_RECOMPUTED_STATE;
    if (backward->status == BACKWARD_DERIVED) return "";
    return backward->reason && *backward->reason ? backward->reason : "it has no gradient";
}

/// Where the kernel and its twin in the other file differ: whether their backwards do. Returns whether that is news.
static bool compare_twins(Request *request, const Snapshot *snapshot, const Kernel *kernel) {
    struct Gradients *gradients = request->server->gradients;
    Arena *arena = arena_new();
    const char *uri = request->document->uri, *name = kernel->function->name;
    Neighbour other = outdated_neighbour(request, snapshot, kernel);
    uint64_t both = outdated_hash(snapshot, kernel, &other);
    bool is_asked = other.name && !kernel_stands_in(snapshot, kernel, other.text);
    volatile bool is_same = false;
    if (is_asked) {
        lock_take(&gradients->lock);
        is_asked = entry_make(gradients, arena, uri, name)->compared != both;
        lock_give(&gradients->lock);
    }
    BugGuard guard;
    if (is_asked && BUG_GUARD(&guard)) {
        is_same = outdated_is_same(request, snapshot, kernel, &other);
        bug_guard_end(&guard);
        lock_take(&gradients->lock);
        GradientEntry *entry = entry_make(gradients, arena, uri, name);
        entry->compared = both;
        entry->is_same = is_same;
        lock_give(&gradients->lock);
    }
    arena_free(arena);
    return is_same;
}

/// One kernel after the other, until the text changes. The result says whether lenses have something new to say.
static Json *derive_work(Request *request) {
    struct Gradients *gradients = request->server->gradients;
    const char *uri = request->document->uri;
    bool has_news = false, saves = request->configuration->saves_for_backward;
    const Snapshot *snapshot = slow_snapshot(request);
    Original original = snapshot ? original_open(request) : (Original){0};
    for (int i = 0; snapshot && result_is_wanted() && i < snapshot->kernels.count; i++) {
        const Kernel *kernel = &snapshot->kernels.items[i];
        if (!kernel_has_gradients(snapshot, kernel)) continue;
        uint64_t hash = kernel_hash(snapshot, kernel);
        Arena *arena = arena_new();
        const char *name = kernel->function->name;
        const char *refusal = NULL;
        bool is_slow = false;
        if (!knows_derivation(gradients, arena, uri, name, hash, saves))
            refusal = derive_refusal(snapshot, kernel, arena, &is_slow);
        const char *schedule =
            refusal ? derive_schedule(request, &original, snapshot, kernel, arena) : NULL;
        if (schedule) note_schedule(gradients, arena, uri, name, schedule);
        if (schedule)
            has_news |= note_derivation(gradients, arena, uri, name, hash, saves, refusal, is_slow);
        arena_free(arena);
        has_news |= compare_twins(request, snapshot, kernel);
    }
    original_close(&original);
    return has_news ? json_bool(request->arena, true) : NULL;
}

static void derive_finish(Request *request) {
    if (request->result) client_refresh(request->server, true, false);
}

static void derive_unseen(void *context) {
    struct Gradients *gradients = context;
    Server *server = gradients->server;
    timer_stop(gradients->pause);
    gradients->pause = NULL;
    for (LIST_EACH(int, i, gradients->unseen)) {
        Document *document = documents_find(&server->documents, gradients->unseen.items[i]);
        if (!document || !server->configuration->derive) continue;
        Request *request = request_new(server, arena_new());
        request_set_document(request, document->queue, document->text);
        request->is_for_newest = true;
        request->work = derive_work;
        request->finish = derive_finish;
        request_start(request, QUEUE_BACKGROUND);
    }
    gradients->unseen.count = 0;
}

void gradients_watch(Server *server, const char *uri) {
    enum { PAUSE_MS = 400, MOST_UNSEEN = 8 };
    struct Gradients *gradients = server->gradients;
    const Document *document = documents_find(&server->documents, uri);
    if (!document || !server->configuration->derive) return;
    bool is_listed = gradients->unseen.count == MOST_UNSEEN;
    for (LIST_EACH(int, i, gradients->unseen))
        is_listed = is_listed || strcmp(gradients->unseen.items[i], uri) == 0;
    const char *key = NULL;  // the documents' own copy of the name outlives them
    for (int i = 0; !is_listed && i < server->documents.by_uri.count; i++)
        if (server->documents.by_uri.entries[i].value == document)
            key = server->documents.by_uri.entries[i].key.data;
    if (key) LIST_PUSH(server->arena, &gradients->unseen, key);
    timer_stop(gradients->pause);
    gradients->pause = timer_start(server->loop, PAUSE_MS, 0, derive_unseen, gradients);
}
