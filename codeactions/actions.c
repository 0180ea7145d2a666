// The table at work: which rows fit a place, what they would edit, and whether that holds when analysed again.
#include "codeactions/codeactions.h"

#include <string.h>

#include "autodiff/emit/emitted.h"
#include "autodiff/kept.h"
#include "base/error.h"
#include "codeactions/fix.h"
#include "codeactions/generate_backward.h"

/// That OFFER_QUICK analyses again: some milliseconds.
enum { QUICK_OPS = 150 };

const ActionRow action_rows[ACTION_COUNT] = {
#define ACTION(id, name, kind, diagnostic, is_safe, title, apply)                                  \
    {name, kind, diagnostic, is_safe, title},
#include "codeactions/actions.def"
#undef ACTION
};

static ActionApply *const action_applies[ACTION_COUNT] = {
#define ACTION(id, name, kind, diagnostic, is_safe, title, apply) apply,
#include "codeactions/actions.def"
#undef ACTION
};

static bool row_fixes(const ActionRow *row, const Diagnostic *diagnostic) {
    return row->diagnostic && (strcmp(row->diagnostic, "*") == 0 ||
                               strcmp(row->diagnostic, diagnostic_rows[diagnostic->id].name) == 0);
}

static Fix fix_open(Arena *arena, const Snapshot *snapshot, const Diagnostic *diagnostic,
                    Range range, ActionEdit *edit) {
    return (Fix){
        .arena = arena,
        .snapshot = snapshot,
        .source = snapshot->source,
        .diagnostic = diagnostic,
        .range = range,
        .kernel = snapshot_kernel_at(snapshot, range.start),
        .edit = edit,
    };
}

/// Runs the row; a fault of ours in it is a refusal.
static void fix_run(Fix *fix, ActionId id) {
    BugGuard guard;
    if (BUG_GUARD(&guard)) {
        action_applies[id](fix);
        bug_guard_end(&guard);
        return;
    }
    fix_clear(fix);
    fix_refuse(fix, "tad-lsp failed on this action (%s)", guard.message);
}

static bool edit_is_empty(const ActionEdit *edit) {
    return edit->edits.count == 0 && edit->files.count == 0;
}

/// The edit that a row would make of a diagnostic. False where it makes none that holds.
static bool fix_offer(Fix *fix, ActionId id, Action *action) {
    fix_run(fix, id);
    if (edit_is_empty(fix->edit)) return false;
    // Of several edits another one may be chosen in the end.
    const char *title = fix->is_untried ? NULL : fix->title;
    *action = (Action){.id = id,
                       .title = title ? title : action_rows[id].title,
                       .diagnostic = fix->diagnostic,
                       .range = fix->range};
    return id == ACTION_IGNORE || fix_holds(fix);
}

static void offer_fixes(Arena *arena, const Snapshot *snapshot, const Diagnostic *diagnostic,
                        int *effort, Actions *actions) {
    bool has_preferred = false;
    for (int id = 0; id < ACTION_COUNT; id++) {
        const ActionRow *row = &action_rows[id];
        if (!row_fixes(row, diagnostic)) continue;
        ActionEdit edit = {0};
        Fix fix = fix_open(arena, snapshot, diagnostic, diagnostic->range, &edit);
        fix.effort = effort;
        Action action;
        if (!fix_offer(&fix, (ActionId)id, &action)) continue;
        action.is_preferred = !has_preferred && strcmp(row->diagnostic, "*") != 0;
        has_preferred |= action.is_preferred;
        LIST_PUSH(arena, &actions->list, action);
    }
}

static const char *refusal_found_out(Arena *arena, const Snapshot *snapshot, const Kernel *kernel) {
    BugGuard guard;
    if (BUG_GUARD(&guard)) {
        const Backward *backward = backward_kept(arena, snapshot, kernel, WRAPPER_AUTOGRAD, NULL);
        bug_guard_end(&guard);
        return backward->status == BACKWARD_DERIVED ? NULL : backward->reason;
    }
    return "tad-lsp failed to derive it";
}

/// The emitted backward of another kernel of the file; by the name that we give it.
static bool is_emitted(const Snapshot *snapshot, const Kernel *kernel) {
    return kernel_of_backward(snapshot, kernel) != NULL;
}

/// It has no such comment, and sizes to choose.
static bool comment_is_wanted(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                              Range range) {
    if (kernel->definition->comment.size) return false;
    ActionEdit edit = {0};
    Fix fix = fix_open(arena, snapshot, NULL, range, &edit);
    fix_run(&fix, ACTION_LAUNCH_COMMENT);
    return !edit_is_empty(&edit);
}

static void offer_kernel(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                         ActionRefusal *refusal, void *context, Actions *actions) {
    const char *disabled =
        refusal ? refusal(context, kernel) : refusal_found_out(arena, snapshot, kernel);
    Range range = snapshot_range(snapshot, kernel->definition->name_range);
    for (int id = 0; id < ACTION_COUNT; id++) {
        if (action_rows[id].diagnostic) continue;
        bool differentiates = id != ACTION_LAUNCH_COMMENT;
        if (!differentiates && !comment_is_wanted(arena, snapshot, kernel, range)) continue;
        const char *why = differentiates ? disabled : NULL;
        if (id == ACTION_BACKWARD_FILE && !why) why = file_refusal(snapshot->source);
        if (id == ACTION_BACKWARD_HERE && !why) why = below_refusal(kernel);
        LIST_PUSH(arena, &actions->list,
                  (Action){.id = (ActionId)id,
                           .title = action_rows[id].title,
                           .range = range,
                           .disabled = why});
    }
}

