// Each call of a rule's helper that a kernel makes, in the proof and under other launches, with the numbers that it is tried with.
#include "gpu-runner/rules/tried.h"

#include <string.h>

#include "gpu-runner/rules/alone.h"

/* ---- numbers ---- */

static const double RANGES[][2] = {{-1, 1}, {0.05, 1},   {1, 3},         {-3, -1},
                                   {-8, 8}, {-100, 100}, {-10000, 10000}};
static const double UPSTREAMS[] = {1, 10000, 1e-4};
/// Small whole numbers, of which the proof knows, and larger ones.
static const int64_t INTEGERS[][2] = {{0, 8}, {-8, 8}, {0, 1000}, {0, 1 << 20}, {-1000, 1000}};
enum { SMALL = 2 };
static const int64_t PROGRAMS[][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {5000, 77, 301}};

enum { RANGE_COUNT = sizeof RANGES / sizeof *RANGES };

/// How the rule of one helper is tried: a bit for each range of floats with each of the small whole numbers.
typedef struct RuleDomain {
    uint64_t fits;            // in which its proved calls agree
    uint64_t by_differences;  // where these are for want of dual numbers
} RuleDomain;

static uint64_t bit_of(int range, int small) { return (uint64_t)1 << (range * SMALL + small); }

static RuleNumbers numbers_of(int range, int integers, uint64_t seed) {
    return (RuleNumbers){.low = RANGES[range][0],
                         .high = RANGES[range][1],
                         .from = INTEGERS[integers][0],
                         .to = INTEGERS[integers][1],
                         .upstream = 1,
                         .seed = seed};
}

static bool has_integers(const RuleCall *call) {
    for (int i = 0; i < call->helper->parameter_count; i++)
        if (!call->values[i]->constant && dtype_is_integer(call->values[i]->type.element))
            return true;
    return false;
}

static RuleDomain domain_of(Arena *arena, const RuleCall *call, uint64_t seed, Budget *budget) {
    RuleDomain domain = {0};
    RuleAlone *alone = rule_alone_new(arena, call, budget);
    for (int range = 0; alone && range < RANGE_COUNT; range++)
        for (int small = 0; small < (has_integers(call) ? SMALL : 1); small++)
            for (int way = 0; way < 2 && !(domain.fits & bit_of(range, small)); way++) {
                RuleNumbers numbers = numbers_of(range, small, seed);
                RuleFault fault;
                if (rule_alone_try(alone, &numbers, way == 1, &fault) != RULE_AGREES) continue;
                domain.fits |= bit_of(range, small);
                if (way == 1) domain.by_differences |= bit_of(range, small);
            }
    return domain;
}

/// A helper's numbers need not be all of a range: whether a proved call agrees at the very floats where another does not.
static bool is_of_domain(Arena *arena, const KernelCalls *calls, const RuleCall *call,
                         RuleNumbers numbers, int small, bool by_differences,
                         const RuleFault *fault, Budget *budget) {
    bool is_proved = call < calls->list.items + calls->proved;
    numbers.from = INTEGERS[small][0];
    numbers.to = INTEGERS[small][1];
    numbers.upstream = 1;
    memcpy(numbers.program, PROGRAMS[0], sizeof numbers.program);
    numbers.is_one = fault->is_apart;
    numbers.lane = fault->lane;
    for (int i = 0; i < calls->proved; i++) {
        const RuleCall *proved = &calls->list.items[i];
        if (proved->helper != call->helper || (is_proved && proved != call)) continue;
        RuleAlone *alone = rule_alone_new(arena, proved, budget);
        RuleFault other;
        if (alone && rule_alone_try(alone, &numbers, by_differences, &other) == RULE_AGREES)
            return true;
    }
    return false;
}

static const char *fault_words(Arena *arena, const RuleCall *call, const RuleNumbers *numbers,
                               bool has_programs, const RuleFault *fault) {
    Buffer text = buffer_new(arena);
    buffer_printf(&text, "right with the numbers of the proof; with %s", call->text);
    if (has_integers(call))
        buffer_printf(&text, ", whole numbers from %lld to %lld", (long long)numbers->from,
                      (long long)numbers->to);
    if (has_programs)
        buffer_printf(&text, ", in program (%lld, %lld, %lld)", (long long)numbers->program[0],
                      (long long)numbers->program[1], (long long)numbers->program[2]);
    buffer_printf(&text,
                  " and an upstream gradient up to %g the rule of `%.*s` gives %.6g, where the "
                  "derivative is %.6g",
                  numbers->upstream, STR_ARGS(call->rule->name), fault->actual, fault->expected);
    return buffer_text(&text);
}

/// One call with all numbers that go with those of the domain. Where it differs, the words for it.
static const char *call_doubt(Arena *arena, const KernelCalls *calls, const RuleCall *call,
                              const RuleDomain *domain, uint64_t seed, Budget *budget) {
    RuleAlone *alone = rule_alone_new(arena, call, budget);
    if (!alone) return NULL;
    int integers = has_integers(call) ? (int)(sizeof INTEGERS / sizeof *INTEGERS) : 1;
    bool has_programs = rule_alone_reads_programs(alone);
    int programs = has_programs ? (int)(sizeof PROGRAMS / sizeof *PROGRAMS) : 1;
    int upstreams = (int)(sizeof UPSTREAMS / sizeof *UPSTREAMS);
    for (int range = 0; range < RANGE_COUNT; range++)
        for (int k = 0; k < integers * programs * upstreams; k++) {
            int whole = k % integers, small = INTEGERS[whole][0] < 0;
            uint64_t bit = bit_of(range, small);
            bool by_differences = (domain->by_differences & bit) != 0;
            RuleNumbers numbers = numbers_of(range, whole, seed);
            numbers.upstream = UPSTREAMS[k / integers % upstreams];
            memcpy(numbers.program, PROGRAMS[k / integers / upstreams], sizeof numbers.program);
            RuleFault fault;
            if ((domain->fits & bit) &&
                rule_alone_try(alone, &numbers, by_differences, &fault) == RULE_DIFFERS &&
                is_of_domain(arena, calls, call, numbers, small, by_differences, &fault, budget))
                return fault_words(arena, call, &numbers, has_programs, &fault);
        }
    return NULL;
}

