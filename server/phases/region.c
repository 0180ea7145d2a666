// A statement is open as its whole lines. An answer for it takes their place; where the rules then refuse another statement, that one is
// opened, and where they refuse the same again, what stands around it.
#include "server/phases/region.h"

#include "analysis/syntax/syntax_nodes.h"
#include "autodiff/backward.h"
#include "server/phases/judge.h"
#include "server/report/diff.h"
#include "server/text/resolve.h"

#define OPEN_MARK "# open from here"
#define CLOSE_MARK "# to here"

enum { MOST_REFUSED = 2, LONGEST_SHOWN = 60 };

#define SYSTEM                                                                                     \
    "You rewrite lines of Triton kernels, so that a tool can derive their gradients by rules.\n"   \
    "Answer with the lines that take the place of the open ones, in one ```python block, and "     \
    "nothing else in it: no function, no import. All other lines are locked. Use `tl` and the "    \
    "helpers of the file. The kernel has to store the same numbers as before, for every size.\n"   \
    "Each answer is parsed, and the gradient derived. The kernel is then run by an interpreter in " \
    "double precision, and compared with what it was and with differences."

// --- the lines

static uint32_t line_start(Str text, uint32_t at) {
    while (at > 0 && text.data[at - 1] != '\n') at--;
    return at;
}

static uint32_t line_end(Str text, uint32_t at) {
    while (at < text.size && text.data[at] != '\n') at++;
    return at;
}

/// The statement at or around the node that begins a line of its own; null where that is the function itself.
static SyntaxNode statement_at(const Source *source, SyntaxNode function, SyntaxNode node) {
    for (; !node_is_null(node) && !node_same(node, function); node = node_parent(node)) {
        SyntaxNode parent = node_parent(node);
        if (node_is_null(parent) || node_kind(parent) != SYNTAX_BLOCK) continue;
        uint32_t start = node_range(source, node).start, line = line_start(source->text, start);
        if (!str_trim((Str){source->text.data + line, start - line}).size) return node;
    }
    return (SyntaxNode){0};
}

/// Opens the statement that the rules refuse, or the one around it. False where there is none in this file.
static bool open_lines(RegionRun *run, const Snapshot *snapshot, Range refused, bool is_around) {
    const Source *source = snapshot->source;
    const FunctionDefinition *function = snapshot_function_around(snapshot, refused);
    if (!function || !function->is_jit || refused.source != source) return false;
    SyntaxNode node =
        statement_at(source, function->node, node_at(function->node, refused.start, refused.end));
    if (is_around && !node_is_null(node))
        node = statement_at(source, function->node, node_parent(node));
    if (node_is_null(node)) return false;
    Range range = node_range(source, node);
    run->start = line_start(source->text, range.start);
    run->end = line_end(source->text, range.end);
    run->function = str_dup(run->arena, function->name);
    run->refused_again = run->stalls = 0;
    run->best = (Trial){.outcome = TRIAL_UNUSABLE};
    return true;
}

// --- questions

static void say_turn(RegionRun *run, bool is_answer, const char *text) {
    LIST_PUSH(run->arena, &run->chat.turns, (ChatTurn){is_answer, text});
}

/// The function that the open lines stand in, with marks around them.
static const char *question(const RegionRun *run, const Snapshot *snapshot) {
    Arena *arena = run->arena;
    const FunctionDefinition *function =
        module_find_function(snapshot->module, str_from(run->function));
    Str text = snapshot->source->text;
    uint32_t first = line_start(text, function->range.start);
    size_t indent = strspn(text.data + run->start, " ");
    Buffer out = buffer_new(arena);
    buffer_printf(&out, "In `%s` a gradient stops at the open lines: %s.\n\n```python\n%.*s",
                  run->function, run->refusal, (int)(run->start - first), text.data + first);
    buffer_printf(&out, "%*s" OPEN_MARK "\n%.*s\n%*s" CLOSE_MARK, (int)indent, "",
                  (int)(run->end - run->start), text.data + run->start, (int)indent, "");
    buffer_printf(&out, "%.*s\n```\n\nGive the open lines anew.",
                  (int)(function->range.end - run->end), text.data + run->end);
    return buffer_text(&out);
}

static Snapshot *analyse(const RegionRun *run, ImportResolver *resolver, const char *text) {
    SnapshotOptions options = {.resolver = import_resolver_interface(resolver),
                               .skip_checks = true};
    return snapshot_build(run->path, str_from(text), &options);
}

