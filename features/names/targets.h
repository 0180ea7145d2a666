// The places of a function that bind variables. Private to features/.
#ifndef TAD_FEATURES_NAMES_TARGETS_H
#define TAD_FEATURES_NAMES_TARGETS_H

#include "features/names/locate.h"

typedef enum TargetKind {
    TARGET_ASSIGNMENT,
    TARGET_AUGMENTED,
    TARGET_LOOP,    // of a `for`
    TARGET_INSIDE,  // `:=`, `as`
} TargetKind;

typedef struct Target {
    SyntaxNode node;   // the identifier
    SyntaxNode right;  // what is assigned, as a whole; of a `for` what it runs over
    TargetKind kind;
    bool is_item;  // one of several names that are unpacked into
    bool is_annotated;
} Target;

typedef struct Targets {
    LIST(Target) list;  // in the order of the text
} Targets;

/// Of the function's own body; nested functions left out.
Targets targets_of(FileNames *names, SyntaxNode function);

/// Whether the identifier has its value at `offset`: the statement that gives it stands before, and is not being written there.
bool target_is_before(const FileNames *names, const Target *target, uint32_t offset);

#endif
