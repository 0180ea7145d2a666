// The parameters of a kernel, divided among the tensors whose strides a launch spreads over them.
#include "analysis/host/launch_spreads.h"

#include <limits.h>

#include "analysis/host/host_tensor.h"

enum { NOT_ALIKE = -1 };  // a group of parameters whose names have nothing in common

/// The words of a name but for those that only say that it is a stride.
typedef LIST(Str) NameWords;

static NameWords words_of(Arena *arena, Str name) {
    NameWords words = {0};
    for (size_t start = 0; start <= name.size;) {
        size_t end = start;
        while (end < name.size && name.data[end] != '_') end++;
        Str word = {name.data + start, end - start};
        if (word.size && !str_is(word, "stride") && !str_is(word, "strides"))
            LIST_PUSH(arena, &words, word);
        start = end + 1;
    }
    return words;
}

/// The words that a name has in common with another at its start and at its end, where that is less than what is noted.
static void note_common(const NameWords *a, const NameWords *b, int *start, int *end) {
    int least = a->count < b->count ? a->count : b->count, first = 0, last = 0;
    while (first < least && str_equal(a->items[first], b->items[first])) first++;
    while (last < least && str_equal(a->items[a->count - 1 - last], b->items[b->count - 1 - last]))
        last++;
    bool are_words = a->count == 1 && b->count == 1 && a->items[0].size > 1 && b->items[0].size > 1;
    // `stride_xm` and `stride_xn` have their first letter in common
    if (are_words && !first) first = a->items[0].data[0] == b->items[0].data[0];
    if (first < *start) *start = first;
    if (last < *end) *end = last;
}

/// A division of the strides from one spread on.
typedef struct SpreadChoice {
    int likeness;  // of the names, of all these together
    int strides;   // of the first of them
    bool is_tied;  // another one is as good
} SpreadChoice;

typedef struct SpreadFit {
    Arena *arena;
    const FunctionDefinition *kernel;
    const OpenSpread *spreads;
    int count, total;  // of spreads, and of the strides that they give together
    SpreadChoice *choices;
} SpreadFit;

/// The best division from a spread on, where those before it give so many strides.
static SpreadChoice *choice_at(const SpreadFit *fit, int spread, int before) {
    return &fit->choices[spread * (fit->total + 1) + before];
}

/// The parameter that the first stride of a spread is for, where those before it give `before` strides.
static int first_parameter(const SpreadFit *fit, int spread, int before) {
    int place = fit->spreads[spread].place;
    for (int i = 0; i < spread; i++) place -= fit->spreads[i].count;
    return place + before;
}

/// How alike the names of so many parameters are; NOT_ALIKE where two of them have nothing in common.
static int likeness(const SpreadFit *fit, int first, int count) {
    int start = INT_MAX, end = INT_MAX;
    if (first + count > fit->kernel->parameter_count) return NOT_ALIKE;
    if (count < 2) return 0;
    const NameWords own = words_of(fit->arena, fit->kernel->parameters[first].name);
    for (int i = 1; i < count; i++) {
        const NameWords each = words_of(fit->arena, fit->kernel->parameters[first + i].name);
        note_common(&own, &each, &start, &end);
    }
    int most = start > end ? start : end;
    return most ? most * (count - 1) : NOT_ALIKE;
}

static void fit_from(SpreadFit *fit, int spread, int before) {
    SpreadChoice *best = choice_at(fit, spread, before);
    best->likeness = NOT_ALIKE;
    for (int strides = fit->spreads[spread].count;
         strides <= TYPE_MAX_RANK && before + strides <= fit->total; strides++) {
        const SpreadChoice *rest = choice_at(fit, spread + 1, before + strides);
        int own = likeness(fit, first_parameter(fit, spread, before), strides);
        if (rest->likeness == NOT_ALIKE || own == NOT_ALIKE ||
            own + rest->likeness < best->likeness)
            continue;
        best->is_tied = own + rest->likeness == best->likeness || rest->is_tied;
        best->strides = strides;
        best->likeness = own + rest->likeness;
    }
}

/// Divides the strides by the names of the parameters; false where these say nothing, or leave it open.
static bool fit_by_names(SpreadFit *fit) {
    for (int sum = 0; sum <= fit->total; sum++)
        choice_at(fit, fit->count, sum)->likeness = sum == fit->total ? 0 : NOT_ALIKE;
    for (int spread = fit->count - 1; spread >= 0; spread--)
        for (int before = 0; before <= fit->total; before++) fit_from(fit, spread, before);
    return fit->choices->likeness > 0 && !fit->choices->is_tied;
}

/// Whether nothing in the names speaks against as many strides for each tensor.
static bool may_be_equal(const SpreadFit *fit, int each) {
    if (each * fit->count != fit->total) return false;
    for (int i = 0; i < fit->count; i++)
        if (fit->spreads[i].count > each) return false;
    if (fit->choices->likeness <= 0) return true;
    for (int i = 0; i < fit->count; i++)
        if (likeness(fit, first_parameter(fit, i, i * each), each) == NOT_ALIKE) return false;
    return true;
}

void host_fit_spreads(Host *host, const HostCall *call, int missing) {
    int spread = 0;
    if (host->is_changed) return;  // other ranks may have been too small
    for (LIST_EACH(int, i, call->spreads)) spread += call->spreads.items[i].count;
    SpreadFit fit = {.arena = host->arena,
                     .kernel = host->launch->kernel,
                     .spreads = call->spreads.items,
                     .count = call->spreads.count,
                     .total = spread + missing};
    if (!missing || call->is_open || !fit.count) return;
    fit.choices = ARENA_ARRAY(host->arena, SpreadChoice, (fit.count + 1) * (fit.total + 1));
    bool by_names = fit_by_names(&fit);
    int each = fit.total / fit.count;
    if (!by_names && !may_be_equal(&fit, each)) return;
    for (int i = 0, before = 0; i < fit.count; i++) {
        int strides = by_names ? choice_at(&fit, i, before)->strides : each;
        host_need_rank(host, fit.spreads[i].input, fit.spreads[i].count, strides);
        before += strides;
    }
}
