// The kernel is lowered with other values for its constexprs, and the calls that are left in it are looked at.
#include "gpu-runner/rules/calls.h"

#include <string.h>

#include "analysis/lowering/lower.h"
#include "gpu-runner/rules/values.h"

/// Values of a constexpr that are tried together with each of another's.
enum { MOST_CALLS = 192, MOST_PAIRED = 16 };

static const DTypeCode FLOATS[] = {DTYPE_FLOAT16, DTYPE_BFLOAT16, DTYPE_FLOAT32, DTYPE_FLOAT64};

typedef struct GivenCallSearch {
    Arena *arena;
    const FunctionDefinition *kernel;
    KernelCalls calls;
} GivenCallSearch;

/// A constexpr of the kernel that is tried with several values.
typedef struct Varied {
    int at;
    RuleValues values;
} Varied;
typedef LIST(Varied) VariedConstexprs;

static void write_argument(Buffer *text, const Value *value) {
    if (value->constant) {
        constant_print(text, value->constant);
        return;
    }
    const char *name = dtype_name(value->type.element.code);
    buffer_puts(text, name ? name : "?");
    for (int i = 0; i < value->type.rank; i++) {
        int64_t size = 0;
        poly_is_constant(value->type.dims[i], &size);
        buffer_printf(text, "%s%lld", i ? ", " : "[", (long long)size);
    }
    if (value->type.rank) buffer_puts(text, "]");
}

static const char *call_text(Arena *arena, const FunctionDefinition *helper, Value *const *values) {
    Buffer text = buffer_new(arena);
    for (int i = 0; i < helper->parameter_count; i++) {
        buffer_printf(&text, "%s%.*s = ", i ? ", " : "", STR_ARGS(helper->parameters[i].name));
        write_argument(&text, values[i]);
    }
    return buffer_text(&text);
}

static bool visit_call(void *context, Op *op) {
    GivenCallSearch *gathering = context;
    if (op->code != OP_GIVEN || op->note) return true;
    bool is_checked = false;
    value_is_bool(op->operands[2], &is_checked);
    const FunctionDefinition *helper = op->operands[0]->constant->function;
    const GivenRule *rule = given_rule_of(gathering->arena, gathering->kernel->module, helper);
    if (!is_checked || !rule || rule->problem) return true;
    Value *const *values = op->operands + GIVEN_ARGUMENTS;
    RuleCall call = {.helper = helper,
                     .rule = rule,
                     .values = values,
                     .result = op->results[0]->type,
                     .text = call_text(gathering->arena, helper, values)};
    KernelCalls *calls = &gathering->calls;
    for (LIST_EACH(int, i, calls->list))
        if (calls->list.items[i].helper == helper &&
            strcmp(calls->list.items[i].text, call.text) == 0)
            return true;
    calls->is_complete = calls->list.count < MOST_CALLS;
    if (calls->is_complete) LIST_PUSH(gathering->arena, &calls->list, call);
    return calls->is_complete;
}

static bool visit_assertion(void *context, Op *op) {
    bool *fails = context, holds = true;
    bool is_known =
        op->code == OP_STATIC_ASSERT && op->operands[0] && value_is_bool(op->operands[0], &holds);
    *fails |= is_known && !holds;
    return !*fails;
}

/// The calls of the kernel under a configuration. False where Triton would refuse it: it has none then.
static bool gather(GivenCallSearch *gathering, const PlanConfiguration *configuration) {
    if (!gathering->calls.is_complete) return true;
    int count;
    Binding *bindings = configuration_bindings(gathering->arena, configuration, &count);
    Diagnostics diagnostics = {.arena = gathering->arena};
    LowerOptions options = {
        .bindings = bindings, .binding_count = count, .unroll_static = true, .keeps_given = true};
    Function *function = lower_kernel(gathering->arena, gathering->kernel, &options, &diagnostics);
    for (LIST_EACH(int, i, diagnostics.list))
        if (diagnostics.list.items[i].severity == SEVERITY_ERROR) return false;
    bool fails = !function;
    if (function) region_walk(function->body, visit_assertion, &fails);
    if (!fails) region_walk(function->body, visit_call, gathering);
    return !fails;
}

/// Tensors whose types nobody says, in each type of floats.
static void gather_types(GivenCallSearch *gathering, const PlanConfiguration *proved) {
    for (size_t i = 0; i < sizeof FLOATS / sizeof *FLOATS; i++) {
        PlanConfiguration other = configuration_copy(gathering->arena, proved, 0);
        for (int k = 0; k < other.argument_count; k++)
            if (other.arguments[k].kind == ARGUMENT_POINTER && other.arguments[k].is_type_open)
                other.arguments[k].dtype = FLOATS[i];
        gather(gathering, &other);
    }
}

