// `--ask FILE[:KERNEL]`: a model is asked for the derivative of each helper that the rules refuse; what it says is proved before anybody gets it.
#include "server/phases/ask.h"

#include <stdio.h>
#include <unistd.h>

#include "autodiff/backward.h"
#include "base/escape.h"
#include "server/model/agreement.h"
#include "server/model/answer_log.h"
#include "server/model/session.h"
#include "server/phases/extract.h"
#include "server/phases/phase.h"
#include "server/report/diff.h"
#include "server/settings/result.h"
#include "server/system/files.h"
#include "server/system/loop.h"
#include "server/system/output.h"
#include "server/system/private.h"
#include "server/system/target.h"
#include "server/text/resolve.h"

// --- what there is to ask

static bool is_done(const Ask *ask, const char *kernel) {
    for (int i = 0; i < ask->done.count; i++)
        if (strcmp(ask->done.items[i], kernel) == 0) return true;
    return false;
}

static Snapshot *analyse(ImportResolver *resolver, const char *path, const char *text) {
    SnapshotOptions options = {.resolver = import_resolver_interface(resolver),
                               .skip_checks = true};
    return snapshot_build(path, str_from(text), &options);
}

/// What is asked about a refused kernel.
typedef struct KernelQuestion {
    const char *kernel;  // NULL: none is left
    int line;
    Error why;  // why it cannot be asked about; NULL: it can
    ModelSession session;
    const Snapshot *
        own;  // of the text with what is refused in helpers, where it stood in the kernel itself; or NULL
    ImportResolver *resolver;
} KernelQuestion;

static void question_end(KernelQuestion *question) {
    snapshot_release(question->own);
    if (question->resolver) import_resolver_free(question->resolver);
}

static void open_session(Ask *ask, const Snapshot *snapshot, const Kernel *kernel,
                         KernelQuestion *question) {
    const char *text = extract_refused(ask->arena, ask->target.path, snapshot->source->text.data,
                                       question->kernel);
    if (text) {
        question->resolver = import_resolver_new(NULL);
        question->own = analyse(question->resolver, ask->target.path, text);
        const Kernel *same = snapshot_find_kernel(question->own, str_from(question->kernel));
        if (same) snapshot = question->own, kernel = same;
    }
    question->why = session_begin(ask->arena, ask->options, snapshot, ask->target.path, kernel,
                                  &question->session);
}

/// The next kernel that is refused, and its session; `question_end` releases what it holds.
static KernelQuestion next_question(Ask *ask, const Snapshot *snapshot) {
    KernelQuestion question = {0};
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const Kernel *kernel = &snapshot->kernels.items[i];
        const char *name = kernel->function->name;
        if (!kernel_is_forward(kernel) || is_done(ask, name)) continue;
        if (ask->target.kernel && strcmp(name, ask->target.kernel) != 0) continue;
        question.kernel = arena_strdup(ask->arena, name);
        ask->done.items[ask->done.count++] = question.kernel;
        Diagnostics ignored = {.arena = ask->arena};
        const BackwardOptions options = {.wrapper = WRAPPER_AUTOGRAD};
        if (backward_derive(ask->arena, snapshot, kernel, &options, &ignored)->status !=
            BACKWARD_REFUSED)
            continue;
        question.line = range_line(kernel->definition->name_range);
        open_session(ask, snapshot, kernel, &question);
        return question;
    }
    question.kernel = NULL;
    return question;
}

const char *ask_request(Ask *ask, const Chat *chat) {
    Buffer out = buffer_new(ask->arena);
    buffer_printf(&out, "POST %s\n", chat_url(ask->arena, &ask->settings));
    const char *const *header = chat_headers(ask->arena, &ask->settings, true);
    for (; *header; header++) buffer_printf(&out, "%s\n", *header);
    buffer_printf(&out, "\n%s\n\n", chat_body(ask->arena, &ask->settings, chat));
    return buffer_text(&out);
}

/// The first question about each refused kernel, as it would be sent; "" where there is nothing to ask.
static const char *first_requests(Ask *ask, const Snapshot *snapshot) {
    Buffer out = buffer_new(ask->arena);
    for (;;) {
        KernelQuestion question = next_question(ask, snapshot);
        if (!question.kernel) break;
        const Chat *chat = &question.session.chat;
        // What holds more is agreed to when it is asked.
        bool is_plain = !question.why && !question.session.is_foreign;
        const char *body = !is_plain ? "" : chat_body(ask->arena, &ask->settings, chat);
        if (*body && !(out.size && strstr(buffer_text(&out), body)))
            buffer_puts(&out, ask_request(ask, chat));
        question_end(&question);
    }
    ask->done.count = 0;
    return buffer_text(&out);
}

