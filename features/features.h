// What an editor asks of a snapshot, and the plain answers. The front header of features/: no JSON, no I/O, no threads.
// Offsets and ranges are bytes of the snapshot's own text; ranges into imported files carry their own source.
// Every function is pure, takes any offset up to the text's size, never fails, and allocates its answer in `arena`.
#ifndef TAD_FEATURES_FEATURES_H
#define TAD_FEATURES_FEATURES_H

#include "analysis/cost/card.h"
#include "analysis/snapshot.h"

// ---- Reading -----------------------------------------------------------------------------------

/// Shape, type, address, programs, derivative rule and documentation of what is at `offset`, as Markdown.
typedef struct Hover {
    Range range;           // of what is described
    const char *markdown;  // NULL: nothing to say here
} Hover;
Hover hover_at(Arena *arena, const Snapshot *snapshot, uint32_t offset);
/// The same without what a server for Python says of functions: their signatures and documentation.
Hover hover_beside(Arena *arena, const Snapshot *snapshot, uint32_t offset);

/// `qk: f32[BLOCK_M, BLOCK_N]` beside the first assignment of a name, only where it says something new.
typedef struct InlayHint {
    uint32_t offset;      // it is shown before this byte
    const char *label;    // ": f32[BLOCK_M, BLOCK_N]"; "stride=" before an argument of a launch
    bool is_parameter;    // of a launch; else of a type
    bool is_cost;         // at the end of a line: what it moves or computes
    uint32_t kernel_end;  // with `offset`, enough for inlay_hint_tooltip
} InlayHint;
typedef struct InlayHints {
    LIST(InlayHint) list;
} InlayHints;
InlayHints inlay_hints(Arena *arena, const Snapshot *snapshot, uint32_t start, uint32_t end);
/// What loads, stores, atomics and matrix products move and compute, at the ends of their lines: an estimate.
InlayHints cost_hints(Arena *arena, const Snapshot *snapshot, uint32_t start, uint32_t end);
/// What such a hint counts and what it does not, as Markdown.
const char *cost_hint_tooltip(void);
/// What a program of the kernel moves and computes, and what bounds it, on the card of that name or (NULL) on any: one line;
/// NULL where that is not known.
const char *cost_summary(Arena *arena, const Kernel *kernel, const char *card);
/// All that is known of it, in words. Each text is NULL where it is not known; amounts are for each time, of loads with the lanes that
/// masks leave out.
typedef struct CostReportLine {
    int line;
    const char *kind;  // "reads", "writes", "updates" or "dot"
    const char *amount, *times, *lanes;
    bool is_masked;
    bool is_type_open;  // the caller decides the element type: 2 bytes are taken
} CostReportLine;
/// What a program takes of the card, as footprint_of estimates it.
typedef struct CostFootprint {
    const char *
        text;  // "about 48 KiB of shared memory and 128 registers a thread, ..."; NULL: not known, and nothing below means anything
    double shared;    // bytes
    int registers;    // of a thread
    bool is_spilled;  // it wants more of them than there are
    int warps, stages;
    int programs;        // that a multiprocessor runs at once
    double warps_share;  // of the warps that it has
    const char *limit;   // why there are no more: "shared memory"
} CostFootprint;
typedef struct CostReportTotals {
    const char *name;  // of a configuration or launch, NULL: of the kernel as it stands
    int line;
    const char *bound;  // "memory-bound", "compute-bound"; NULL: sizes and caches decide
    const char *read, *written, *updated, *operations;  // by one program
    double intensity;                                   // operations a byte; NaN: not known
    double memory_share,
        arithmetic_share;  // of the card's peaks, at most; NaN: not known, or no card is named
    double peak,
        reachable;  // TFLOP/s of the card for such arithmetic, and with these bytes; NaN as above
    bool is_upper, is_type_open;
    CostFootprint footprint;
} CostReportTotals;
typedef struct CostReport {
    const char *summary;
    LIST(CostReportLine) lines;
    LIST(CostReportTotals) totals;
} CostReport;
/// `tuned`: the kernel whose configurations this one is launched in, or NULL for its own. `card`: a name, or NULL.
CostReport cost_report(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                       const Kernel *tuned, const char *card);
/// A footprint in words, with what fits a multiprocessor of the card.
CostFootprint footprint_told(Arena *arena, Footprint footprint, FootprintOptions options,
                             const Card *card);
