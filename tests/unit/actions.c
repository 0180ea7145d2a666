// Code actions on the kernels of tests/actions: what is offered equals the golden file beside each, and what an action leaves
// behind, analysed again, has the finding no more and no new error.
#include "codeactions/codeactions.h"

#include "server/report/diff.h"
#include "server/text/resolve.h"
#include "tests/support/check.h"
#include "tests/support/files.h"

#define FOLDER "tests/actions/"

static const char *const FILES[] = {"backward", "memory", "names",      "nested",
                                    "numerics", "tuning", "tuning_key", "types"};
enum { FILE_COUNT = sizeof FILES / sizeof *FILES };

typedef struct Fixture {
    Arena *arena;
    ImportResolver *resolver;
    SnapshotOptions options;
    Snapshot *snapshot;
    const char *name;
} Fixture;

static Fixture fixture_open(const char *name) {
    Fixture fixture = {.arena = arena_new(), .resolver = import_resolver_new(NULL), .name = name};
    fixture.options.resolver = import_resolver_interface(fixture.resolver);
    const char *path = arena_printf(fixture.arena, "%s.py", name);
    Str text = file_text(fixture.arena, arena_printf(fixture.arena, FOLDER "%s", path));
    fixture.snapshot = snapshot_build(path, text, &fixture.options);
    return fixture;
}

static void fixture_close(Fixture *fixture) {
    snapshot_release(fixture->snapshot);
    import_resolver_free(fixture->resolver);
    arena_free(fixture->arena);
}

static Actions offered(const Fixture *fixture, OfferKind kind) {
    uint32_t end = (uint32_t)fixture->snapshot->source->text.size;
    return actions_offer(fixture->arena, fixture->snapshot, 0, end, kind, NULL, NULL);
}

static ActionEdit applied(const Fixture *fixture, const Action *action) {
    return action_apply_offered(fixture->arena, fixture->snapshot, action);
}

/* ---- golden files ---- */

static bool is_head(Str line) {
    size_t digits = 0;
    while (digits < line.size && line.data[digits] >= '0' && line.data[digits] <= '9') digits++;
    return digits && str_starts((Str){line.data + digits, line.size - digits}, ": ");
}

/// Without the modules that are written: tests/test_actions.py holds these.
static const char *without_modules(Arena *arena, Str text) {
    Buffer out = buffer_new(arena);
    bool skips = false;
    for (size_t at = 0; at < text.size;) {
        const char *end = memchr(text.data + at, '\n', text.size - at);
        size_t size = end ? (size_t)(end - text.data) - at + 1 : text.size - at;
        Str line = {text.data + at, size};
        bool head = is_head(line);
        skips = (skips && !head) || (head && str_contains(line, STR(": backward-")));
        if (head || !skips) buffer_add(&out, line.data, line.size);
        at += size;
    }
    return str_dup(arena, str_trim(str_from(buffer_text(&out))));
}

static void show_edit(const Fixture *fixture, Buffer *out, const ActionEdit *edit) {
    const Source *source = fixture->snapshot->source;
    if (edit->refusal) buffer_printf(out, "    refused: %s\n", edit->refusal);
    if (edit->edits.count)
        buffer_puts(out, diff_unified(fixture->arena, source->path,
                                      str_dup(fixture->arena, source->text), source->path,
                                      edits_applied(fixture->arena, source->text, edit).data));
    for (LIST_EACH(int, i, edit->files))
        buffer_puts(out, diff_unified(fixture->arena, edit->files.items[i].path, NULL,
                                      edit->files.items[i].path, edit->files.items[i].text));
}

static const char *shown(const Fixture *fixture) {
    Buffer out = buffer_new(fixture->arena);
    Actions actions = offered(fixture, OFFER_EXACT);
    for (LIST_EACH(int, i, actions.list)) {
        const Action *action = &actions.list.items[i];
        if (action->id == ACTION_IGNORE) continue;
        buffer_printf(&out, "%d: %s: %s%s%s\n", range_line(action->range),
                      action_rows[action->id].name, action->title,
                      action->disabled ? "; not here: " : "",
                      action->disabled ? action->disabled : "");
        if (action->disabled) continue;
        ActionEdit edit = applied(fixture, action);
        show_edit(fixture, &out, &edit);
    }
    return buffer_text(&out);
}

