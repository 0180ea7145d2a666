// Code actions: a cheap offer for a place, then the exact edit. The front header of codeactions/: no JSON, no I/O, no threads.
// Rows: actions.def. A quick fix never breaks code: its result, analysed again, has the diagnostic no more and no new error.
#ifndef TAD_CODEACTIONS_CODEACTIONS_H
#define TAD_CODEACTIONS_CODEACTIONS_H

#include "autodiff/backward.h"

typedef enum ActionId {
#define ACTION(id, ...) ACTION_##id,
#include "codeactions/actions.def"
#undef ACTION
    ACTION_COUNT
} ActionId;

typedef struct ActionRow {
    const char *name;        // "add-mask"
    const char *kind;        // LSP: "quickfix", "refactor.rewrite"
    const char *diagnostic;  // name of what it fixes; NULL: offered at places
    bool is_safe;            // keeps the meaning of correct code; applied by source.fixAll
    const char *title;
} ActionRow;
extern const ActionRow action_rows[ACTION_COUNT];

/// What may be done at a place. Cheap: no backward is derived yet.
typedef struct Action {
    ActionId id;
    const char *title;
    const Diagnostic *diagnostic;  // fixed by it, or NULL
    Range range;                   // with `id`, enough to apply it later
    const char *disabled;          // why it is shown but cannot be applied; NULL: it can
    bool is_preferred;
} Action;
typedef struct Actions {
    LIST(Action) list;
} Actions;

/// What a caller knows already of a kernel's backward: NULL when nothing or when it was derived, else why the rules refuse.
typedef const char *ActionRefusal(void *context, const Kernel *kernel);

/// OFFER_EXACT: what does not hold when analysed again is left out. OFFER_QUICK takes a few milliseconds, for the light bulb: in large
/// kernels fixes are offered untried, and action_apply refuses those that do not hold.
typedef enum OfferKind { OFFER_EXACT, OFFER_QUICK } OfferKind;

/// Actions for [start, end) of the snapshot's own text, best first. `refusal` may be NULL: then it is found out here.
Actions actions_offer(Arena *arena, const Snapshot *snapshot, uint32_t start, uint32_t end,
                      OfferKind kind, ActionRefusal *refusal, void *context);

typedef struct TextEdit {
    Range range;  // of the snapshot's own text
    const char *text;
} TextEdit;
typedef struct NewFile {
    const char *path;
    const char *text;
} NewFile;
/// One fix among several.
typedef struct FixMade {
    const Diagnostic *diagnostic;
    const char *label;
} FixMade;
/// An exact edit. Edits are sorted and do not overlap.
typedef struct ActionEdit {
    LIST(TextEdit) edits;
    LIST(NewFile) files;
    LIST(FixMade) made;               // of actions_fix_all
    const char *label, *description;  // change annotation
    bool needs_confirmation;
    const char *
        refusal;  // one sentence where nothing can be done after all; edits and files are empty then
} ActionEdit;
/// What the user chose for all actions.
typedef struct ActionChoices {
    bool is_untuned;     // a backward of a tuned kernel has no list of its own
    bool saves_nothing;  // forwards store nothing for their backwards alone
    const char *
        finding;  // the name of the one that is meant, where several are at one place; NULL: the first
} ActionChoices;
ActionEdit action_apply(Arena *arena, const Snapshot *snapshot, ActionId id, Range range);
/// The same, with choices of the user's.
ActionEdit action_apply_as(Arena *arena, const Snapshot *snapshot, ActionId id, Range range,
                           const ActionChoices *choices);
/// The same of an action that was offered, of this snapshot: for the finding that it fixes, where several are at one place.
ActionEdit action_apply_offered(Arena *arena, const Snapshot *snapshot, const Action *action);
/// Whether a finding is one to be fixed.
typedef bool ActionWanted(void *context, const Diagnostic *diagnostic);
/// All safe fixes of the file together (source.fixAll), of those findings that `wanted` wants (NULL: all); of two that touch each other,
/// the first.
ActionEdit actions_fix_all(Arena *arena, const Snapshot *snapshot, ActionWanted *wanted,
                           void *context);
/// The text with the edits made.
Str edits_applied(Arena *arena, Str text, const ActionEdit *edit);

/// Whether some launcher launches both: then both have to be differentiable in a module.
bool kernels_share_launcher(const Snapshot *snapshot, const Kernel *a, const Kernel *b);
/// Where the backward of the file at `path` is written: beside it, "dir/softmax_backward.py"; that of one kernel of several under its name.
const char *backward_path(Arena *arena, const char *path, const char *kernel);

#endif
