// Configurations and launches whose products take more shared memory than the card has that is named, or than any. The estimate's rules (footprint.h) are off by
// a quarter where they are off upwards: what is above by less than that is not told.
#include "analysis/checks/check.h"
#include "analysis/cost/card.h"
#include "analysis/cost/cost_instances.h"

enum { MOST_LOOKED = 32, KIB = 1024 };  // of the instances, each of which is lowered again
static const double CERTAIN = 1.25;

/// Products of two factors: their operands are what fills shared memory, and of them the rules are known best.
static bool has_plain_products(const Check *check) {
    bool has = false;
    for (LIST_EACH(int, i, check->ops)) {
        const Op *op = check->ops.items[i];
        if (op->code == OP_JOIN || op->code == OP_DESCRIPTOR_STORE) return false;
        if (op->code == OP_DOT && op->result_count && op->results[0]->type.rank > 2) return false;
        has |= op->code == OP_DOT;
    }
    return has;
}

/// Where programs have to fit: the cards whose rules are known, or one of them.
typedef struct Rooms {
    const char *cards;  // as a message says them
    struct {
        int capability;
        int64_t bytes;  // of a program
    } items[2];
    int count;
} Rooms;

static Rooms rooms_of(Arena *arena, const char *name) {
    const Card *card = name ? card_find(str_from(name)) : NULL;
    if (card && card->capability >= FOOTPRINT_LEAST_CAPABILITY &&
        card->capability <= FOOTPRINT_MOST_CAPABILITY)
        return (Rooms){arena_printf(arena, "the %s", card->title),
                       {{card->capability, (int64_t)card->shared_kib * KIB}},
                       1};
    return (Rooms){"cards from 8.0 to 9.0",
                   {{FOOTPRINT_MOST_CAPABILITY, card_most_shared(FOOTPRINT_MOST_CAPABILITY)},
                    {FOOTPRINT_LEAST_CAPABILITY, card_most_shared(FOOTPRINT_LEAST_CAPABILITY)}},
                   2};
}

/// Bytes that the instance takes in the first of the rooms; 0: one of them may do for it, or nobody knows.
static int64_t beyond_all(const Check *check, const CostInstance *instance, const Rooms *rooms) {
    int64_t taken = 0;
    for (int i = 0; i < rooms->count; i++) {
        FootprintOptions options = cost_options(instance, rooms->items[i].capability);
        if (options.warps <= 0 || options.stages <= 0) return 0;
        Footprint footprint = cost_footprint(check->arena, check->kernel, instance, options);
        double room = (double)rooms->items[i].bytes;
        if (!footprint.is_known || (double)footprint.shared <= CERTAIN * room) return 0;
        if (i == 0) taken = footprint.shared;
    }
    return taken;
}

void check_shared_memory(Check *check) {
    const Module *module = check->kernel->definition->module;
    // Without a launch in the file a text that is typed is looked at once (Snapshot.lacks_trials).
    if (!check->is_entry || check->skips_trials || module->launches.count == 0) return;
    if (!has_plain_products(check)) return;
    CostInstances instances = cost_instances(check->arena, check->kernel);
    int count = instances.list.count < MOST_LOOKED ? instances.list.count : MOST_LOOKED, over = 0;
    Rooms rooms = rooms_of(check->arena, check->card);
    int64_t *taken = ARENA_ARRAY(check->arena, int64_t, count + 1);
    for (int i = 0; i < count; i++) {
        const CostInstance *instance = &instances.list.items[i];
        if (instance->range.source != module->source) continue;
        taken[i] = beyond_all(check, instance, &rooms);
        over += taken[i] != 0;
    }
    for (int i = 0; i < count; i++) {
        const CostInstance *instance = &instances.list.items[i];
        if (!taken[i]) continue;
        Diagnostic *said = check_report_at(
            check, DIAGNOSTIC_SHARED_MEMORY, instance->range,
            "a program of `%.*s` takes about %lld KiB of shared memory in this %s, by an estimate, "
            "and has %lld KiB at most on %s: take smaller blocks, or fewer stages",
            STR_ARGS(check->kernel->definition->name), (long long)(taken[i] / KIB),
            instance->is_configuration ? "configuration" : "launch",
            (long long)(rooms.items[0].bytes / KIB), rooms.cards);
        // A tuner leaves out what does not fit.
        if (said && instance->is_configuration && over < count) said->severity = SEVERITY_INFO;
    }
}
