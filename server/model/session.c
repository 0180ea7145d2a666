// What a model is told is the helper's text, why it is refused, and what became of its answer: no other code of the user's, but for kernels
// of his index where he wants them as examples.
#include "server/model/session.h"

#include "analysis/module/module_scope.h"
#include "analysis/ops/op.h"
#include "analysis/syntax/syntax_nodes.h"
#include "autodiff/backward.h"
#include "server/model/examples.h"
#include "server/system/private.h"

#define SYSTEM                                                                                     \
    "You give derivatives of helpers of Triton kernels, for reverse-mode differentiation.\n"       \
    "Answer with one comment for each helper that you are asked about, on one line:\n\n"           \
    "# tad: backward of NAME(PARAMETERS): EXPRESSION, EXPRESSION\n\n"                              \
    "Of `def square(x): return x * x` that is:\n\n"                                               \
    "# tad: backward of square(x): grad * 2 * x\n\n"                                              \
    "There is one expression for each parameter in the parentheses, in their order: the gradient " \
    "of the loss with respect to it. Each is Triton, element by element: the parameters, "         \
    "`grad` (the gradient with respect to the helper's result), `result` (its result), "           \
    "functions of `tl`, and functions that the file defines. Use tl.where instead of `if`. "       \
    "`None` stands for no gradient. The expressions are read, not run, and compared with "         \
    "differences of the helper in double precision, to 1e-6: an approximation has to be that "     \
    "good."

static int find_helper(const ModelSession *session, Str name) {
    for (LIST_EACH(int, i, session->helpers))
        if (str_is(name, session->helpers.items[i].name)) return i;
    return -1;
}

typedef struct RefusedOp {
    Range place;
    bool has_effects;
} RefusedOp;

static bool see_refused(void *context, Op *op) {
    RefusedOp *search = context;
    bool is_it = op->range.source == search->place.source &&
                 op->range.start == search->place.start && op->range.end == search->place.end;
    search->has_effects |= is_it && (op_rows[op->code].effects || op->region_count);
    return !search->has_effects;
}

/// Whether what is refused reads or writes memory, or is a loop: no rule for a value can say that.
static bool is_no_value(const Snapshot *snapshot, const char *kernel_name, Range refused) {
    const Kernel *kernel = snapshot_find_kernel(snapshot, str_from(kernel_name));
    RefusedOp search = {refused, false};
    if (kernel) region_walk(kernel->function->body, see_refused, &search);
    return search.has_effects;
}

/// A function that the file calls, with its name there.
typedef struct CalledFunction {
    Arena *arena;
    const Module *module;
    Range place;  // that is looked for
    const FunctionDefinition *definition;
    Str name;
} CalledFunction;

static bool see_call(void *context, SyntaxNode node) {
    CalledFunction *search = context;
    if (search->definition || node_kind(node) != SYNTAX_CALL) return !search->definition;
    SyntaxNode callee = node_field(node, "function");
    if (node_kind(callee) != SYNTAX_IDENTIFIER) return true;
    Str name = node_text(search->module->source, callee);
    ScopeEntry entry = module_resolve(search->arena, search->module, name);
    const FunctionDefinition *function = entry.kind == SCOPE_FUNCTION ? entry.function : NULL;
    if (!function || !function->is_jit || function->range.source != search->place.source ||
        function->range.start > search->place.start || function->range.end < search->place.end)
        return true;
    search->definition = function;
    search->name = name;
    return false;
}

/// Where a helper of another file stands, and what a user can do about it.
static Error in_another_file(Arena *arena, Range refused, const char *refusal) {
    if (!refused.source) return arena_printf(arena, "%s; it stands in no helper", refusal);
    return arena_printf(arena,
                        "%s; it stands in line %d of %s: only what stands in this file is open, "
                        "and values of helpers that it calls: copy that helper here first",
                        refusal, range_line(refused), refused.source->path);
}

/// Adds the helper of another file that the place is in, where this one calls it: a rule for it may stand here.
static Error open_foreign(ModelSession *session, const Kernel *kernel, Range refused,
                          const char *refusal) {
    Arena *arena = session->arena;
    CalledFunction search = {.arena = arena, .module = session->snapshot->module, .place = refused};
    if (refused.source) syntax_walk(syntax_root(search.module->tree), see_call, &search);
    const FunctionDefinition *found = search.definition;
    if (!found || !found->returns_value || is_no_value(session->snapshot, session->kernel, refused))
        return in_another_file(arena, refused, refusal);
    OpenHelper helper = {.definition = found,
                         .above = kernel->definition,
                         .name = str_dup(arena, search.name),
                         .refusal = refusal,
                         .refused = refused};
    LIST_PUSH(arena, &session->helpers, helper);
    session->is_foreign = true;
    return NULL;
}

