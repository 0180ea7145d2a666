// Philox against the known answers that its authors publish (Random123, kat_vectors).
#include "gpu-runner/interp/philox.h"

#include "gpu-runner/interp/interp_random.h"
#include "tests/support/check.h"

static void check_32(const uint32_t counter[4], uint32_t key0, uint32_t key1,
                     const uint32_t expected[4]) {
    uint32_t words[4];
    memcpy(words, counter, sizeof words);
    philox_4x32(words, key0, key1, 10);
    for (int i = 0; i < 4; i++) CHECK_EQ_INT(words[i], expected[i]);
}

TEST(philox_4x32_known_answers) {
    const uint32_t zeros[4] = {0}, ones[4] = {~0u, ~0u, ~0u, ~0u};
    const uint32_t pi[4] = {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344};
    const uint32_t of_zeros[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    const uint32_t of_ones[4] = {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd};
    const uint32_t of_pi[4] = {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
    check_32(zeros, 0, 0, of_zeros);
    check_32(ones, ~0u, ~0u, of_ones);
    check_32(pi, 0xa4093822, 0x299f31d0, of_pi);
}

TEST(philox_4x64_known_answers) {
    uint64_t words[4] = {0};
    philox_4x64(words, 0, 0, 10);
    CHECK(words[0] == 0x16554d9eca36314c && words[1] == 0xdb20fe9d672d0fdc);
    CHECK(words[2] == 0xd7e772cee186176b && words[3] == 0x7e68b68aec7ba23b);
}

TEST(uniform_is_below_one) {
    CHECK_NEAR((double)philox_uniform32(0), 0.0, 0);
    CHECK_NEAR((double)philox_uniform32(UINT32_MAX), 0.0, 0);  // folded: ~(-1) is 0
    CHECK((double)philox_uniform32(0x7fffffff) < 1.0);
    CHECK((double)philox_uniform32(0x80000000) < 1.0);
    CHECK_NEAR((double)philox_uniform32(0x40000000), 0.5, 1e-7);
    CHECK((double)philox_uniform64(0x7fffffffffffffff) <= 1.0);
}

TEST_MAIN(TEST_ROW(philox_4x32_known_answers), TEST_ROW(philox_4x64_known_answers),
          TEST_ROW(uniform_is_below_one))