/* ---- words ---- */

enum { MOST_WORDS = 8 };

static bool is_said(const RuleCalls *calls, int at, int parameter) {
    const RuleCall *own = &calls->items[at];
    for (int i = 0; i < at; i++) {
        const RuleCall *call = &calls->items[i];
        bool is_known = true;
        if (call->helper == own->helper && call->values[parameter]->constant &&
            constant_equal(call->values[parameter]->constant, own->values[parameter]->constant,
                           &is_known) &&
            is_known)
            return true;
    }
    return false;
}

/// "K of `h` = 1, 2, 3": of constexprs that not all calls agree in.
static void write_values(Arena *arena, const RuleCalls *calls, int first, int parameter,
                         Buffer *text) {
    const FunctionDefinition *helper = calls->items[first].helper;
    Buffer values = buffer_new(arena);
    int count = 0;
    for (int i = first; i < calls->count; i++) {
        const RuleCall *call = &calls->items[i];
        if (call->helper != helper || !call->values[parameter]->constant ||
            is_said(calls, i, parameter))
            continue;
        if (++count > MOST_WORDS) continue;
        if (count > 1) buffer_puts(&values, ", ");
        constant_print(&values, call->values[parameter]->constant);
    }
    if (count > MOST_WORDS) buffer_printf(&values, " and %d more", count - MOST_WORDS);
    if (count > 1)
        buffer_printf(text, "%s%.*s of `%.*s` as %s", buffer_text(text)[0] ? "; " : "",
                      STR_ARGS(helper->parameters[parameter].name),
                      STR_ARGS(calls->items[first].rule->name), buffer_text(&values));
}

static bool is_first_of_helper(const RuleCalls *calls, int at) {
    for (int i = 0; i < at; i++)
        if (calls->items[i].helper == calls->items[at].helper) return false;
    return true;
}

static const char *words_of(Arena *arena, const RuleCalls *calls) {
    Buffer text = buffer_new(arena);
    for (LIST_EACH(int, i, *calls))
        for (int k = 0; is_first_of_helper(calls, i) && k < calls->items[i].helper->parameter_count;
             k++)
            write_values(arena, calls, i, k, &text);
    const char *words = buffer_text(&text);
    return words[0] ? words : NULL;
}

/// What all proved calls of the helper of call `at` agree in, but for those that agree in nothing.
static RuleDomain domain_of_helper(const KernelCalls *calls, int at, const RuleDomain *domains) {
    RuleDomain all = {0};
    bool is_first = true;
    for (int i = 0; i < calls->proved; i++) {
        if (calls->list.items[i].helper != calls->list.items[at].helper) continue;
        const RuleDomain *domain = &domains[i];
        if (is_first && domain->fits) all.fits = domain->fits;
        if (domain->fits) is_first = false;
        if (domain->fits) all.fits &= domain->fits;
        all.by_differences |= domain->by_differences;
    }
    return all;
}

/// Whether a proved call comes to the same formula.
static bool is_as_proved(Arena *arena, const KernelCalls *calls, const RuleCall *call,
                         Budget *budget) {
    const RuleAlone *alone = rule_alone_new(arena, call, budget);
    for (int i = 0; i < calls->proved; i++)
        if (calls->list.items[i].helper == call->helper &&
            rule_alone_is_same(alone, rule_alone_new(arena, &calls->list.items[i], budget)))
            return true;
    return false;
}

RulesTried rules_try(Arena *arena, const FunctionDefinition *kernel,
                     const ProvedConfigurations *proved, uint64_t seed, Budget *budget) {
    KernelCalls calls = kernel_calls(arena, kernel, proved);
    RuleDomain *domains = ARENA_ARRAY(arena, RuleDomain, calls.list.count + 1);
    for (LIST_EACH(int, i, calls.list)) {
        const RuleCall *call = &calls.list.items[i];
        domains[i] = i < calls.proved ? domain_of(arena, call, seed, budget)
                                      : domain_of_helper(&calls, i, domains);
        bool is_open = i >= calls.proved && !domains[i].fits;
        if (is_open && !is_as_proved(arena, &calls, call, budget))
            return (RulesTried){.doubt = arena_printf(
                                    arena,
                                    "the rule of `%.*s` could not be tried with %s, which another "
                                    "launch of the kernel has",
                                    STR_ARGS(call->rule->name), call->text)};
        const char *doubt = call_doubt(arena, &calls, call, &domains[i], seed, budget);
        if (doubt) return (RulesTried){.doubt = doubt, .is_wrong = true};
    }
    const char *words = words_of(arena, &calls.list);
    if (words && budget->end != BUDGET_HOLDS)
        words = arena_printf(arena, "%s, as far as the steps went", words);
    if (words && !calls.is_complete)
        words = arena_printf(arena, "%s, the first %d calls only", words, calls.list.count);
    return (RulesTried){.words = words};
}
