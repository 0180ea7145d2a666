// Made small, blocks of 64 and 32 are 16 both: what takes one for the other would be right in all of a proof.
#include "gpu-runner/configure/spec_apart.h"

enum {
    LEAST_BLOCK = 2,
    MOST_KEPT = 64
};  // what stays larger than that would make others larger than a proof can bear

static const HostLaunch *evaluate(const Module *module, const LaunchSite *site, HostPolicy policy,
                                  bool keep_blocks) {
    policy.keep_blocks = keep_blocks;
    policy.apart = policy.apart_kept = 0;
    policy.sizes = HOST_SIZES_USUAL;
    const HostLaunch *host = host_launch(module, site, &policy);
    return host && host->is_reached ? host : NULL;
}

/// Whether the number stands in the host code, as in `min(64, triton.next_power_of_2(n))`.
static bool has_literal(const HostValue *value, int64_t number) {
    bool is_number = value->kind == HOST_CONSTANT || value->kind == HOST_INPUT;  // a default, too
    if (is_number) return value->is_concrete && value->constant.integer == number;
    for (int i = 0; i < value->count; i++)
        if (value->items[i] && has_literal(value->items[i], number)) return true;
    return false;
}

/// The power of two that a launch passes for a constexpr; 0: it passes none, or one that is made of sizes alone.
static int64_t block_of(const HostLaunch *host, int index) {
    const HostValue *value = host->arguments[index].value;
    if (!host->kernel->parameters[index].is_constexpr || !value || !value->is_concrete ||
        value->constant.kind != CONSTANT_INT)
        return 0;
    int64_t block = value->constant.integer;
    bool is_block = block >= LEAST_BLOCK && (block & (block - 1)) == 0;
    return is_block && has_literal(value, block) ? block : 0;
}

void spec_keep_apart(const Module *module, const LaunchSite *site, HostPolicy *policy) {
    const HostLaunch *written = evaluate(module, site, *policy, true);
    const HostLaunch *small = written ? evaluate(module, site, *policy, false) : NULL;
    if (!small || small->argument_count != written->argument_count) return;
    uint64_t apart = 0, kept = 0;
    bool meets = false;
    for (int i = 0; i < written->argument_count; i++) {
        int64_t block = block_of(written, i), made = block_of(small, i);
        if (!block || !made) continue;
        bool is_kept = made == block;
        if (is_kept && block > MOST_KEPT) continue;
        apart |= (uint64_t)block;
        if (is_kept) kept |= (uint64_t)block;
        for (int k = 0; k < i; k++) {
            int64_t other = block_of(written, k), other_made = block_of(small, k);
            bool counts = other && other_made && (apart & (uint64_t)other);
            meets = meets || (counts && other < block && other_made >= made) ||
                    (counts && other > block && other_made <= made);
        }
    }
    if (!meets) return;
    policy->apart = apart;
    policy->apart_kept = kept;
}

void spec_note_written(const Module *module, const LaunchSite *site, const HostPolicy *policy,
                       PlanConfiguration *configuration) {
    const HostLaunch *written = evaluate(module, site, *policy, true);
    if (!written || written->argument_count != configuration->argument_count) return;
    for (int i = 0; i < configuration->argument_count; i++)
        configuration->arguments[i].written = block_of(written, i);
}
