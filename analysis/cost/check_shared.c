// Configurations and launches whose products take more shared memory than any card has. The estimate's rules (footprint.h) are off by
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

/// Bytes that the instance takes on the most generous card; 0: some card may have them, or nobody knows.
static int64_t beyond_all(const Check *check, const CostInstance *instance, int64_t *most) {
    static const int capabilities[] = {FOOTPRINT_MOST_CAPABILITY, FOOTPRINT_LEAST_CAPABILITY};
    int64_t taken = 0;
    for (size_t i = 0; i < sizeof capabilities / sizeof *capabilities; i++) {
        FootprintOptions options = cost_options(instance, capabilities[i]);
        if (options.warps <= 0 || options.stages <= 0) return 0;
        Footprint footprint = cost_footprint(check->arena, check->kernel, instance, options);
        int64_t room = card_most_shared(capabilities[i]);
        if (!footprint.is_known || (double)footprint.shared <= CERTAIN * (double)room) return 0;
        if (i == 0) taken = footprint.shared, *most = room;
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
    int64_t *taken = ARENA_ARRAY(check->arena, int64_t, count + 1), most = 0, room = 0;
    for (int i = 0; i < count; i++) {
        const CostInstance *instance = &instances.list.items[i];
        if (instance->range.source != module->source) continue;
        taken[i] = beyond_all(check, instance, &room);
        if (taken[i]) over++, most = room;
    }
    for (int i = 0; i < count; i++) {
        const CostInstance *instance = &instances.list.items[i];
        if (!taken[i]) continue;
        Diagnostic *said = check_report_at(
            check, DIAGNOSTIC_SHARED_MEMORY, instance->range,
            "a program of `%.*s` takes about %lld KiB of shared memory in this %s, by an estimate, "
            "and has %lld KiB at most on cards from 8.0 to 9.0: take smaller blocks, or fewer "
            "stages",
            STR_ARGS(check->kernel->definition->name), (long long)(taken[i] / KIB),
            instance->is_configuration ? "configuration" : "launch", (long long)(most / KIB));
        // A tuner leaves out what does not fit.
        if (said && instance->is_configuration && over < count) said->severity = SEVERITY_INFO;
    }
}