static RuleLiterals literals_of(const GivenCallSearch *gathering) {
    RuleLiterals literals = {0};
    const RuleCalls *calls = &gathering->calls.list;
    for (LIST_EACH(int, i, *calls))
        rule_literals_add(gathering->arena, &literals, calls->items[i].rule,
                          calls->items[i].helper);
    rule_literals_add_module(gathering->arena, &literals, gathering->kernel->module);
    for (LIST_EACH(int, i, *calls)) {
        rule_literals_add_module(gathering->arena, &literals, calls->items[i].rule->module);
        rule_literals_add_module(gathering->arena, &literals, calls->items[i].helper->module);
    }
    return literals;
}

static VariedConstexprs varied_of(const GivenCallSearch *gathering, const RuleLiterals *literals,
                                  const PlanConfiguration *proved) {
    VariedConstexprs varied = {0};
    for (int k = 0; k < proved->argument_count; k++) {
        const PlanArgument *argument = &proved->arguments[k];
        if (argument->kind != ARGUMENT_CONSTANT) continue;
        Varied one = {k, rule_values(gathering->arena, literals, argument->constant)};
        if (one.values.count > 1) LIST_PUSH(gathering->arena, &varied, one);
    }
    return varied;
}

/// Takes out the values that Triton refuses: a block that is no power of two.
static void gather_one_by_one(GivenCallSearch *gathering, const PlanConfiguration *proved,
                              VariedConstexprs *varied) {
    for (LIST_EACH(int, i, *varied)) {
        Varied *one = &varied->items[i];
        PlanConfiguration other = configuration_copy(gathering->arena, proved, 0);
        int count = 0;
        for (LIST_EACH(int, k, one->values)) {
            other.arguments[one->at].constant = one->values.items[k];
            if (gather(gathering, &other)) one->values.items[count++] = one->values.items[k];
        }
        if (count) one->values.count = count;  // none where no more calls were looked at
    }
}

static int least_prime(int least) {
    for (int prime = least < 2 ? 2 : least;; prime++) {
        bool is_prime = true;
        for (int k = 2; k * k <= prime; k++) is_prime &= prime % k != 0;
        if (is_prime) return prime;
    }
}

static int paired(const Varied *one) {
    int count = one->values.count;
    return count < 1 ? 1 : count > MOST_PAIRED ? MOST_PAIRED : count;
}

/// An orthogonal array of strength two (Bose 1938): in its p * p rows each two of its p + 1 columns have each pair of p levels once.
static void gather_by_twos(GivenCallSearch *gathering, const PlanConfiguration *proved,
                           const VariedConstexprs *varied) {
    int levels = varied->count - 1;
    for (LIST_EACH(int, i, *varied))
        if (levels < paired(&varied->items[i])) levels = paired(&varied->items[i]);
    int prime = least_prime(levels);
    for (int row = 0; varied->count > 1 && row < prime * prime; row++) {
        PlanConfiguration other = configuration_copy(gathering->arena, proved, 0);
        for (LIST_EACH(int, i, *varied)) {
            const Varied *one = &varied->items[i];
            int level = i < prime ? (row / prime + i * (row % prime)) % prime : row % prime;
            other.arguments[one->at].constant = one->values.items[level % paired(one)];
        }
        gather(gathering, &other);
    }
}

KernelCalls kernel_calls(Arena *arena, const FunctionDefinition *kernel,
                         const ProvedConfigurations *proved) {
    GivenCallSearch gathering = {.arena = arena, .kernel = kernel, .calls = {.is_complete = true}};
    for (LIST_EACH(int, i, *proved)) gather(&gathering, proved->items[i]);
    gathering.calls.proved = gathering.calls.list.count;
    RuleLiterals literals = literals_of(&gathering);
    VariedConstexprs first = {0};
    for (LIST_EACH(int, i, *proved)) {
        const PlanConfiguration *configuration = proved->items[i];
        VariedConstexprs varied = varied_of(&gathering, &literals, configuration);
        gather_types(&gathering, configuration);
        gather_one_by_one(&gathering, configuration, &varied);
        if (i == 0) first = varied;
    }
    if (proved->count) gather_by_twos(&gathering, proved->items[0], &first);
    return gathering.calls;
}