// --- agreement

bool ask_is_agreed(Ask *ask, const char *requests, const char *scope, const char *later) {
    const char *url = agreement_subject(ask->arena, chat_url(ask->arena, &ask->settings), scope);
    if (agreement_holds(ask->arena, ask->workspace, url)) return true;
    if (ask->options->from_stdin) {  // an editor shows nothing
        say("nothing was sent: you have not agreed for %s%s%s", ask->workspace,
            scope ? " that it may hold " : "", scope ? scope : "");
        return false;
    }
    return agreement_ask(ask->arena, ask->workspace, url, requests, later, ask->options->agree);
}

bool ask_may_send(Ask *ask, const Chat *chat, const char *where, const char *scope,
                  const char *later) {
    if (ask->asker.played || ask_is_agreed(ask, ask_request(ask, chat), scope, later)) return true;
    ask->is_failed = true;
    ask->last = arena_printf(ask->arena,
                             "nothing was sent. %s, and you have not agreed that %s of %s are "
                             "sent: `tad-lsp --ask %s` in a terminal shows what, and asks",
                             where, scope, ask->workspace, ask->target.path);
    return false;
}

// --- the report

static const char *const outcomes[] = {
    [TRIAL_UNUSABLE] = "cannot be used", [TRIAL_REFUSED] = "not enough",
    [TRIAL_REFUTED] = "refuted",         [TRIAL_UNCHECKED] = "NOT CHECKED",
    [TRIAL_OPEN] = "not proved",         [TRIAL_PROVED] = "proved",
};

static void report_try(Buffer *out, const SessionTry *try) {
    buffer_printf(out, "    %s\n", *try->rules ? try->rules : "(no rule)");
    if (try->trial.outcome == TRIAL_PROVED)
        buffer_printf(out, "      proved, worst error %.1e\n", try->trial.worst_error);
    else
        buffer_printf(out, "      %s: %s\n", outcomes[try->trial.outcome], try->trial.words);
}

static void report_session(Ask *ask, const ModelSession *session, int line) {
    Buffer *out = &ask->out;
    buffer_printf(out, "%s:%d: `%s`: %s\n", ask->target.path, line, session->kernel,
                  session->helpers.items[0].refusal);
    for (LIST_EACH(int, i, session->tries)) report_try(out, &session->tries.items[i]);
    if (session->stopped) buffer_printf(out, "    stopped: %s\n", session->stopped);
}

/// Why it was not proved: what the check says of the best answer, else why there was none.
static const char *last_words(const ModelSession *session) {
    bool is_known = session->best.count && !session->is_failed;
    return is_known ? session->best_trial.words : session->stopped;
}

static void report_cost(Ask *ask) {
    const Asker *asker = &ask->asker;
    if (ask->refused || !ask->phases)
        buffer_printf(&ask->out, "%d of %d refused kernel%s proved; ", ask->proved, ask->refused,
                      ask->refused == 1 ? "" : "s");
    if (ask->phases)
        buffer_printf(&ask->out, "%d of %d phase%s with a gain; ", ask->gains, ask->phases,
                      ask->phases == 1 ? "" : "s");
    buffer_printf(&ask->out, "%d answer%s of %s, %lld tokens in, %lld out%s", asker->questions,
                  asker->questions == 1 ? "" : "s", ask->all.phases ? "the models" : ask->all.model,
                  (long long)asker->input_tokens, (long long)asker->output_tokens,
                  asker_price(asker));
    if (!asker->played) buffer_printf(&ask->out, ", %.1f s", asker_seconds(asker));
    buffer_puts(&ask->out, "\n");
}

void ask_put_diff(Buffer *out, const char *diff) {
    for (const char *at = diff; *at;) {
        size_t size = strcspn(at, "\n");
        buffer_printf(out, "      %.*s\n", (int)size, at);
        at += size + (at[size] != 0);
    }
}

// --- the session

