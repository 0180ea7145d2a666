// What calls and launches pass for a parameter, and what autotuning tries. Private to features/.
#ifndef TAD_FEATURES_NAMES_ARGUMENTS_H
#define TAD_FEATURES_NAMES_ARGUMENTS_H

#include "features/names/locate.h"

/// The expression that an argument list passes for parameter `index` called `name`; a null node where it passes none.
SyntaxNode argument_of(FileNames *names, SyntaxNode list, int index, Str name);
/// Whether the list has `**something`, which may pass anything by name.
bool arguments_are_open(SyntaxNode list);

/// Pieces of the file, in order.
typedef struct Views {
    LIST(Str) list;
} Views;
/// The values that autotune configurations and heuristics give a parameter, as written, each once.
Views tuned_values(FileNames *names, const FunctionDefinition *function, Str parameter);

typedef struct TextMention {
    SyntaxNode node;  // an identifier (keyword), or a string
    Range range;      // of the name itself
    bool is_shared;   // configurations that other kernels use, too
} TextMention;
typedef struct TextMentions {
    LIST(TextMention) list;
} TextMentions;
/// Where decorators and the configurations they refer to (in this file) spell the parameter's name as text:
/// {"BLOCK": 64}, key=["N"], lambda args: args["N"].
TextMentions tuned_mentions(FileNames *names, const FunctionDefinition *function, Str parameter);
/// `meta["BLOCK"]` in the grids of the function's launches in this file.
TextMentions grid_mentions(FileNames *names, const FunctionDefinition *function, Str parameter);

#endif
