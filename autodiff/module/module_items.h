// Inside autodiff/module/: the statements of a file at module level, and which of them an emitted module has.
#ifndef TAD_AUTODIFF_MODULE_MODULE_ITEMS_H
#define TAD_AUTODIFF_MODULE_MODULE_ITEMS_H

#include "autodiff/state/result.h"

/// A statement at module level.
typedef struct Item {
    SyntaxNode node;
    Range range;
    Map binds;     // names that it gives a value
    Map changes;   // names whose value it changes: `NAME[i] = x`, `NAME.append(x)`
    Map mentions;  // names that it reads, also in functions
    Map scripts;   // names that it gives a value where the file is run: of `is_main`
    bool is_included;
    bool is_future;
    bool is_main;          // `if __name__ == "__main__":`
    const char *left_out;  // why it is not written: it launches kernels without gradients; or NULL
    bool is_noted;
    bool is_own_gradient;  // an autograd.Function: nothing is missing where it is left out
    const FunctionDefinition *function;  // the top-level def it is, or NULL
    Str given;                           // the comment that gives its derivative; empty: none
} Item;

typedef LIST(Item) Items;

Items module_items(Arena *arena, const Module *module);
/// The same of one statement, wherever it stands; `function`: that it defines, or NULL.
Item item_of_statement(Arena *arena, const Module *module, SyntaxNode node,
                       const FunctionDefinition *function);
/// Whether an identifier stands for a thing: it is not the name of an attribute or of a keyword argument.
bool node_is_mention(SyntaxNode node);
/// The class of a top-level item, decorated or not; a null node for others.
SyntaxNode item_class(const Item *item);
bool item_is_import(const Item *item);
bool item_is_definition(const Item *item);
/// Includes what binds `name`, and what that mentions in turn.
void items_include_name(Items *items, Str name);
void items_include(Items *items, Item *item);
/// The item that binds the name first; NULL: there is none.
Item *items_binding(Items *items, Str name);
/// Includes the statements that change what is included: `CONFIGS.append(...)`, settings of modules.
void items_include_changes(Items *items);
/// A name that a function reads, and that has a value only where the file is run as a script. Empty: there is none.
Str items_script_name(Arena *arena, const Module *module, const Items *items, const Item *item);
/// Whether an included item binds the name.
bool items_bind(const Items *items, const char *name);

#endif