/// Adds the helper of `snapshot` that the place is in; an error where none of the session's file is.
static Error open_helper(ModelSession *session, const Snapshot *snapshot, Range refused,
                         const char *refusal) {
    Arena *arena = session->arena;
    const FunctionDefinition *around = snapshot_function_around(snapshot, refused);
    if (!around) return in_another_file(arena, refused, refusal);
    if (str_is(around->name, session->kernel))
        return arena_printf(
            arena, "%s; it stands in the kernel itself: a model is asked about helpers", refusal);
    const FunctionDefinition *own = module_find_function(session->snapshot->module, around->name);
    if (!own) return refusal;
    if (!own->returns_value || is_no_value(snapshot, session->kernel, refused))
        return arena_printf(arena, "%s; no rule for the values of `%.*s` can stand for it", refusal,
                            STR_ARGS(around->name));
    OpenHelper helper = {.definition = own,
                         .name = str_dup(arena, own->name),
                         .refusal = refusal,
                         .refused = refused};
    LIST_PUSH(arena, &session->helpers, helper);
    return NULL;
}

static const char *question(const ModelSession *session, const OpenHelper *helper) {
    Arena *arena = session->arena;
    Str refused = source_slice(helper->refused);
    size_t size = strcspn(str_dup(arena, refused), "\r\n");
    Str text = source_slice(helper->definition->range);
    const char *signature = helper_signature(arena, helper->name, helper->definition);
    return arena_printf(
        arena,
        "In the helper `%s` a gradient stops at `%.*s`: %s.\n\n```python\n%.*s\n```\n\n"
        "Give the derivative of the helper: # tad: backward of %s: ...",
        helper->name, (int)size, refused.data, helper->refusal, STR_ARGS(text), signature);
}

/// What is asked first, with examples where the user wants some.
static Error first_question(ModelSession *session, const Kernel *kernel, const char **text) {
    Arena *arena = session->arena;
    Error error = NULL;
    *text = question(session, &session->helpers.items[0]);
    if (!session->options->examples) return NULL;
    const char *examples = examples_text(arena, session->path, kernel, session->options->examples,
                                         workspace_of(arena, session->path), &error);
    if (!error && *examples)
        *text = arena_printf(arena, "%s\n\nKernels that are built like `%s`, as examples:\n%s",
                             *text, session->kernel, examples);
    return error;
}

static void say_turn(ModelSession *session, bool is_answer, const char *text) {
    LIST_PUSH(session->arena, &session->chat.turns, (ChatTurn){is_answer, text});
}

Error session_begin(Arena *arena, const Options *options, const Snapshot *snapshot,
                    const char *path, const Kernel *kernel, ModelSession *session) {
    *session = (ModelSession){.arena = arena,
                              .options = options,
                              .path = path,
                              .snapshot = snapshot,
                              .kernel = kernel->function->name,
                              .chat.system = SYSTEM,
                              .best_trial.outcome = TRIAL_UNUSABLE};
    Diagnostics ignored = {.arena = arena};
    const BackwardOptions backward_options = {.wrapper = WRAPPER_AUTOGRAD};
    const Backward *backward =
        backward_derive(arena, snapshot, kernel, &backward_options, &ignored);
    if (backward->status != BACKWARD_REFUSED) return "nothing of it is refused";
    Range refused = backward->reason_range;
    Error error = snapshot_function_around(snapshot, refused)
                      ? open_helper(session, snapshot, refused, backward->reason)
                      : open_foreign(session, kernel, refused, backward->reason);
    const char *asked = NULL;
    if (!error) error = first_question(session, kernel, &asked);
    if (!error) say_turn(session, false, asked);
    return error;
}

// --- answers

/// The rules in the answer, taken over; false where there is none for any helper. `*rules`: them all, a line each.
static bool take_rules(ModelSession *session, Str answer, const char **rules, const char **why) {
    Buffer all = buffer_new(session->arena);
    bool any = false;
    for (LIST_EACH(int, i, session->helpers)) {
        OpenHelper *helper = &session->helpers.items[i];
        const char *rule = candidate_find(session->arena, answer, helper->name, why);
        if (rule) helper->rule = rule;
        any |= rule != NULL;
        if (helper->rule) buffer_printf(&all, "%s%s", all.size ? "\n" : "", helper->rule);
    }
    *rules = buffer_text(&all);
    return any;
}

static void keep_try(ModelSession *session, const char *rules, Trial trial) {
    Arena *arena = session->arena;
    LIST_PUSH(arena, &session->tries, (SessionTry){rules, trial});
    session->stalls++;
    if (!*rules || (session->best.count && !trial_is_better(&trial, &session->best_trial))) return;
    session->stalls = 0;
    session->best_trial = trial;
    session->best = (OpenHelpers){0};
    for (LIST_EACH(int, i, session->helpers))
        LIST_PUSH(arena, &session->best, session->helpers.items[i]);
}