/// The session that the question has. Returns as ask_once.
static const char *ask_session(Ask *ask, KernelQuestion *question) {
    static const char later[] =
        "Later requests add the answers, what the check says of them, and the text of helpers of "
        "this file that are refused.\n";
    ModelSession *session = &question->session;
    const char *scope =
        ask->options->examples ? AGREEMENT_HELPERS " and examples" : AGREEMENT_HELPERS;
    if (session->is_foreign &&
        !ask_may_send(ask, &session->chat, "A helper of it stands in another file", scope, later))
        return NULL;
    session_run(session, &ask->asker);
    report_session(ask, session, question->line);
    ask->is_failed |= session->is_failed;
    if (session->stopped) ask->last = last_words(session);
    if (session->best_trial.outcome == TRIAL_PROVED) {
        ask->proved++;
        ask->best = session_text(session, &ask->settings);
        return NULL;
    }
    return session->moves_on ? session_text_so_far(session, &ask->settings) : NULL;
}

/// Asks about what is refused first in the text. Returns the text with which something else is refused; NULL where there is no more to ask.
static const char *ask_once(Ask *ask, KernelQuestion *question, const char *text) {
    const char *next = NULL;
    if (!question->why) return ask_session(ask, question);
    if (ask_region(ask, question->kernel, question->line, text, &next)) return next;
    buffer_printf(&ask->out, "%s:%d: `%s`: %s\n", ask->target.path, question->line,
                  question->kernel, question->why);
    ask->last = question->why;
    return NULL;
}

/// The question about the same kernel in another text.
static bool reopen(Ask *ask, const Snapshot *snapshot, KernelQuestion *question) {
    *question = (KernelQuestion){.kernel = question->kernel, .line = question->line};
    const Kernel *kernel = snapshot_find_kernel(snapshot, str_from(question->kernel));
    if (kernel) open_session(ask, snapshot, kernel, question);
    return kernel != NULL;
}

/// Asks about the next refused kernel of the text that is there by now: its helpers and its lines, one after the other, until it is proved.
/// False where there is none, or no model.
static bool ask_next(Ask *ask) {
    enum { MOST_PLACES = 16 };
    KernelQuestion question = {0};
    const char *text = ask->best;
    int before = ask->asker.questions;
    double most = ask->settings.max_iters;
    bool is_there = false;
    for (int i = 0; i < MOST_PLACES && text; i++) {
        ImportResolver *resolver = import_resolver_new(NULL);
        Snapshot *snapshot = analyse(resolver, ask->target.path, text);
        if (i == 0) {
            question = next_question(ask, snapshot);
            is_there = question.kernel != NULL;
            ask->refused += is_there;
        }
        bool is_open = is_there && (i == 0 || reopen(ask, snapshot, &question));
        text = is_open ? ask_once(ask, &question, text) : NULL;
        question_end(&question);
        snapshot_release(snapshot);
        import_resolver_free(resolver);
        // The answers are counted together.
        ask->settings.max_iters = most - (ask->asker.questions - before);
        if (ask->is_failed || interrupted() || ask->settings.max_iters < 1) break;
    }
    ask->settings.max_iters = most;
    return is_there && !ask->is_failed && !interrupted();
}

static Error write_transcript(const Ask *ask) {
    if (!ask->options->record || !ask->asker.kept) return NULL;
    Output output = {.path = ask->options->record,
                     .is_ours = transcript_is_ours,
                     .is_forced = ask->options->force,
                     .way_out = FORCE_HINT,
                     .inputs = &ask->target.path,
                     .input_count = 1};
    return output_write(ask->arena, &output, transcript_text(ask->asker.kept));
}

static Error write_result(const Ask *ask) {
    const char *path = ask->options->output ? ask->options->output : ask->target.path;
    Str now;
    Error error = file_read(ask->arena, ask->target.path, &now);
    if (error) return error;
    if (!str_equal(now, ask->text))
        return arena_printf(ask->arena, "%s: has changed in the meantime; nothing was written",
                            ask->target.path);
    Output output = {.path = path,
                     .is_forced = !ask->options->output || ask->options->force,
                     .way_out = FORCE_HINT,
                     .inputs = &ask->target.path,
                     .input_count = ask->options->output != NULL};
    error = output_write(ask->arena, &output, ask->best);
    if (!error) say("wrote %s", path);
    return error;
}

// --- for an editor

static size_t line_size(const char *at) {
    size_t size = strcspn(at, "\n");
    return size + (at[size] == '\n');
}

