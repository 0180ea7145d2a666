// What the code actions share: one action at work on one place. Private to codeactions/.
#ifndef TAD_CODEACTIONS_FIX_H
#define TAD_CODEACTIONS_FIX_H

#include "codeactions/codeactions.h"

typedef struct Fix {
    Arena *arena;
    const Snapshot *snapshot;
    const Source *source;          // the snapshot's
    const Diagnostic *diagnostic;  // NULL for actions of a place
    Range range;
    const Kernel *kernel;  // around the range, or NULL
    ActionChoices choices;
    ActionEdit *edit;   // to be filled; left empty where the action does not apply
    const char *title;  // more exact than the row's; NULL: the row's
    int *effort;        // ops that may be analysed again for all offers together; NULL: any number
    bool (*holds)(const struct Fix *fix, const Snapshot *after);  // what else has to be; or NULL
    int kept_parts;  // of a mask, which `holds` looks at
    bool
        tries_launches;  // the finding is of a launch that was tried: so is the text with the edits
    bool is_untried;     // there were more: the first of several edits was taken
} Fix;

typedef void ActionApply(Fix *fix);
#define ACTION(id, name, kind, diagnostic, is_safe, title, apply) ActionApply apply;
#include "codeactions/actions.def"
#undef ACTION

void fix_replace(Fix *fix, uint32_t start, uint32_t end, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void fix_replace_node(Fix *fix, SyntaxNode node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/// One line that says why nothing was edited after all.
void fix_refuse(Fix *fix, const char *format, ...) __attribute__((format(printf, 2, 3)));
/// A title for the editor's menu.
void fix_title(Fix *fix, const char *format, ...) __attribute__((format(printf, 2, 3)));

SyntaxNode fix_root(const Fix *fix);
/// The outermost node that is exactly as long as the range. Null where there is none.
SyntaxNode fix_node(const Fix *fix, Range range);
/// The call that is the range, or that the range is the function or an argument of. Null where there is none.
SyntaxNode fix_call(const Fix *fix, Range range);
const char *fix_text(const Fix *fix, SyntaxNode node);
/// The text, in parentheses where an operator or a method after it would bind otherwise.
const char *fix_operand(const Fix *fix, SyntaxNode node);
/// The nearest node above (or `node` itself) of that kind. Null where there is none.
SyntaxNode node_above(SyntaxNode node, SyntaxKind kind);
bool node_is(SyntaxNode node, SyntaxKind kind);

/// An argument of a call: by keyword, or by its position where that is not negative. The keyword's value. Null where it is not given.
SyntaxNode call_argument(const Fix *fix, SyntaxNode call, const char *keyword, int position);
/// Adds `, keyword=value` behind the last argument.
void call_add_keyword(Fix *fix, SyntaxNode call, const char *keyword, const char *value);
/// Removes one argument (its value node) with its keyword and its comma.
void call_remove_argument(Fix *fix, SyntaxNode value);

/// The op of the kernel whose source is exactly `range` (of the snapshot's text), or NULL. `code` OP_COUNT: any.
Op *fix_op(const Fix *fix, Range range, OpCode code);
/// Where the op stands in the snapshot's text; `source` NULL where it stands in another file.
Range fix_range_of(const Fix *fix, const Op *op);

/// How the file spells triton.language ("tl") and triton ("triton"); NULL where it does not import it.
const char *fix_language(const Fix *fix);
const char *fix_triton(const Fix *fix);

/// Analyses the text with the edits again: the diagnostic is gone there, and no error or warning is new. True where that is not tried.
bool fix_holds(Fix *fix);
/// How much is wrong with the text with the edits: errors, then warnings. For comparing. 0 where that is not tried.
int fix_trouble(Fix *fix);
/// Drops the edits made so far.
void fix_clear(Fix *fix);

/// The name among those seen that is nearest to `name`, near enough for a spelling mistake; NULL: none.
typedef struct Nearest {
    Str name;
    const char *best;
    int distance;
} Nearest;
Nearest nearest_to(Str name);
void nearest_consider(Arena *arena, Nearest *nearest, Str candidate);

#endif