Actions actions_offer(Arena *arena, const Snapshot *snapshot, uint32_t start, uint32_t end,
                      OfferKind kind, ActionRefusal *refusal, void *context) {
    int effort = QUICK_OPS;
    Actions actions = {0};
    for (LIST_EACH(int, i, snapshot->diagnostics.list)) {
        const Diagnostic *diagnostic = &snapshot->diagnostics.list.items[i];
        Range range = diagnostic->range;
        if (range.source && range.start <= end && start <= range.end)
            offer_fixes(arena, snapshot, diagnostic, kind == OFFER_QUICK ? &effort : NULL,
                        &actions);
    }
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const Kernel *kernel = &snapshot->kernels.items[i];
        Range range = snapshot_range(snapshot, kernel->definition->range);
        bool touches = range.start <= end && start <= range.end;
        if (touches && kernel->function && kernel_is_forward(kernel) &&
            !is_emitted(snapshot, kernel))
            offer_kernel(arena, snapshot, kernel, refusal, context, &actions);
    }
    return actions;
}

static const Diagnostic *diagnostic_of(const Snapshot *snapshot, const ActionRow *row, Range range,
                                       const char *finding) {
    for (LIST_EACH(int, i, snapshot->diagnostics.list)) {
        const Diagnostic *diagnostic = &snapshot->diagnostics.list.items[i];
        bool is_it = !finding || strcmp(diagnostic_rows[diagnostic->id].name, finding) == 0;
        if (is_it && row_fixes(row, diagnostic) && diagnostic->range.start == range.start &&
            diagnostic->range.end == range.end)
            return diagnostic;
    }
    return NULL;
}

static ActionEdit edit_refused(const char *why) { return (ActionEdit){.refusal = why}; }

ActionEdit action_apply(Arena *arena, const Snapshot *snapshot, ActionId id, Range range) {
    const ActionChoices choices = {0};
    return action_apply_as(arena, snapshot, id, range, &choices);
}

ActionEdit action_apply_as(Arena *arena, const Snapshot *snapshot, ActionId id, Range range,
                           const ActionChoices *choices) {
    const ActionRow *row = &action_rows[id];
    const Diagnostic *diagnostic =
        row->diagnostic ? diagnostic_of(snapshot, row, range, choices->finding) : NULL;
    if (row->diagnostic && !diagnostic)
        return edit_refused("the text has changed: what this fixes is no longer here");
    ActionEdit edit = {.label = row->title};
    Fix fix = fix_open(arena, snapshot, diagnostic, range, &edit);
    fix.choices = *choices;
    fix_run(&fix, id);
    if (fix.title) edit.label = fix.title;
    if (edit.refusal) return edit_refused(edit.refusal);
    if (edit_is_empty(&edit)) return edit_refused("this does not apply here");
    // A silenced diagnostic is still found; new files do not change this one.
    bool is_checked = diagnostic && id != ACTION_IGNORE;
    if (is_checked && !fix_holds(&fix))
        return edit_refused("analysed again, the changed text is no better: nothing was changed");
    return edit;
}

ActionEdit action_apply_offered(Arena *arena, const Snapshot *snapshot, const Action *action) {
    const Diagnostic *fixed = action->diagnostic;
    const ActionChoices choices = {.finding = fixed ? diagnostic_rows[fixed->id].name : NULL};
    return action_apply_as(arena, snapshot, action->id, action->range, &choices);
}

static bool edits_touch(const ActionEdit *all, const ActionEdit *one) {
    for (LIST_EACH(int, i, all->edits))
        for (LIST_EACH(int, k, one->edits)) {
            Range a = all->edits.items[i].range, b = one->edits.items[k].range;
            if (a.start <= b.end && b.start <= a.end) return true;
        }
    return false;
}

ActionEdit actions_fix_all(Arena *arena, const Snapshot *snapshot, ActionWanted *wanted,
                           void *context) {
    ActionEdit all = {.label = "Apply all safe fixes"};
    for (LIST_EACH(int, i, snapshot->diagnostics.list)) {
        const Diagnostic *diagnostic = &snapshot->diagnostics.list.items[i];
        if (wanted && !wanted(context, diagnostic)) continue;
        for (int id = 0; id < ACTION_COUNT; id++) {
            if (!action_rows[id].is_safe || !row_fixes(&action_rows[id], diagnostic)) continue;
            const Action action = {
                .id = (ActionId)id, .diagnostic = diagnostic, .range = diagnostic->range};
            ActionEdit one = action_apply_offered(arena, snapshot, &action);
            if (edit_is_empty(&one) || edits_touch(&all, &one)) continue;
            Fix merged = fix_open(arena, snapshot, NULL, diagnostic->range, &all);
            for (LIST_EACH(int, k, one.edits))
                fix_replace(&merged, one.edits.items[k].range.start, one.edits.items[k].range.end,
                            "%s", one.edits.items[k].text);
            LIST_PUSH(arena, &all.made, (FixMade){diagnostic, one.label});
            break;
        }
    }
    return all;
}

Str edits_applied(Arena *arena, Str text, const ActionEdit *edit) {
    Buffer out = buffer_new(arena);
    uint32_t taken = 0;
    for (LIST_EACH(int, i, edit->edits)) {
        Range range = edit->edits.items[i].range;
        buffer_add(&out, text.data + taken, range.start - taken);
        buffer_puts(&out, edit->edits.items[i].text);
        taken = range.end;
    }
    buffer_add(&out, text.data + taken, text.size - taken);
    return (Str){buffer_text(&out), out.size};
}