static void push_edit(Ask *ask, Json *list, int line, int end, const char *text, size_t size) {
    Json *edit = json_object(ask->arena);
    json_set_number(edit, "line", line);
    json_set_number(edit, "end", end);
    json_set_string(edit, "text", arena_strndup(ask->arena, text, size));
    json_push(list, edit);
}

/// The lines that the best text has and the file's lacks, each with the line that it stands above. False where it lacks others.
static bool added_lines(Ask *ask, Json *list) {
    const char *old = ask->text.data, *text = ask->best;
    int line = 0;
    for (size_t size; *text; text += size) {
        size_t old_size = line_size(old);
        size = line_size(text);
        if (size == old_size && memcmp(text, old, size) == 0) {
            old += old_size;
            line++;
        } else {
            push_edit(ask, list, line, line, text, size);
        }
    }
    return !*old;
}

/// What is between the lines that both texts begin and end with, as one edit.
static Json *changed_lines(Ask *ask) {
    Json *list = json_array(ask->arena);
    if (added_lines(ask, list)) return list;
    const char *old = ask->text.data, *text = ask->best;
    int first = 0;
    for (size_t size;
         *old && (size = line_size(old)) == line_size(text) && memcmp(old, text, size) == 0;
         first++, old += size, text += size)
        continue;
    const char *old_end = old + strlen(old), *end = text + strlen(text);
    while (old_end > old && end > text && old_end[-1] == end[-1]) old_end--, end--;
    // On to the start of a line.
    while (*old_end && old_end > old && old_end[-1] != '\n') old_end++, end++;
    int last = first;
    for (const char *at = old; at < old_end; at += line_size(at)) last++;
    list = json_array(ask->arena);
    push_edit(ask, list, first, last, text, (size_t)(end - text));
    return list;
}

/// One sentence for who does not read the report.
static const char *summary(const Ask *ask, bool is_changed) {
    const char *cost = asker_price(&ask->asker);
    if (ask->phases && is_changed)
        return arena_printf(ask->arena, "The backward that %s proposes is proved: %s%s.",
                            ask->settings.model, ask->last, cost);
    if (ask->phases)
        return arena_printf(ask->arena, "Nothing better from %s: %s%s", ask->settings.model,
                            ask->last, cost);
    if (ask->refused == 0) return ask->last ? ask->last : "The rules refuse nothing here.";
    if (is_changed && ask->regions)
        return arena_printf(ask->arena,
                            "The lines that %s proposes compute what stood there, and the "
                            "gradients are proved: see the comment above them%s.",
                            ask->settings.model, cost);
    if (is_changed)
        return arena_printf(
            ask->arena,
            "The derivative that %s proposes is proved: see the comment above the helper%s.",
            ask->settings.model, cost);
    return arena_printf(ask->arena, "No derivative from %s: %s", ask->settings.model, ask->last);
}

static int answer_editor(Ask *ask, bool is_changed) {
    Json *json = json_object(ask->arena);
    json_set_number(json, "proved", ask->proved);
    json_set_number(json, "refused", ask->refused);
    const char *before = interrupted() ? "Cancelled. " : "";
    json_set_string(json, "summary",
                    arena_printf(ask->arena, "%s%s", before, summary(ask, is_changed)));
    json_set_string(json, "report", buffer_text(&ask->out));
    json_set_number(json, "answers", ask->asker.questions);
    if (interrupted()) json_set_bool(json, "cancelled", true);
    if (is_changed) json_set(json, "edits", changed_lines(ask));
    puts(json_print(ask->arena, json, false));
    return STATUS_CLEAN;
}

static void tell(void *context, const char *what) {
    const Ask *ask = context;
    fprintf(stderr, ask->options->from_stdin ? "%s\n" : "\r\033[K%s\r",
            text_visible(ask->arena, what));
    fflush(stderr);
}

/// False where a signal has come.
static bool goes_on(void *context, size_t bytes) {
    enum { PAUSE_NS = 500 * 1000 * 1000 };
    Ask *ask = context;
    const Asker *asker = &ask->asker;
    if (interrupted()) return false;
    if (clock_ns() - ask->told_ns < PAUSE_NS) return true;
    ask->told_ns = clock_ns();
    asker_tell(asker, arena_printf(ask->arena, "answer %d of %s: %zu bytes, %lld tokens before%s",
                                   asker->questions + 1, ask->settings.model, bytes,
                                   (long long)(asker->input_tokens + asker->output_tokens),
                                   asker_price(asker)));
    return true;
}