/// At the name of a kernel, or in one of its configurations: what a program takes of the card, as an estimate in Markdown. NULL elsewhere,
/// where it is not known, and where no card is named. `*range`: what it speaks of.
const char *footprint_at(Arena *arena, const Snapshot *snapshot, uint32_t offset, const char *card,
                         Range *range);
/// "reads 4 KiB, writes 2 KiB, computes 3 kFLOP, 0.5 FLOP a byte: memory-bound".
const char *cost_totals_text(Arena *arena, const CostReportTotals *totals);
/// Who writes one gradient in one kernel of a backward. What is NULL does not hold, or is not known.
typedef struct ScheduleGradient {
    const char *name, *of;  // `dx_ptr`, the gradient of `x_ptr`
    bool is_running;        // updated in place
    const char *owner;      // who has an element of it; else programs meet, or nothing is stored
    const char *why;        // the owner is another one than in the forward; programs meet
    const char *collisions;
    const char *same;     // it is another gradient
    const char *picked;   // what is added where it is stored
    const char *writers;  // "programs", "iterations": for the picture
} ScheduleGradient;
typedef struct ScheduleWork {
    const char *name;   // of the configuration or the launch; NULL: whatever is chosen
    const char *text;   // what a program moves and computes: cost_totals_text
    const char *share;  // of the card's peaks
} ScheduleWork;
typedef struct ScheduleKernel {
    const char *name;
    bool is_understood;  // else what is emitted could not be read again, and there is nothing more
    LIST(ScheduleWork) work;
    LIST(CostReportTotals) totals;  // that `work` tells in words
    LIST(const char *) blocks;  // of each block size: whether the kernel may have one of its own
    LIST(ScheduleGradient) gradients;
} ScheduleKernel;
/// The schedule of a backward.
typedef struct ScheduleReport {
    const char *kernel;
    int line;
    const char *reason;  // there is no backward
    int gradients, atomics;
    LIST(const SavedValue *) saved;  // by the forward, for it alone
    LIST(ScheduleKernel) kernels;
} ScheduleReport;
/// `card`: whose peaks count, or NULL.
ScheduleReport schedule_report(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                               const char *card);
/// A report in words and pictures of text.
const char *schedule_text(Arena *arena, const ScheduleReport *report);
/// By what the gradients are stored, in some lines of Markdown; "" where there is no backward.
const char *schedule_brief(Arena *arena, const ScheduleReport *report);
/// A number of elements or of bytes: in words, and as a number where the first configuration or launch of the file says it.
typedef struct AccessAmount {
    const char *text;  // NULL: not known
    bool is_known;
    int64_t number;
} AccessAmount;
typedef struct AccessAxis {
    AccessAmount extent, stride;
} AccessAxis;
typedef struct AccessStep {
    bool is_there;  // the address depends on this axis of the grid
    AccessAmount step;
} AccessStep;
enum { ACCESS_PROGRAM_AXES = 3 };
/// Which elements the lanes of one load, store or atomic touch.
typedef struct AccessReport {
    Range range;                // of the snapshot's text
    const char *kind;           // "load", "store" or "atomic"
    const char *pointer;        // the parameter; NULL: another pointer
    const char *lanes;          // "coalesced"; NULL: nothing to tell
    const char *configuration;  // that the numbers are of; NULL: there is none
    bool is_known;              // else where lanes are is said by numbers from memory
    bool is_masked, is_type_open;
    int element_bytes;
    AccessAmount bytes;  // each time
    int rank;
    AccessAxis axes[TYPE_MAX_RANK];
    AccessStep programs[ACCESS_PROGRAM_AXES];
} AccessReport;
/// The access at a place of the kernel, or else the first of its line; false where there is none.
bool access_report(Arena *arena, const Snapshot *snapshot, const Kernel *kernel, uint32_t offset,
                   AccessReport *report);
/// How the type of the hint at `offset` came about (Markdown); NULL where there is none. The lazy part of a hint.
const char *inlay_hint_tooltip(Arena *arena, const Snapshot *snapshot, uint32_t offset);