Error region_begin(Arena *arena, const Options *options, Asker *asker, const char *path,
                   const char *text, const char *kernel_name, RegionRun *run) {
    *run = (RegionRun){.arena = arena,
                       .options = options,
                       .asker = asker,
                       .path = path,
                       .kernel = kernel_name,
                       .before = text,
                       .text = text,
                       .chat.system = SYSTEM,
                       .last = ""};
    ImportResolver *resolver = import_resolver_new(NULL);
    Snapshot *snapshot = analyse(run, resolver, text);
    const Kernel *kernel = snapshot_find_kernel(snapshot, str_from(kernel_name));
    Diagnostics ignored = {.arena = arena};
    const BackwardOptions wrapper = {.wrapper = WRAPPER_AUTOGRAD};
    const Backward *backward =
        kernel ? backward_derive(arena, snapshot, kernel, &wrapper, &ignored) : NULL;
    Error error = "nothing of it is refused";
    if (backward && backward->status == BACKWARD_REFUSED) {
        run->refusal = arena_strdup(arena, backward->reason);
        bool is_open = open_lines(run, snapshot, backward->reason_range, false);
        error = is_open
                    ? NULL
                    : arena_printf(arena, "%s; that is no statement of this file", run->refusal);
    }
    if (!error) say_turn(run, false, question(run, snapshot));
    snapshot_release(snapshot);
    import_resolver_free(resolver);
    return error;
}

// --- answers

static uint32_t moved(const RegionRun *run, uint32_t at, long by) {
    return at >= run->end ? (uint32_t)((long)at + by) : at;
}

/// Whether all functions are where they were: the code has neither ended one nor begun another.
static bool is_within(const RegionRun *run, const Module *old, const Module *new, long by) {
    if (module_has_errors(new) || old->functions.count != new->functions.count) return false;
    for (LIST_EACH(int, i, old->functions)) {
        const FunctionDefinition *a = old->functions.items[i], *b = new->functions.items[i];
        // The one that ends with the open lines ends with those in their place.
        bool ends_here = a->range.end > run->start && a->range.end <= run->end;
        bool ends = ends_here
                        ? b->range.end > run->start && b->range.end <= moved(run, run->end, by)
                        : b->range.end == moved(run, a->range.end, by);
        if (!str_equal(a->name, b->name) || moved(run, a->range.start, by) != b->range.start ||
            !ends)
            return false;
    }
    return true;
}

/// The line at `*at`, which moves behind it; without the blanks around it.
static Str next_line(Str text, size_t *at) {
    size_t start = *at, end = line_end(text, (uint32_t)start);
    *at = end + (end < text.size);
    return str_trim((Str){text.data + start, end - start});
}

/// The same from the end of the text up: `*end` moves before the line.
static Str line_above(Str text, size_t *end) {
    size_t start = line_start(text, (uint32_t)*end);
    Str line = str_trim((Str){text.data + start, *end - start});
    *end = start ? start - 1 : 0;
    return line;
}

/// What the answer has between the marks of the question; where it has none, the answer.
static Str between_marks(Str code) {
    size_t start = code.size;
    for (size_t at = 0; at < code.size;) {
        size_t before = at;
        Str line = next_line(code, &at);
        if (str_is(line, CLOSE_MARK) && start <= before)
            return (Str){code.data + start, before - start};
        if (str_is(line, OPEN_MARK)) start = at;
    }
    return code;
}

/// The answer without the locked lines `above` and `below` it, where it has all of these.
static Str between_locked(Str code, Str above, Str below) {
    size_t start = 0, end = code.size, below_end = below.size;
    for (size_t at = 0; at < above.size;) {
        Str locked = next_line(above, &at), line = {0};
        if (!locked.size) continue;
        while (!line.size && start < code.size) line = next_line(code, &start);
        if (!str_equal(line, locked)) return code;
    }
    while (below_end > 0) {
        Str locked = line_above(below, &below_end), line = {0};
        if (!locked.size) continue;
        while (!line.size && end > start) line = line_above(code, &end);
        if (!str_equal(line, locked)) return code;
    }
    return start < end ? (Str){code.data + start, end - start} : code;
}