/// All of stdin.
static Error read_stdin(Ask *ask) {
    Buffer text = buffer_new(ask->arena);
    char piece[4096];
    for (size_t size; (size = fread(piece, 1, sizeof piece, stdin)) > 0;) {
        buffer_add(&text, piece, size);
        if (text.size > FILE_LARGEST_BYTES) return "the text is over 10 MB";
    }
    ask->text = (Str){buffer_text(&text), text.size};
    return utf8_find_invalid(ask->text.data, ask->text.size) ? "the text is no UTF-8" : NULL;
}

// --- the end

/// The diff of what is proved, and the file where the user wants it. Returns the exit status.
static int finish(Ask *ask) {
    Arena *arena = ask->arena;
    bool is_changed = !str_is(ask->text, ask->best);
    // The last proof is made all the same: without it nothing is kept. Who does not want to wait sends another signal.
    ask->is_failed |= interrupted();
    interrupts_release();
    const char *wrong =
        is_changed ? trial_whole(arena, ask->options, ask->target.path, ask->best) : NULL;
    if (wrong) {
        buffer_printf(&ask->out, "%s; nothing of it is kept\n", wrong);
        is_changed = false;
        ask->proved = 0;
    }
    if (ask->refused == 0 && ask->phases == 0)
        buffer_printf(&ask->out, "%s: the rules refuse nothing; no model was asked\n",
                      ask->target.path);
    else
        report_cost(ask);
    if (ask->options->from_stdin) {
        if (ask->asker.log && !ask->is_failed) answer_log_end(ask->asker.log);
        return answer_editor(ask, is_changed);
    }
    if (is_changed) {
        const char *name = text_visible(arena, ask->target.path);
        buffer_printf(&ask->out, "\n%s",
                      diff_unified(arena, name, ask->text.data, name, ask->best));
    }
    fputs(lines_visible(arena, buffer_text(&ask->out)), stdout);
    fflush(stdout);
    if (ask->asker.log && !ask->is_failed) answer_log_end(ask->asker.log);
    Error error = write_transcript(ask);
    bool writes = ask->options->write || ask->options->output;
    if (!error && is_changed && writes) error = write_result(ask);
    if (error) say("%s", error);
    if (error || ask->is_failed) return STATUS_TROUBLE;
    bool is_done = ask->proved == ask->refused && (!ask->phases || ask->gains);
    return is_done ? STATUS_CLEAN : STATUS_FINDINGS;
}

bool ask_wants(const Ask *ask, const char *phase) {
    const Names *phases = &ask->options->phases;
    for (int i = 0; i < phases->count; i++)
        if (strcmp(phases->items[i], phase) == 0) return true;
    return !phases->count && strcmp(phase, phase_name(PHASE_COMPLETE)) == 0;
}

void ask_use_settings(Ask *ask, const char *phase) {
    Error error = model_settings_phase(ask->arena, &ask->all, phase, &ask->settings);
    if (error) BUG("settings of a phase that were not looked at");
}

/// Settings of phases that are none, or that cannot be used.
static Error refuse_own_settings(Ask *ask) {
    const Json *phases = ask->all.phases;
    for (int i = 0; phases && phases->kind == JSON_OBJECT && i < phases->count; i++) {
        const char *name = str_dup(ask->arena, phases->keys[i]);
        ModelSettings own;
        if (phase_find(name) == PHASE_COUNT)
            return arena_printf(ask->arena,
                                "the settings of a model name a phase `%s`: there are %s", name,
                                phase_names(ask->arena));
        Error error = model_settings_phase(ask->arena, &ask->all, name, &own);
        if (error) return arena_printf(ask->arena, "[%s]: %s", name, error);
    }
    return NULL;
}

static Error refuse_phases(Ask *ask) {
    for (int i = 0; i < ask->options->phases.count; i++)
        if (phase_find(ask->options->phases.items[i]) == PHASE_COUNT)
            return arena_printf(ask->arena, "--phase: there is no `%s`, but %s",
                                ask->options->phases.items[i], phase_names(ask->arena));
    return NULL;
}

