// The arguments of a launch as they are written, with those that are spread from what the launcher shows. Private to
// analysis/checks/.
#ifndef TAD_ANALYSIS_CHECKS_CHECK_ARGUMENTS_H
#define TAD_ANALYSIS_CHECKS_CHECK_ARGUMENTS_H

#include "analysis/checks/check.h"

typedef struct CheckedArgument {
    Str keyword;       // empty: positional
    SyntaxNode value;  // null: one of several that a `*x.stride()` gives
    SyntaxNode node;   // where it is written
} CheckedArgument;

typedef struct CheckedArguments {
    LIST(CheckedArgument) list;
    bool has_splat;  // something is spread that is not known
} CheckedArguments;

/// The arguments of a call in `launcher` (NULL: at module level, where nothing is known of what is spread).
CheckedArguments arguments_read(Check *check, const Source *source,
                                const FunctionDefinition *launcher, SyntaxNode call);
/// The argument that a parameter gets, or NULL.
const CheckedArgument *arguments_find(const FunctionDefinition *definition,
                                      const CheckedArguments *arguments, int parameter);
/// The position of a parameter by its name, or -1.
int definition_parameter(const FunctionDefinition *definition, Str name);
/// How many axes a tensor has that the launcher is given, by `rows, columns = x.shape` before `place`, or a new one that is
/// like it; 0: not known.
int launcher_rank_of(const FunctionDefinition *launcher, Str name, uint32_t place);
/// What a launcher binds to a name that it binds once; a null node where it does so never, often, or in another way.
SyntaxNode launcher_binding(const FunctionDefinition *launcher, Str name);
/// Whether a launcher binds the name once, by `rows, columns = x.shape`, to one of the numbers.
bool launcher_binds_size(const FunctionDefinition *launcher, Str name);
/// Whether a launcher, or a function in it, binds the name, other than by a `def`.
bool launcher_binds(const FunctionDefinition *launcher, Str name);
/// What a launcher says of a grid: the expression in brackets, or what is bound to its name, or what a function gives.
typedef struct LaunchGrid {
    SyntaxNode value;
    Str meta;  // the parameter of a function; empty where it is none
} LaunchGrid;
LaunchGrid launch_grid(const LaunchSite *site);

#endif