/// The lines that the answer has for the open ones: models give the marks of the question back, or the whole function.
static Str open_part(const RegionRun *run, Str code) {
    const SnapshotOptions options = {.skip_checks = true};
    const Snapshot *snapshot = snapshot_build(run->path, str_from(run->text), &options);
    const FunctionDefinition *function =
        module_find_function(snapshot->module, str_from(run->function));
    Str text = snapshot->source->text;
    code = between_marks(code);
    if (function && function->range.end >= run->end) {
        uint32_t first = line_start(text, function->range.start);
        code = between_locked(code, (Str){text.data + first, run->start - first},
                              (Str){text.data + run->end, function->range.end - run->end});
    }
    snapshot_release(snapshot);
    while (code.size && strchr(" \t\r\n", code.data[code.size - 1])) code.size--;
    return code;
}

/// The text with the answer's lines in the place of the open ones; NULL and `*why`.
static const char *with_lines(RegionRun *run, const char *answer, const char **why) {
    Arena *arena = run->arena;
    Str code = answer_code(arena, answer, why);
    if (*why) return NULL;
    code = open_part(run, code);
    if (!code.size) {
        *why = "it has no code";
        return NULL;
    }
    if (str_is(code, run->last)) {
        run->stopped = "the model gives the same answer again";
        *why = "it is the answer before";
        return NULL;
    }
    run->last = str_dup(arena, code);
    size_t indent = strspn(run->text + run->start, " ");
    const char *name = run->asker->settings->model;
    char *shown = arena_printf(arena, "%.*s", LONGEST_SHOWN, name);
    for (char *at = shown; *at; at++)
        if (*at < ' ' || *at > '~') *at = '?';
    const char *lines = answer_indented(arena, code, indent);
    const char *made = arena_printf(
        arena,
        "%.*s%*s# Proposed by a model (%s): computes what stood here, proved with `%s`.\n%s%s",
        (int)run->start, run->text, (int)indent, "", shown, run->kernel, lines,
        run->text + run->end);
    const SnapshotOptions options = {.skip_checks = true};
    const Snapshot *old = snapshot_build(run->path, str_from(run->text), &options),
                   *new = snapshot_build(run->path, str_from(made), &options);
    long by = (long)strlen(made) - (long)strlen(run->text);
    if (!is_within(run, old->module, new->module, by)) {
        Str marked = str_from(made);
        uint32_t first = line_end(marked, run->start) + 1;
        *why = arena_printf(
            arena,
            "its code does not parse in the place of the open lines%s, or reaches beyond them",
            answer_fault(arena, new, first, first + (uint32_t)strlen(lines)));
        made = NULL;
    }
    snapshot_release(old);
    snapshot_release(new);
    return made;
}

/// Whether the place lies in the lines that the answer has put there.
static bool is_in_answer(const RegionRun *run, const char *made, Range place) {
    long by = (long)strlen(made) - (long)strlen(run->text);
    return place.start >= run->start && place.start <= (uint32_t)((long)run->end + by);
}

/// Something is refused with the answer in its place. What is said of it, and asked next.
static const char *take_refusal(RegionRun *run, const Snapshot *snapshot, const char *made,
                                const Trial *trial, bool *is_kept) {
    Arena *arena = run->arena;
    if (!is_in_answer(run, made, trial->refused)) {
        run->refusal = arena_strdup(arena, trial->words);
        run->text = str_dup(arena, snapshot->source->text);
        *is_kept = open_lines(run, snapshot, trial->refused, false);
        run->moves_on = !*is_kept;
        if (!*is_kept) run->stopped = run->refusal;
        return *is_kept ? arena_printf(arena, "The rules take these lines.\n\n%s",
                                       question(run, snapshot))
                        : trial->words;
    }
    const char *again = arena_printf(arena, "The rules refuse these lines, too: %s", trial->words);
    if (++run->refused_again < MOST_REFUSED)
        return arena_printf(arena, "%s.\n\nGive the open lines again, otherwise.", again);
    ImportResolver *resolver = import_resolver_new(NULL);
    Snapshot *whole = analyse(run, resolver, run->text);
    Range open = {whole->source, run->start + (uint32_t)strspn(run->text + run->start, " "),
                  run->end};
    if (open_lines(run, whole, open, true))
        again =
            arena_printf(arena, "%s. More lines are open now.\n\n%s", again, question(run, whole));
    else
        again = arena_printf(arena, "%s.\n\nGive the open lines again, otherwise.", again);
    snapshot_release(whole);
    import_resolver_free(resolver);
    return again;
}

