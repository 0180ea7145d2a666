// Virtual buffers: repeatable contents, directions, and what the record of accesses finds.
#include "gpu-runner/interp/memory.h"

#include "tests/support/check.h"

static VirtualMemory *memory_with(Arena *arena, MemoryBuffer **buffer, DTypeCode dtype,
                                  ContentKind kind) {
    VirtualMemory *memory = memory_new(arena);
    *buffer =
        memory_add(memory, "X", dtype, (Content){.kind = kind, .seed = 7, .low = 2, .high = 9});
    memory->epoch = 1;
    return memory;
}

TEST(contents_are_functions_of_the_offset) {
    Arena *arena = arena_new();
    MemoryBuffer *a, *b;
    VirtualMemory *first = memory_with(arena, &a, DTYPE_FLOAT32, CONTENT_NORMAL);
    VirtualMemory *second = memory_with(arena, &b, DTYPE_FLOAT32, CONTENT_NORMAL);
    int64_t far = (int64_t)1 << 40;
    Element x, y;
    CHECK(memory_load(first, address_make(a->id, far), &x));
    CHECK(memory_load(second, address_make(b->id, far), &y));
    CHECK_NEAR(x.number, y.number, 0);
    CHECK(x.number > -1 && x.number < 1 && fabs(x.number) > 0);
    CHECK(memory_load(first, address_make(a->id, -5), &y));
    CHECK(fabs(x.number - y.number) > 0);
    MemoryBuffer *i;
    VirtualMemory *integers = memory_with(arena, &i, DTYPE_INT32, CONTENT_SMALL);
    for (int at = 0; at < 100; at++) {
        CHECK(memory_load(integers, address_make(i->id, at), &x));
        CHECK(x.integer >= 2 && x.integer < 9);
    }
    arena_free(arena);
}

TEST(elements_before_the_first_are_apart) {
    Arena *arena = arena_new();
    MemoryBuffer *buffer;
    VirtualMemory *memory = memory_with(arena, &buffer, DTYPE_FLOAT32, CONTENT_ZERO);
    for (int at = -130; at <= 130; at++)
        CHECK(memory_store(memory, address_make(1, at), (Element){.number = at + 0.5}));
    Element element;
    for (int at = -130; at <= 130; at++) {
        CHECK(memory_load(memory, address_make(1, at), &element));
        CHECK_NEAR(element.number, at + 0.5, 0);
    }
    Offsets written = {0};
    memory_touched(arena, buffer, true, &written);
    CHECK_EQ_INT(written.count, 261);
    for (int i = 0; i < written.count; i++) CHECK_EQ_INT(written.items[i], i - 130);
    arena_free(arena);
}

TEST(offset_lists_never_decrease) {
    const Content content = {.kind = CONTENT_MONOTONE, .seed = 3, .high = 19};
    CHECK_EQ_INT(content_integer(&content, 0), 0);
    for (int i = 0; i < 200; i++) {
        int64_t length = content_integer(&content, i + 1) - content_integer(&content, i);
        CHECK(length > 0 && length < 2 * 19);
    }
}

TEST(directions_move_contents) {
    Arena *arena = arena_new();
    MemoryBuffer *buffer;
    VirtualMemory *memory = memory_with(arena, &buffer, DTYPE_FLOAT32, CONTENT_NORMAL);
    buffer->direction = (Direction){
        .active = true, .is_single = true, .single = 3, .step = 0.5, .is_tangent = true};
    Element element;
    CHECK(memory_load(memory, address_make(1, 3), &element));
    CHECK_NEAR(element.number, content_number(&buffer->content, 3) + 0.5, 1e-15);
    CHECK_NEAR(element.tangent, 1, 0);
    CHECK(memory_load(memory, address_make(1, 4), &element));
    CHECK_NEAR(element.number, content_number(&buffer->content, 4), 0);
    CHECK_NEAR(element.tangent, 0, 0);
    arena_free(arena);
}

TEST(two_programs_may_not_store_one_element) {
    Arena *arena = arena_new();
    MemoryBuffer *buffer;
    VirtualMemory *memory = memory_with(arena, &buffer, DTYPE_FLOAT32, CONTENT_ZERO);
    memory_store(memory, address_make(1, 0), (Element){.number = 1});
    memory->program = 1;
    memory_store(memory, address_make(1, 1), (Element){.number = 1});
    memory_store(memory, address_make(1, 0), (Element){.number = 1});  // the same value: harmless
    CHECK_EQ_INT(memory->findings.count, 0);
    buffer->is_gradient = true;
    memory_store(memory, address_make(1, 0), (Element){.number = 1});
    memory->program = 0;
    memory_store(memory, address_make(1, 0), (Element){.number = 1});
    CHECK_EQ_INT(memory->findings.count, 1);
    CHECK(!memory->findings.items[0].is_certain);
    memory_store(memory, address_make(1, 1), (Element){.number = 2});
    CHECK_EQ_INT(memory->findings.count, 1);  // one per line, now certain
    CHECK(memory->findings.items[0].is_certain && memory->findings.items[0].kind == FINDING_RACE);
    arena_free(arena);
}

TEST(a_new_launch_forgets_writers) {
    Arena *arena = arena_new();
    MemoryBuffer *buffer;
    VirtualMemory *memory = memory_with(arena, &buffer, DTYPE_FLOAT32, CONTENT_ZERO);
    memory_store(memory, address_make(1, 0), (Element){.number = 1});
    memory->epoch = 2;
    memory->program = 5;
    memory_store(memory, address_make(1, 0), (Element){.number = 2});
    CHECK_EQ_INT(memory->findings.count, 0);
    CHECK_NEAR(memory_peek(memory, buffer, 0), 2, 0);
    arena_free(arena);
}