/// Answers of the same session that did not come to its end are taken first.
static void resume(Ask *ask) {
    Buffer what = buffer_new(ask->arena);
    buffer_printf(&what, "%s:%s\n%s\n%d\n", path_real(ask->arena, ask->target.path),
                  ask->target.kernel ? ask->target.kernel : "", ask->all.model,
                  ask->options->examples);
    for (int i = 0; i < PHASE_COUNT; i++)
        if (ask_wants(ask, phase_name((PhaseId)i)))
            buffer_printf(&what, "%s\n", phase_name((PhaseId)i));
    buffer_add(&what, ask->text.data, ask->text.size);
    ask->asker.log = answer_log_open(ask->arena, &ask->all, ask->workspace, buffer_text(&what));
    int left = ask->asker.log ? answer_log_left(ask->asker.log) : 0;
    if (left)
        buffer_printf(&ask->out, "resumed: %d answer%s of a session that did not end\n", left,
                      left == 1 ? "" : "s");
}

static Error ask_set_up(Ask *ask) {
    Arena *arena = ask->arena;
    ask->workspace = workspace_of(arena, ask->target.path);
    Transcript *played = NULL;
    Error error = refuse_phases(ask);
    if (error) return error;
    error = ask->options->answers
                ? transcript_read(arena, ask->options->answers, &played, &ask->all)
                : model_settings_read(arena, ask->options, ask->workspace, &ask->all);
    if (!error) error = refuse_own_settings(ask);
    if (error) return error;
    if (played && ask->options->max_iters) ask->all.max_iters = ask->options->max_iters;
    if (played && ask->options->max_stalls) ask->all.max_stalls = ask->options->max_stalls;
    ask_use_settings(ask, phase_name(PHASE_COMPLETE));
    ask->asker = asker_new(arena, &ask->settings);
    ask->asker.played = played;
    if (ask->options->record) ask->asker.kept = transcript_new(arena, &ask->all);
    ask->asker.goes_on = goes_on;
    ask->asker.context = ask;
    if (ask->options->from_stdin || isatty(STDERR_FILENO)) ask->asker.tells = tell;
    error =
        ask->options->from_stdin ? read_stdin(ask) : file_read(arena, ask->target.path, &ask->text);
    if (!error && !played) resume(ask);
    return error;
}

static int ask_file(Ask *ask) {
    ImportResolver *resolver = import_resolver_new(NULL);
    Snapshot *snapshot = analyse(resolver, ask->target.path, ask->text.data);
    ask->best = ask->text.data;
    ask->done.items = ARENA_ARRAY(ask->arena, const char *, snapshot->kernels.count + 1);
    bool is_there =
        !ask->target.kernel || snapshot_find_kernel(snapshot, str_from(ask->target.kernel)) != NULL;
    interrupts_hold();
    const char *requests = first_requests(ask, snapshot);
    snapshot_release(snapshot);
    import_resolver_free(resolver);
    if (!is_there) {
        say("%s has no kernel `%s`", ask->target.path, ask->target.kernel);
        return STATUS_TROUBLE;
    }
    static const char later[] =
        "Later requests add the answers, what the check says of them, and the text of another "
        "helper of this file that is refused.\n";
    // Examples are code of other places: who has agreed without them is asked again.
    const char *scope = ask->options->examples ? "examples" : NULL;
    bool completes = ask_wants(ask, phase_name(PHASE_COMPLETE));
    if (completes && *requests && !ask->asker.played && !ask_is_agreed(ask, requests, scope, later))
        return STATUS_TROUBLE;
    while (completes && ask_next(ask)) continue;
    bool improves = false;
    for (int i = PHASE_COMPLETE + 1; i < PHASE_COUNT; i++)
        improves |= ask_wants(ask, phase_name((PhaseId)i));
    if (improves && !ask->is_failed && ask->proved == ask->refused) ask_phases(ask);
    return finish(ask);
}

int command_ask(const Options *options) {
    Arena *arena = arena_new();
    Ask ask = {.arena = arena,
               .options = options,
               .target = target_of(arena, options->operands[0]),
               .out = buffer_new(arena)};
    Error error = ask_set_up(&ask);
    volatile int status = STATUS_TROUBLE;
    BugGuard guard;
    if (error) {
        say("%s", error);
    } else if (BUG_GUARD(&guard)) {
        status = ask_file(&ask);
        bug_guard_end(&guard);
    } else {
        say("%s: internal error: %s", ask.target.path, guard.message);
    }
    arena_free(arena);
    return status;
}