// TOKEN_TYPE(ID, "LSP name"): in the order of the legend.
#define TOKEN_TYPES(X)                                                                             \
    X(KERNEL, "function")                                                                          \
    X(OPERATION, "method")                                                                         \
    X(CONSTEXPR, "enumMember")                                                                     \
    X(POINTER, "parameter")                                                                        \
    X(TILE, "variable")                                                                            \
    X(SCALAR, "number")                                                                            \
    X(DTYPE, "type")                                                                               \
    X(NAMESPACE, "namespace")
#define TOKEN_MODIFIERS(X)                                                                         \
    X(DECLARATION, "declaration")                                                                  \
    X(READONLY, "readonly")                                                                        \
    X(MODIFICATION, "modification")                                                                \
    X(DEPRECATED, "deprecated")                                                                    \
    X(DEFAULT_LIBRARY, "defaultLibrary")                                                           \
    X(POINTER, "pointer")
typedef enum TokenType {
#define TOKEN(id, name) TOKEN_##id,
    TOKEN_TYPES(TOKEN)
#undef TOKEN
        TOKEN_TYPE_COUNT
} TokenType;
typedef enum TokenModifier {
#define MODIFIER(id, name) TOKEN_MODIFIER_##id,
    TOKEN_MODIFIERS(MODIFIER)
#undef MODIFIER
        TOKEN_MODIFIER_COUNT
} TokenModifier;
typedef struct Token {
    uint32_t start, end;  // one line
    TokenType type;
    unsigned modifiers;  // bit 1 << TokenModifier
} Token;
typedef struct Tokens {
    LIST(Token) list;  // by start, without overlaps
} Tokens;
/// Names inside kernels (and of kernels outside), by what they are. Only tokens that touch [start, end).
Tokens semantic_tokens(Arena *arena, const Snapshot *snapshot, uint32_t start, uint32_t end);

/// A place to show a lens over: each jit function that is launched. The server fills in what it says.
typedef struct Lens {
    const Kernel *kernel;
    Range range;  // of the name in the `def` line
    bool is_forward;
    bool is_backward;  // of a forward in this file, made by us
} Lens;
typedef struct Lenses {
    LIST(Lens) list;
} Lenses;
Lenses code_lenses(Arena *arena, const Snapshot *snapshot);

// ---- Writing -----------------------------------------------------------------------------------

typedef enum CompletionKind {
    COMPLETION_OPERATION,
    COMPLETION_METHOD,
    COMPLETION_DTYPE,
    COMPLETION_NAMESPACE,
    COMPLETION_KEYWORD_ARGUMENT,
    COMPLETION_VARIABLE,
    COMPLETION_CONSTEXPR,
    COMPLETION_FUNCTION,  // jit functions in scope
    COMPLETION_VALUE,     // what an argument may be: "ieee", ".ca"
    COMPLETION_DIRECTIVE  // inside `# tad:` comments
} CompletionKind;
typedef struct CompletionItem {
    const char *label;
    CompletionKind kind;
    const char *detail;  // signature or type, one line
    const char *insert;  // text or, where is_snippet, an LSP snippet
    bool is_snippet;
    bool is_deprecated;
    const char *sort;  // order key
    const char *key;   // for completion_documentation
} CompletionItem;
typedef struct Completions {
    Range replace;  // what the items replace
    LIST(CompletionItem) list;
} Completions;
Completions completions_at(Arena *arena, const Snapshot *snapshot, uint32_t offset);
/// The detail of an item with that key, NULL where the key does not tell it.
const char *completion_detail(Arena *arena, const char *key);
/// Markdown for an item's key, NULL where there is none. The lazy part of an item.
const char *completion_documentation(Arena *arena, const char *key);

typedef struct SignatureParameter {
    uint32_t start, end;  // bytes of the label
    const char *documentation;
} SignatureParameter;
typedef struct Signature {
    const char *label;  // "dot(input, other, acc=None, ...)"; NULL: not in a call that is known
    const char *documentation;
    LIST(SignatureParameter) parameters;
    int active;  // index of the parameter at the cursor, -1 for none
} Signature;
Signature signature_at(Arena *arena, const Snapshot *snapshot, uint32_t offset);

// ---- Finding -----------------------------------------------------------------------------------