/// What the front end finds in the text that the file had none of; NULL: nothing.
static const char *new_finding(const RegionRun *run, const char *made) {
    ImportResolver *resolver = import_resolver_new(NULL);
    SnapshotOptions options = {.resolver = import_resolver_interface(resolver)};
    const Snapshot *before = snapshot_build(run->path, str_from(run->before), &options),
                   *after = snapshot_build(run->path, str_from(made), &options);
    const char *found = finding_more(run->arena, before, after);
    snapshot_release(before);
    snapshot_release(after);
    import_resolver_free(resolver);
    return found;
}

/// Tries the text. What is asked next; NULL where nothing is.
static const char *try_text(RegionRun *run, const char *made, RegionTry *one) {
    Arena *arena = run->arena;
    const char *finding = new_finding(run, made), *next = NULL;
    one->diff = diff_unified(arena, run->path, run->text, run->path, made);
    if (finding) {
        one->words = arena_printf(arena, "refused: %s", finding);
        return arena_printf(arena, "That is %s.\n\nGive the open lines again, corrected.",
                            one->words);
    }
    const Snapshot *snapshot = NULL;
    Trial trial =
        trial_run(arena, run->options, run->path, made, run->kernel, run->before, &snapshot);
    if (trial_is_better(&trial, &run->best)) {
        run->best = trial;
        run->stalls = 0;
    }
    one->words = arena_strdup(arena, trial.words ? trial.words : "");
    if (trial.outcome == TRIAL_PROVED) {
        run->result = made;
        run->worst_error = trial.worst_error;
        one->is_kept = true;
        one->words =
            arena_printf(arena, "computes what it did; the gradients are proved, worst error %.1e",
                         trial.worst_error);
    } else if (trial.outcome == TRIAL_REFUSED && snapshot) {
        next = take_refusal(run, snapshot, made, &trial, &one->is_kept);
    } else {
        next = arena_printf(
            arena, "That is not right: %s.\n\nGive the open lines again, corrected.", one->words);
    }
    snapshot_release(snapshot);
    return next;
}

/// What becomes of the answer; `*next` as try_text.
static RegionTry try_answer(RegionRun *run, const ChatReply *reply, const char **next) {
    Arena *arena = run->arena;
    const char *why = NULL;
    RegionTry one = {.diff = ""};
    const char *made = reply->is_cut ? NULL : with_lines(run, reply->text, &why);
    if (made) {
        *next = try_text(run, made, &one);
        return one;
    }
    one.words = arena_printf(arena, "cannot be used: %s", why ? why : "it was cut off");
    *next = arena_printf(arena, "That %s.\n\nGive the open lines again.", one.words);
    return one;
}

static void take_reply(RegionRun *run, const ChatReply *reply) {
    const char *next;
    BugGuard guard;
    run->stalls++;
    if (BUG_GUARD(&guard)) {
        RegionTry one = try_answer(run, reply, &next);
        bug_guard_end(&guard);
        LIST_PUSH(run->arena, &run->tries, one);
    } else {
        RegionTry one = {.words = "cannot be used: it cannot be analysed", .diff = ""};
        LIST_PUSH(run->arena, &run->tries, one);
        next = "That cannot be analysed.\n\nGive the open lines again.";
    }
    if (!next || run->stopped) return;
    say_turn(run, true, reply->text);
    say_turn(run, false, next);
}

void region_run(RegionRun *run) {
    int most = (int)run->asker->settings->max_iters;
    int patience = (int)run->asker->settings->max_stalls;
    for (int i = 0; i < most && !run->stopped && !run->result; i++) {
        ChatReply reply;
        Error error = asker_ask(run->asker, &run->chat, &reply);
        if (error) {
            run->stopped = error;
            run->is_failed = true;
            return;
        }
        asker_tell(run->asker, arena_printf(run->arena, "answer %d is checked", i + 1));
        take_reply(run, &reply);
        if (!run->stopped && !run->result && run->stalls >= patience && i + 1 < most)
            run->stopped = asker_stalled(run->asker, run->stalls);
    }
    if (!run->stopped && !run->result)
        run->stopped =
            arena_printf(run->arena, "%d answer%s, none of them right", most, most == 1 ? "" : "s");
}
