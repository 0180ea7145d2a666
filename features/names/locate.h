// What the name under the cursor is: resolution of names for all features. Private to features/.
#ifndef TAD_FEATURES_NAMES_LOCATE_H
#define TAD_FEATURES_NAMES_LOCATE_H

#include "analysis/module/module_scope.h"
#include "analysis/snapshot.h"

typedef enum NameKind {
    NAME_NOTHING,           // Python that is not ours: host variables, attributes of host objects
    NAME_LOCAL,             // a variable of a jit function
    NAME_PARAMETER,         // of a jit function, also as keyword of a call or launch
    NAME_FUNCTION,          // jit function, or a plain one of the file
    NAME_GLOBAL,            // assigned at module level
    NAME_OPERATION,         // tl.exp, libdevice.tanh
    NAME_METHOD,            // x.sum, descriptor.load
    NAME_OPERATION_KEYWORD  // `axis` in tl.sum(x, axis=0)
    ,
    NAME_LAUNCH_OPTION,  // num_warps at a launch
    NAME_DTYPE,          // tl.float32
    NAME_NAMESPACE,      // tl, tl.math, libdevice
    NAME_ATTRIBUTE       // x.shape, x.dtype of a value in a kernel
} NameKind;

typedef struct Name {
    NameKind kind;
    SyntaxNode node;  // the identifier
    Range range;      // of it
    Str text;
    SyntaxNode scope;                    // LOCAL, PARAMETER: the function_definition it belongs to
    const Kernel *kernel;                // the jit function that the identifier stands in, or NULL
    const FunctionDefinition *function;  // FUNCTION: it; PARAMETER: whose
    int parameter;                       // PARAMETER, OPERATION_KEYWORD: which
    OpCode op;
    DTypeCode dtype;
    ScopeEntry entry;  // GLOBAL, NAMESPACE
    bool is_write;     // the place binds the name
    bool is_keyword;   // `name=` of a call
} Name;

/// Where a kernel stands in the present text.
typedef struct KernelPlace {
    const Kernel *kernel;
    uint32_t start, end;  // from its `def` on
    bool is_known;        // the rest is filled
    SyntaxNode node;      // function_definition
    uint32_t body_start;
    const Map *bound;
    bool has_inner_scopes;  // lambdas, comprehensions, functions
} KernelPlace;

/// One snapshot while names of it are looked up; made for one request. What is asked twice is found once.
typedef struct FileNames {
    Arena *arena;
    const Snapshot *snapshot;
    const Source *source;
    SyntaxNode root;
    Map functions;  // by where the name stands now, + 1: FunctionDefinition
    Map kernels;    // likewise: Kernel
    Map bound;      // by where a function starts, + 1: Map of the names it binds
    Map globals;    // text, dotted ones too -> ScopeEntry
    Map carried;    // by loop: what loop_classify says of it
    KernelPlace *places;
    int place_count;
} FileNames;

FileNames names_of(Arena *arena, const Snapshot *snapshot);
/// What the identifier stands for; NAME_NOTHING for every other node.
Name name_resolve(FileNames *names, SyntaxNode identifier);
/// The identifier that the offset touches (also right behind it), or a null node.
SyntaxNode identifier_at(FileNames *names, uint32_t offset);
Name name_at(FileNames *names, uint32_t offset);

typedef struct Words {
    LIST(SyntaxNode) list;
} Words;
/// The identifiers spelled `text`, wherever they stand in the file, in order.
Words words_of(FileNames *names, Str text);
/// Those of them inside a range.
Words words_within(FileNames *names, Str text, Range range);

/// What a callee is: `tl.exp`, `helper`, `kernel[grid]`, `x.sum`. NAME_NOTHING where it is not ours.
Name callee_resolve(FileNames *names, SyntaxNode call);

/// The jit function whose definition holds the node, and the innermost function_definition around it (null at module level).
const Kernel *kernel_around(FileNames *names, SyntaxNode node);
SyntaxNode function_around(SyntaxNode node);
const FunctionDefinition *definition_of_node(FileNames *names, SyntaxNode function);
const Kernel *kernel_of_node(FileNames *names, SyntaxNode function);
const Kernel *kernel_of_function(FileNames *names, const FunctionDefinition *function);
/// Whether both are one definition; shared work knows it by another pointer.
bool function_is_same(FileNames *names, const FunctionDefinition *a, const FunctionDefinition *b);

/// The syntax of a kernel of this snapshot; a null node where there is none.
SyntaxNode node_of_kernel(FileNames *names, const Kernel *kernel);

/// What the expression came to in the kernel around it, or NULL.
Value *value_of_node(FileNames *names, const Kernel *kernel, SyntaxNode node);
/// The names that a function binds (parameters included), as a set. Cached.
const Map *names_bound(FileNames *names, SyntaxNode function);
/// Whether the node is inside a comment or a string.
bool offset_is_text(FileNames *names, uint32_t offset);

Range range_of(const FileNames *names, SyntaxNode node);
Str text_of(const FileNames *names, SyntaxNode node);
bool range_touches(Range range, uint32_t offset);
/// The unquoted content of a plain string node; size 0 where it is none.
Range string_content(const FileNames *names, SyntaxNode node);

#endif
