// One tensor for two parameters: what all launches of a kernel show, by their text first and then by evaluating the launchers.
#include "analysis/launches/launch_joined.h"

#include "analysis/host_values/host_value.h"
#include "analysis/launches/launch_tensors.h"
#include "analysis/syntax/syntax_nodes.h"

/// Choices of a launcher's flags that are looked at: more launchers than not have fewer flags, and the Function checks the rest.
enum { VARIANTS_MAX = 8 };

Str launch_argument_root(const Module *module, const LaunchSite *site, int parameter) {
    SyntaxNode node = launch_argument_node(module, site, parameter);
    while (!node_is_null(node)) {
        switch (node_kind(node)) {
        case SYNTAX_IDENTIFIER: return node_text(module->source, node);
        case SYNTAX_ATTRIBUTE: node = node_field(node, "object"); break;
        case SYNTAX_SUBSCRIPT: node = node_field(node, "value"); break;
        case SYNTAX_CALL:
            node = node_field(node, "function");
            if (node_kind(node) != SYNTAX_ATTRIBUTE) return (Str){0};
            break;
        default: return (Str){0};
        }
    }
    return (Str){0};
}

static bool is_one(const HostValue *first, const HostValue *second) {
    if (!first || !second || first->kind != HOST_TENSOR || second->kind != HOST_TENSOR)
        return false;
    int64_t offsets[2];
    return first->tensor->buffer == second->tensor->buffer &&
           host_int(first->tensor->offset, &offsets[0]) &&
           host_int(second->tensor->offset, &offsets[1]) && offsets[0] == offsets[1];
}

/// Asks about the values of two arguments on each way through the launcher that is looked at.
static bool all_ways(const LaunchSite *site, const Function *function, int first, int second,
                     bool (*holds)(const HostValue *, const HostValue *)) {
    for (int variant = 0, variants = 1; variant < variants; variant++) {
        const HostPolicy policy = {.variant = variant, .keep_blocks = true, .function = function};
        const HostLaunch *launch = host_launch(site->kernel->module, site, &policy);
        variants = launch->flag_count < 3 ? 1 << launch->flag_count : VARIANTS_MAX;
        if (first >= launch->argument_count || second >= launch->argument_count) return false;
        if (!holds(launch->arguments[first].value, launch->arguments[second].value)) return false;
    }
    return true;
}

bool launch_passes_one(const LaunchSite *site, const Function *function, int first, int second) {
    return all_ways(site, function, first, second, is_one);
}

/* ---- elements of two views ---- */

/// Sizes that the evaluation chooses are small; larger ones are left to the Function's own check.
enum { ELEMENTS_MAX = 1 << 16 };

typedef struct Elements {
    bool known;
    int rank;
    int64_t start, count, dims[TYPE_MAX_RANK], strides[TYPE_MAX_RANK];
} Elements;

static Elements elements_of(const HostTensor *tensor) {
    Elements all = {.rank = tensor->rank, .count = 1};
    if (!host_int(tensor->offset, &all.start)) return all;
    for (int axis = 0; axis < tensor->rank; axis++) {
        bool is_known = host_int(tensor->dims[axis], &all.dims[axis]) &&
                        host_int(tensor->strides[axis], &all.strides[axis]);
        if (!is_known || all.dims[axis] < 0 || all.dims[axis] > ELEMENTS_MAX) return all;
        all.count *= all.dims[axis];
        if (all.count > ELEMENTS_MAX) return all;
    }
    all.known = true;
    return all;
}

static int64_t offset_at(const Elements *elements, int64_t index) {
    int64_t offset = elements->start;
    for (int axis = elements->rank - 1; axis >= 0; axis--) {
        offset += index % elements->dims[axis] * elements->strides[axis];
        index /= elements->dims[axis];
    }
    return offset;
}

static bool share_elements(const HostValue *first, const HostValue *second) {
    if (!first || !second || first->kind != HOST_TENSOR || second->kind != HOST_TENSOR)
        return false;
    if (first->tensor->buffer != second->tensor->buffer) return false;
    Elements a = elements_of(first->tensor), b = elements_of(second->tensor);
    if (!a.known || !b.known || !a.count || !b.count) return false;
    int64_t low = offset_at(&a, 0), size = offset_at(&a, a.count - 1) - low + 1;
    if (size < 1 || size > 16 * (int64_t)ELEMENTS_MAX) return false;
    Arena *scratch = arena_new_scratch();
    bool *touched = ARENA_ARRAY(scratch, bool, (size_t)size), share = false;
    for (int64_t i = 0; i < a.count; i++) touched[offset_at(&a, i) - low] = true;
    for (int64_t i = 0; i < b.count && !share; i++) {
        int64_t at = offset_at(&b, i) - low;
        share = at >= 0 && at < size && touched[at];
    }
    arena_free(scratch);
    return share;
}

bool launch_shares_elements(const LaunchSite *site, const Function *function, int first,
                            int second) {
    return all_ways(site, function, first, second, share_elements);
}

bool launches_pass_one(const FunctionDefinition *kernel, const Function *function, int first,
                       int second) {
    bool any = false;
    for (LIST_EACH(int, i, kernel->module->launches)) {
        const LaunchSite *site = &kernel->module->launches.items[i];
        if (site->kernel != kernel) continue;
        Str root = launch_argument_root(kernel->module, site, first);
        bool is_same =
            root.size && str_equal(root, launch_argument_root(kernel->module, site, second));
        if (!is_same || !launch_passes_one(site, function, first, second)) return false;
        any = true;
    }
    return any;
}

void function_join_parameters(Function *function, const int *joined) {
    for (int q = 0; joined && q < function->parameter_count; q++) {
        Parameter *parameter = &function->parameters[q];
        if (joined[q] < 0) continue;
        Parameter *instead = &function->parameters[joined[q]];
        region_replace_uses(function->body, parameter->value, instead->value);
        instead->is_loaded |= parameter->is_loaded;
        parameter->is_loaded = false;
    }
}