TEST(offers_are_the_golden_ones) {
    for (int i = 0; i < FILE_COUNT; i++) {
        Fixture fixture = fixture_open(FILES[i]);
        const char *path = arena_printf(fixture.arena, FOLDER "%s.actions", FILES[i]);
        const char *golden = without_modules(fixture.arena, file_text(fixture.arena, path));
        const char *actual = without_modules(fixture.arena, str_from(shown(&fixture)));
        CHECK(actual[0] != '\0');
        if (strcmp(golden, actual) != 0) {
            check_fail(path, 0, "other actions are offered, or they make other edits");
            printf("%s", diff_unified(fixture.arena, path, golden, "offered", actual));
        }
        fixture_close(&fixture);
    }
}

/* ---- what an action leaves ---- */

/// Where the start of a range lies after the edits.
static uint32_t place_after(const ActionEdit *edit, uint32_t place) {
    int64_t moved = 0;
    for (LIST_EACH(int, i, edit->edits)) {
        const TextEdit *one = &edit->edits.items[i];
        if (one->range.end <= place)
            moved += (int64_t)strlen(one->text) - (one->range.end - one->range.start);
    }
    return (uint32_t)((int64_t)place + moved);
}

static bool is_found_at(const Snapshot *snapshot, DiagnosticId id, uint32_t place) {
    for (LIST_EACH(int, i, snapshot->diagnostics.list)) {
        const Diagnostic *diagnostic = &snapshot->diagnostics.list.items[i];
        if (diagnostic->id == id && diagnostic->range.start == place) return true;
    }
    return false;
}

static int errors_of(const Snapshot *snapshot) {
    int count = 0;
    for (LIST_EACH(int, i, snapshot->diagnostics.list))
        count += diagnostic_rows[snapshot->diagnostics.list.items[i].id].severity == SEVERITY_ERROR;
    return count;
}

static bool edits_are_in_order(const ActionEdit *edit) {
    for (int i = 0; i + 1 < edit->edits.count; i++)
        if (edit->edits.items[i].range.end > edit->edits.items[i + 1].range.start) return false;
    return true;
}

/// The text with the edit made, analysed again. The caller releases it.
static Snapshot *remade(const Fixture *fixture, const ActionEdit *edit) {
    const Source *source = fixture->snapshot->source;
    Str text = edits_applied(fixture->arena, source->text, edit);
    return snapshot_build(source->path, text, &fixture->options);
}

static void check_fix(const Fixture *fixture, const Action *action) {
    ActionEdit edit = applied(fixture, action);
    const char *name = action_rows[action->id].name;
    if (edit.refusal || edit.edits.count == 0 || !edits_are_in_order(&edit)) {
        check_fail(fixture->name, range_line(action->range), name);
        return;
    }
    Snapshot *after = remade(fixture, &edit);
    bool is_ignored = action->id == ACTION_IGNORE;  // what a comment suppresses is still found
    uint32_t place = place_after(&edit, action->diagnostic->range.start);
    bool is_gone = is_ignored || !is_found_at(after, action->diagnostic->id, place);
    if (!is_gone || errors_of(after) > errors_of(fixture->snapshot)) {
        check_fail(fixture->name, range_line(action->range), name);
        printf("  the finding %s\n", is_gone ? "is gone, and another came" : "is still there");
    }
    snapshot_release(after);
}

TEST(fixes_remove_what_they_are_for) {
    int fixes = 0;
    for (int i = 0; i < FILE_COUNT; i++) {
        Fixture fixture = fixture_open(FILES[i]);
        Actions actions = offered(&fixture, OFFER_EXACT);
        for (LIST_EACH(int, k, actions.list)) {
            const Action *action = &actions.list.items[k];
            if (!action->diagnostic || action->disabled) continue;
            check_fix(&fixture, action);
            fixes++;
        }
        fixture_close(&fixture);
    }
    CHECK(fixes >= 60);
}

/// A module beside the file, or a kernel and its Function below it.
TEST(written_backwards_are_without_errors) {
    int written = 0;
    for (int i = 0; i < FILE_COUNT; i++) {
        Fixture fixture = fixture_open(FILES[i]);
        Actions actions = offered(&fixture, OFFER_QUICK);
        for (LIST_EACH(int, k, actions.list)) {
            const Action *action = &actions.list.items[k];
            bool is_file = action->id == ACTION_BACKWARD_FILE;
            if ((!is_file && action->id != ACTION_BACKWARD_HERE) || action->disabled) continue;
            ActionEdit edit = applied(&fixture, action);
            if (edit.refusal) continue;
            CHECK_EQ_INT(edit.files.count, is_file);
            Snapshot *after =
                is_file ? snapshot_build(edit.files.items[0].path,
                                         str_from(edit.files.items[0].text), &fixture.options)
                        : remade(&fixture, &edit);
            CHECK(errors_of(after) <= errors_of(fixture.snapshot));
            CHECK(is_file || after->kernels.count >= fixture.snapshot->kernels.count);
            CHECK(str_contains(after->source->text, STR("_backward(")));
            snapshot_release(after);
            written++;
        }
        fixture_close(&fixture);
    }
    CHECK(written >= 20);
}