TEST(bad_accesses_are_reported) {
    Arena *arena = arena_new();
    MemoryBuffer *buffer;
    VirtualMemory *memory = memory_with(arena, &buffer, DTYPE_FLOAT32, CONTENT_ZERO);
    buffer->extent = 10;
    Element element;
    CHECK(memory_load(memory, address_make(1, 9), &element));
    CHECK_EQ_INT(memory->findings.count, 0);
    CHECK(memory_load(memory, address_make(1, 10), &element));
    CHECK_EQ_INT(memory->findings.count, 1);
    memory->line = 2;
    buffer->is_uninitialised = true;
    CHECK(memory_load(memory, address_make(1, 3), &element));
    CHECK_EQ_INT(memory->findings.items[1].kind, FINDING_UNINITIALISED_READ);
    memory->line = 3;
    memory_store(memory, address_make(1, 3), (Element){.poison = true});
    CHECK_EQ_INT(memory->findings.items[2].kind, FINDING_POISON);
    CHECK(!memory_load(memory, 12345, &element));  // an integer, no address
    arena_free(arena);
}

TEST(touched_elements_come_in_order) {
    Arena *arena = arena_new();
    MemoryBuffer *buffer;
    VirtualMemory *memory = memory_with(arena, &buffer, DTYPE_FLOAT32, CONTENT_ZERO);
    const int64_t offsets[] = {500, -3, 70, 71, 0};
    Element element;
    for (int i = 0; i < 5; i++) memory_load(memory, address_make(1, offsets[i]), &element);
    memory_store(memory, address_make(1, 9), element);
    memory_load(memory, address_make(1, 9), &element);  // its initial content was not read
    Offsets read = {0}, written = {0};
    memory_touched(arena, buffer, false, &read);
    memory_touched(arena, buffer, true, &written);
    const int64_t expected[] = {-3, 0, 70, 71, 500};
    CHECK_EQ_INT(read.count, 5);
    for (int i = 0; i < 5 && i < read.count; i++) CHECK_EQ_INT(read.items[i], expected[i]);
    CHECK_EQ_INT(written.count, 1);
    arena_free(arena);
}

TEST(storing_twice_without_reading_is_noted) {
    Arena *arena = arena_new();
    MemoryBuffer *buffer;
    VirtualMemory *memory = memory_with(arena, &buffer, DTYPE_FLOAT32, CONTENT_ZERO);
    Element element;
    memory_store(memory, address_make(1, 0), (Element){.number = 1});
    memory_load(memory, address_make(1, 0), &element);  // an update in place
    memory_store(memory, address_make(1, 0), (Element){.number = 2});
    CHECK(memory->overwritten == NULL);
    memory_store(memory, address_make(1, 0), (Element){.number = 2});  // the same value
    CHECK(memory->overwritten != NULL);
    arena_free(arena);
}

TEST(storing_what_another_program_has_read_is_noted) {
    Arena *arena = arena_new();
    MemoryBuffer *buffer;
    VirtualMemory *memory = memory_with(arena, &buffer, DTYPE_FLOAT32, CONTENT_ZERO);
    Element element;
    memory->program = 0;
    memory_load(memory, address_make(1, 0), &element);
    memory_store(memory, address_make(1, 0), (Element){.number = 1});  // its own
    memory_load(memory, address_make(1, 1), &element);
    memory->program = 1;
    memory_load(memory, address_make(1, 2), &element);
    CHECK(memory->overwritten == NULL);
    memory_store(memory, address_make(1, 1), (Element){.number = 2});
    CHECK(memory->overwritten != NULL);
    arena_free(arena);
}

TEST(a_copy_is_apart) {
    Arena *arena = arena_new();
    MemoryBuffer *buffer;
    VirtualMemory *memory = memory_with(arena, &buffer, DTYPE_FLOAT32, CONTENT_NORMAL);
    Element element;
    memory_load(memory, address_make(1, 3), &element);
    memory_store(memory, address_make(1, 4), (Element){.number = 5});
    memory_report(memory, FINDING_RACE, true, buffer, "first");
    VirtualMemory *copy = memory_copy(arena, memory);
    MemoryBuffer *copied = copy->buffers.items[0];
    CHECK_NEAR(memory_peek(copy, copied, 3), element.number, 0);
    CHECK_NEAR(memory_peek(copy, copied, 4), 5, 0);
    Offsets read = {0}, written = {0};
    memory_touched(arena, copied, false, &read);
    memory_touched(arena, copied, true, &written);
    CHECK_EQ_INT(read.count, 1);
    CHECK_EQ_INT(written.count, 1);
    memory_store(copy, address_make(1, 4), (Element){.number = 6});
    memory_report(copy, FINDING_POISON, true, copied, "second");
    memory_store(memory, address_make(1, 5), (Element){.number = 7});
    CHECK_NEAR(memory_peek(memory, buffer, 4), 5, 0);
    CHECK(!memory_is_written(copied, 5));
    CHECK(!memory_has_found(memory, FINDING_POISON));
    CHECK(memory_has_found(copy, FINDING_RACE) && memory_has_found(copy, FINDING_POISON));
    arena_free(arena);
}

TEST_MAIN(TEST_ROW(a_copy_is_apart), TEST_ROW(contents_are_functions_of_the_offset),
          TEST_ROW(elements_before_the_first_are_apart), TEST_ROW(offset_lists_never_decrease),
          TEST_ROW(directions_move_contents), TEST_ROW(two_programs_may_not_store_one_element),
          TEST_ROW(a_new_launch_forgets_writers), TEST_ROW(bad_accesses_are_reported),
          TEST_ROW(touched_elements_come_in_order),
          TEST_ROW(storing_twice_without_reading_is_noted),
          TEST_ROW(storing_what_another_program_has_read_is_noted))