typedef struct Ranges {
    LIST(Range) list;
} Ranges;
typedef struct Link {
    Range origin;  // the name under the cursor
    Range target;  // the whole definition
    Range selection;
} Link;
typedef struct Links {
    LIST(Link) list;
    bool
        is_ours_alone;  // to a forward or a backward, or from a name in a text: no server for Python leads there
} Links;
/// Names to where they are defined (also in imported files); in a generated backward, a line to its forward line.
Links definition_at(Arena *arena, const Snapshot *snapshot, uint32_t offset);
/// From a forward line to the lines of the generated backward that come from it; else as definition_at.
Links declaration_at(Arena *arena, const Snapshot *snapshot, uint32_t offset);
/// Where the type of the value was decided: its load, its cast, its dot.
Links type_definition_at(Arena *arena, const Snapshot *snapshot, uint32_t offset);
/// A name that other files can mean: a jit function, a global, or a parameter of a jit function.
typedef struct SharedName {
    const char
        *path;  // of the file that defines it; NULL: only the file that was asked knows the name
    Str name;   // of the function or global
    Str parameter;  // empty: the function or global itself
    bool is_alias;  // it is called something else where it was asked for
    bool (*same_file)(const char *a, const char *b);  // whether two paths are one file
} SharedName;
SharedName shared_name_at(Arena *arena, const Snapshot *snapshot, uint32_t offset);
/// The places of this file, any that can see the name, that mean it; and those to change when it becomes `text`: also
/// strings in `__all__`. `*refusal`: a sentence where it cannot.
Ranges shared_references(Arena *arena, const Snapshot *snapshot, const SharedName *shared,
                         bool include_declaration);
Ranges shared_rename(Arena *arena, const Snapshot *snapshot, const SharedName *shared, Str text,
                     const char **refusal);

/// Every use of the name at `offset` in its scope: local names in their function, jit functions and globals in the file.
Ranges references_at(Arena *arena, const Snapshot *snapshot, uint32_t offset,
                     bool include_declaration);
typedef struct Highlight {
    Range range;
    bool is_write;
} Highlight;
typedef struct Highlights {
    LIST(Highlight) list;
} Highlights;
Highlights highlights_at(Arena *arena, const Snapshot *snapshot, uint32_t offset);
/// The name that a rename at `offset` would change. `range.source` NULL and `*refusal` a sentence where it cannot.
Range rename_prepare(Arena *arena, const Snapshot *snapshot, uint32_t offset, const char **refusal);
/// Every place to change; keyword arguments of launches included. Empty and `*refusal` where `name` is no fit name or would capture another.
Ranges rename_at(Arena *arena, const Snapshot *snapshot, uint32_t offset, Str name,
                 const char **refusal);

typedef enum SymbolKind {
    SYMBOL_KERNEL,
    SYMBOL_HELPER,
    SYMBOL_LAUNCHER,
    SYMBOL_CONSTANT,
    SYMBOL_PARAMETER,
    SYMBOL_TILE
} SymbolKind;
typedef struct Symbol Symbol;
struct Symbol {
    const char *name, *detail;
    SymbolKind kind;
    Range range, selection;
    LIST(Symbol *) children;
};
typedef struct Symbols {
    LIST(Symbol *) list;
} Symbols;
Symbols document_symbols(Arena *arena, const Snapshot *snapshot);

typedef struct Fold {
    uint32_t start, end;
    bool is_comment, is_imports;
} Fold;
typedef struct Folds {
    LIST(Fold) list;
} Folds;
Folds folding_ranges(Arena *arena, const Snapshot *snapshot);
/// The syntax around `offset`, innermost first.
Ranges selection_ranges(Arena *arena, const Snapshot *snapshot, uint32_t offset);

/// A kernel, helper or launcher in the call hierarchy.
typedef struct CallItem {
    const char *name, *detail;
    SymbolKind kind;
    Range range, selection;
} CallItem;
typedef struct Call {
    CallItem item;
    Ranges places;  // of the calls; in the caller
} Call;
typedef struct Calls {
    LIST(Call) list;
} Calls;
/// The function at `offset` (a name of it or its body). `selection.source` NULL: none.
CallItem call_item_at(Arena *arena, const Snapshot *snapshot, uint32_t offset);
Calls calls_into(Arena *arena, const Snapshot *snapshot, uint32_t offset);
/// The calls of a function in this file, any that can see it.
Calls shared_calls_into(Arena *arena, const Snapshot *snapshot, const SharedName *shared);
Calls calls_from(Arena *arena, const Snapshot *snapshot, uint32_t offset);

#endif