TEST(a_comment_ignores_a_finding_on_its_line) {
    Fixture fixture = fixture_open("memory");
    Actions actions = offered(&fixture, OFFER_EXACT);
    int ignored = 0;
    for (LIST_EACH(int, i, actions.list)) {
        const Action *action = &actions.list.items[i];
        if (action->id != ACTION_IGNORE) continue;
        ActionEdit edit = applied(&fixture, action);
        Str text = edits_applied(fixture.arena, fixture.snapshot->source->text, &edit);
        const char *name = diagnostic_rows[action->diagnostic->id].name;
        CHECK(strstr(text.data, arena_printf(fixture.arena, "# tad: ignore[%s]", name)) != NULL);
        ignored++;
    }
    CHECK(ignored > 5);
    fixture_close(&fixture);
}

TEST(all_safe_fixes_go_together) {
    int files = 0;
    for (int i = 0; i < FILE_COUNT; i++) {
        Fixture fixture = fixture_open(FILES[i]);
        ActionEdit edit = actions_fix_all(fixture.arena, fixture.snapshot, NULL, NULL);
        CHECK(edits_are_in_order(&edit));
        if (edit.edits.count) {
            Snapshot *after = remade(&fixture, &edit);
            CHECK(after->diagnostics.list.count < fixture.snapshot->diagnostics.list.count);
            CHECK(errors_of(after) <= errors_of(fixture.snapshot));
            ActionEdit again = actions_fix_all(fixture.arena, after, NULL, NULL);
            CHECK(again.edits.count < edit.edits.count);
            snapshot_release(after);
            files++;
        }
        fixture_close(&fixture);
    }
    CHECK(files >= 1);
}

/* ---- offers at a place ---- */

static const char *refuses(void *context, const Kernel *kernel) {
    (void)kernel;
    return context;
}

TEST(what_the_rules_refuse_is_shown_as_such) {
    Fixture fixture = fixture_open("backward");
    static char reason[] = "because of a rule";
    uint32_t end = (uint32_t)fixture.snapshot->source->text.size;
    Actions actions =
        actions_offer(fixture.arena, fixture.snapshot, 0, end, OFFER_QUICK, refuses, reason);
    int disabled = 0;
    for (LIST_EACH(int, i, actions.list)) {
        const Action *action = &actions.list.items[i];
        bool is_backward = action->id == ACTION_BACKWARD_FILE || action->id == ACTION_BACKWARD_HERE;
        if (!is_backward) continue;
        CHECK(action->disabled && strstr(action->disabled, reason));
        disabled++;
    }
    CHECK(disabled > 0);
    fixture_close(&fixture);
}

TEST(a_quick_offer_at_a_finding_has_what_the_exact_one_has) {
    for (int i = 0; i < FILE_COUNT; i++) {
        Fixture fixture = fixture_open(FILES[i]);
        Actions exact = offered(&fixture, OFFER_EXACT);
        for (LIST_EACH(int, k, exact.list)) {
            const Action *wanted = &exact.list.items[k];
            Actions quick = actions_offer(fixture.arena, fixture.snapshot, wanted->range.start,
                                          wanted->range.start, OFFER_QUICK, refuses, NULL);
            bool is_there = false;
            for (LIST_EACH(int, q, quick.list)) is_there |= quick.list.items[q].id == wanted->id;
            if (!is_there && wanted->diagnostic)
                check_fail(FILES[i], range_line(wanted->range), action_rows[wanted->id].name);
        }
        fixture_close(&fixture);
    }
}

TEST(a_backward_is_named_after_its_file) {
    Arena *arena = arena_new();
    CHECK_EQ_STR(backward_path(arena, "dir/softmax.py", NULL), "dir/softmax_backward.py");
    CHECK(strstr(backward_path(arena, "dir/softmax.py", "row_kernel"), "row_kernel") != NULL);
    arena_free(arena);
}

TEST_MAIN(TEST_ROW(offers_are_the_golden_ones), TEST_ROW(fixes_remove_what_they_are_for),
          TEST_ROW(written_backwards_are_without_errors),
          TEST_ROW(a_comment_ignores_a_finding_on_its_line), TEST_ROW(all_safe_fixes_go_together),
          TEST_ROW(what_the_rules_refuse_is_shown_as_such),
          TEST_ROW(a_quick_offer_at_a_finding_has_what_the_exact_one_has),
          TEST_ROW(a_backward_is_named_after_its_file))