/// What is said back; NULL where nothing is left to ask.
static const char *next_turn(ModelSession *session, const Trial *trial, const Snapshot *snapshot) {
    Arena *arena = session->arena;
    if (trial->outcome == TRIAL_PROVED) return NULL;
    if (trial->outcome == TRIAL_UNCHECKED || trial->outcome == TRIAL_OPEN) {
        session->stopped = trial->words;
        return NULL;
    }
    if (trial->outcome == TRIAL_REFUSED && snapshot) {
        const FunctionDefinition *around = snapshot_function_around(snapshot, trial->refused);
        bool is_new = around && find_helper(session, around->name) < 0;
        if (is_new || !around) {
            session->moves_on =
                open_helper(session, snapshot, trial->refused, trial->words) != NULL;
            if (session->moves_on)
                session->stopped = arena_printf(
                    arena, "with it something else of the kernel is refused: %s", trial->words);
            return session->moves_on
                       ? NULL
                       : question(session, &session->helpers.items[session->helpers.count - 1]);
        }
    }
    return arena_printf(
        arena, "That is not right. %s%s\n\nGive the comment again, corrected.",
        trial->outcome == TRIAL_REFUTED ? "Compared with differences of the helper: " : "",
        trial->words);
}

static void take_reply(ModelSession *session, const ChatReply *reply) {
    Arena *arena = session->arena;
    const char *rules, *why = "", *before = "";
    if (session->tries.count) before = session->tries.items[session->tries.count - 1].rules;
    Trial trial = {.outcome = TRIAL_UNUSABLE};
    const Snapshot *snapshot = NULL;
    if (!take_rules(session, str_from(reply->text), &rules, &why)) {
        rules = "";
        const OpenHelper *helper = &session->helpers.items[session->helpers.count - 1];
        trial.words = arena_printf(
            arena,
            "The answer has no rule that can be read: %s. It begins with `# tad: backward of %s: `.",
            reply->is_cut ? "it was cut off" : why,
            helper_signature(arena, helper->name, helper->definition));
    } else if (strcmp(rules, before) == 0) {
        session->stopped = "the model gives the same answer again";
        return;
    } else {
        const char *text =
            candidate_insert(arena, session->snapshot->source->text, &session->helpers, NULL);
        trial = trial_run(arena, session->options, session->path, text, session->kernel, NULL,
                          &snapshot);
        if (reply->is_cut && trial.outcome == TRIAL_UNUSABLE)
            trial.words = arena_printf(arena, "The answer was cut off: %s", trial.words);
    }
    keep_try(session, rules, trial);
    const char *turn = next_turn(session, &trial, snapshot);
    if (turn) {
        say_turn(session, true, reply->text);
        say_turn(session, false, arena_strdup(arena, turn));
    }
    // What it was refused for is read no more: its words are in the turn.
    snapshot_release(snapshot);
}

void session_run(ModelSession *session, Asker *asker) {
    int most = (int)asker->settings->max_iters, patience = (int)asker->settings->max_stalls;
    for (int i = 0; i < most && !session->stopped; i++) {
        ChatReply reply;
        Error error = asker_ask(asker, &session->chat, &reply);
        if (error) {
            session->stopped = error;
            session->is_failed = true;
            return;
        }
        take_reply(session, &reply);
        if (session->best_trial.outcome == TRIAL_PROVED) return;
        if (!session->stopped && session->stalls >= patience && i + 1 < most)
            session->stopped = asker_stalled(asker, session->stalls);
    }
    if (!session->stopped)
        session->stopped = arena_printf(session->arena, "%d answer%s, none of them right", most,
                                        most == 1 ? "" : "s");
}

/// What a mark begins with.
static const char *mark_of(const ModelSession *session, const ModelSettings *settings) {
    enum { MOST_SHOWN = 60 };
    Arena *arena = session->arena;
    char *name = arena_printf(arena, "%.*s", MOST_SHOWN, settings->model);
    for (char *at = name; *at; at++)
        if (*at < ' ' || *at > '~') *at = '?';
    return arena_printf(arena, "# Proposed by a model (%s), proved with `%s`", name,
                        session->kernel);
}

const char *session_text_so_far(const ModelSession *session, const ModelSettings *settings) {
    const char *mark = arena_printf(session->arena, "%s.", mark_of(session, settings));
    return candidate_insert(session->arena, session->snapshot->source->text, &session->helpers,
                            mark);
}

const char *session_text(const ModelSession *session, const ModelSettings *settings) {
    Arena *arena = session->arena;
    const char *mark = arena_printf(arena, "%s: worst error %.1e.", mark_of(session, settings),
                                    session->best_trial.worst_error);
    return candidate_insert(arena, session->snapshot->source->text, &session->best, mark);
}
