// Syntax trees: kinds, fields, children, walks, and that a re-parse after an edit gives what a fresh parse gives.
#include "analysis/syntax/syntax.h"
#include "analysis/syntax/split.h"
#include "analysis/syntax/syntax_nodes.h"
#include "tests/support/check.h"

TEST(kinds_and_fields) {
    Arena *arena = arena_new();
    const Source *source = source_new(arena, "", STR("def f(a, b=1):  # why\n    return a @ b\n"));
    SyntaxTree *tree = syntax_parse(source);
    SyntaxNode function = node_child(syntax_root(tree), 0);
    CHECK_EQ_INT(node_kind(function), SYNTAX_FUNCTION);
    CHECK_EQ_TEXT(node_text(source, node_field(function, "name")), "f");
    SyntaxNode *parameters;
    CHECK_EQ_INT(node_children(arena, node_field(function, "parameters"), &parameters), 2);
    CHECK_EQ_INT(node_kind(parameters[0]), SYNTAX_IDENTIFIER);
    CHECK_EQ_INT(node_kind(parameters[1]), SYNTAX_DEFAULT_PARAMETER);
    SyntaxNode *statements;
    CHECK_EQ_INT(node_children(arena, node_field(function, "body"), &statements), 1);
    SyntaxNode sum = node_child(statements[0], 0);
    CHECK_EQ_INT(node_kind(sum), SYNTAX_BINARY);
    CHECK_EQ_TEXT(node_text(source, node_field(sum, "operator")), "@");
    CHECK(node_is_null(node_field(sum, "condition")));
    CHECK(!node_has_error(syntax_root(tree)));
    syntax_free(tree);
    arena_free(arena);
}

TEST(null_nodes_are_harmless) {
    Arena *arena = arena_new();
    SyntaxNode null = {0};
    SyntaxNode *children;
    CHECK(node_is_null(null));
    CHECK_EQ_INT(node_kind(null), SYNTAX_OTHER);
    CHECK_EQ_INT(node_children(arena, null, &children), 0);
    CHECK(node_is_null(node_child(null, 0)));
    CHECK(node_is_null(node_field(null, "body")));
    CHECK(!node_has_error(null));
    arena_free(arena);
}

static bool count_identifiers(void *context, SyntaxNode node) {
    if (node_kind(node) == SYNTAX_IDENTIFIER) ++*(int *)context;
    return node_kind(node) != SYNTAX_LAMBDA;
}

TEST(walks_parents_first_and_prunes) {
    Arena *arena = arena_new();
    const Source *source = source_new(arena, "", STR("a + b(c, lambda d: e)\nf\n"));
    SyntaxTree *tree = syntax_parse(source);
    int count = 0;
    syntax_walk(syntax_root(tree), count_identifiers, &count);
    CHECK_EQ_INT(count, 4);
    syntax_free(tree);
    arena_free(arena);
}

typedef struct Shape {
    Buffer text;
    const Source *source;
} Shape;

static bool add_shape(void *context, SyntaxNode node) {
    Shape *shape = context;
    Range range = node_range(shape->source, node);
    buffer_printf(&shape->text, "%s %u-%u\n", node_kind_name(node), range.start, range.end);
    return true;
}

static const char *shape_of(Arena *arena, const Source *source, const SyntaxTree *tree) {
    Shape shape = {buffer_new(arena), source};
    syntax_walk(syntax_root(tree), add_shape, &shape);
    return buffer_text(&shape.text);
}

/// `tree` after an edit of its text, compared with one parsed anew.
static SyntaxTree *reparsed(Arena *arena, const SyntaxTree *tree, Edit edit, const Source *source) {
    SyntaxTree *again = syntax_reparse(tree, source, edit);
    SyntaxTree *fresh = syntax_parse(source);
    CHECK_EQ_STR(shape_of(arena, source, again), shape_of(arena, source, fresh));
    syntax_free(fresh);
    return again;
}

TEST(reparse_equals_parse) {
    Arena *arena = arena_new();
    static const char before[] =
        "import a\n@jit\ndef f(x):\n    y = x + 1\n    return y\nif f:\n  g(\nelse: h\n";
    static const char *const inserted[] = {"z\n    ",  "(",      "if x:\n        ",
                                           "# \n    ", "\"\"\"", ""};
    const Source *old = source_new(arena, "", str_from(before));
    SyntaxTree *old_tree = syntax_parse(old);
    for (size_t i = 0; i < sizeof inserted / sizeof *inserted; i++)
        for (uint32_t at = 0; at < sizeof before - 1; at++)
            for (uint32_t removed = 0; removed < 3 && at + removed < sizeof before; removed++) {
                const char *text = arena_printf(arena, "%.*s%s%s", (int)at, before, inserted[i],
                                                before + at + removed);
                const Source *source = source_new(arena, "", str_from(text));
                uint32_t end = at + (uint32_t)strlen(inserted[i]);
                SyntaxTree *once = reparsed(arena, old_tree, (Edit){at, at + removed, end}, source);
                // And back: from what the parser kept of the first edit.
                SyntaxTree *twice = reparsed(arena, once, (Edit){at, end, at + removed}, old);
                SyntaxTree *thrice = reparsed(arena, twice, (Edit){at, at + removed, end}, source);
                syntax_free(once);
                syntax_free(twice);
                syntax_free(thrice);
            }
    syntax_free(old_tree);
    arena_free(arena);
}

static const char *cuts_of(Arena *arena, const char *text) {
    Buffer cuts = buffer_new(arena);
    size_t at = 0;
    do {
        size_t end = split_next(str_from(text), at);
        buffer_printf(&cuts, "<%.*s>", (int)(end - at), text + at);
        at = end;
    } while (at < strlen(text));
    return buffer_text(&cuts);
}

TEST(cuts_only_between_top_level_statements) {
    Arena *arena = arena_new();
    static const char *const whole[][2] = {
        {"", "<>"},
        {"import a\nfrom b import c\n# c\nx\n", "<import a\nfrom b import c\n# c\n><x\n>"},
        {"# c\nx = 1\ny = 2\n", "<# c\nx = 1\n><y = 2\n>"},
        {"x = 1\n@a\n@b(\n1)\ndef f():\n  pass\n# c\ny = 2\n",
         "<x = 1\n><@a\n@b(\n1)\ndef f():\n  pass\n# c\n><y = 2\n>"},
        {"if a:\n  b\nelse:\n  c\nelsewhere = 1\n", "<if a:\n  b\nelse:\n  c\n><elsewhere = 1\n>"},
        {"x = \"\"\"\ndef f(): 'a\n\"\"\"\ndef g(): '\\\nx'\ny\n",
         "<x = \"\"\"\ndef f(): 'a\n\"\"\"\n><def g(): '\\\nx'\n><y\n>"},
        {"x = (a\n@ b\n@c)\ndef g(): 0\n", "<x = (a\n@ b\n@c)\n><def g(): 0\n>"},
        {"x = y + \\\nz\nclass A: 0\n", "<x = y + \\\nz\n><class A: 0\n>"},
        // Never closed: the next definition is one all the same.
        {"def f(:\n  x = (\n@jit\ndef g(): 0\n", "<def f(:\n  x = (\n><@jit\ndef g(): 0\n>"},
        {"f(\nfrom a.b import c\n", "<f(\n><from a.b import c\n>"},
        {"s = 'a\ndef g(): 0\n", "<s = 'a\n><def g(): 0\n>"},
    };
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        CHECK_EQ_STR(cuts_of(arena, whole[i][0]), whole[i][1]);
    arena_free(arena);
}

static bool count_comments(void *context, SyntaxNode node) {
    if (node_kind(node) == SYNTAX_COMMENT) ++*(int *)context;
    return true;
}

/// How many comments the text has for the parser, whose statements must be those of `bare`, the text without them.
static int comments_in(Arena *arena, const char *text, const char *bare) {
    SyntaxTree *tree = syntax_parse(source_new(arena, "", str_from(text)));
    SyntaxTree *expected = syntax_parse(source_new(arena, "", str_from(bare)));
    SyntaxNode *statements, *wanted;
    int count = node_children(arena, syntax_root(tree), &statements), comments = 0;
    CHECK_EQ_INT(count, node_children(arena, syntax_root(expected), &wanted));
    CHECK(!node_has_error(syntax_root(tree)));
    for (int i = 0; i < count; i++) CHECK_EQ_INT(node_kind(statements[i]), node_kind(wanted[i]));
    syntax_walk(syntax_root(tree), count_comments, &comments);
    syntax_free(tree);
    syntax_free(expected);
    return comments;
}

static const char *times(Arena *arena, int count, const char *text) {
    Buffer all = buffer_new(arena);
    for (int i = 0; i < count; i++) buffer_puts(&all, text);
    return buffer_text(&all);
}

TEST(long_runs_of_comments_are_few_nodes) {
    Arena *arena = arena_new();
    static const char *const lines[] = {"# c\n", "    # c \"\"\" it's\r\n", "# c\n\n \n"};
    for (size_t i = 0; i < 2 * sizeof lines / sizeof *lines; i++) {
        bool is_few = i % 2;
        const char *run = times(arena, is_few ? 12 : 3000, lines[i / 2]);
        const char *text = arena_printf(arena, "def f():\n    a\n%s    b\n%sc\n", run, run);
        int comments = comments_in(arena, text, "def f():\n    a\n    b\nc\n");
        CHECK(is_few ? comments == 24 : comments < 200);
    }
    arena_free(arena);
}

TEST(lines_of_strings_are_no_comments) {
    Arena *arena = arena_new();
    const char *run = times(arena, 100, "# c\n"), *joined = times(arena, 100, "# c\\\n");
    const char *text =
        arena_printf(arena, "s = '''\n%s# '''\n%st = '\\\n%s#'\nu\n", run, run, joined);
    CHECK(comments_in(arena, text, "s = ''\nt = ''\nu\n") < 40);
    arena_free(arena);
}

/// What has many children is asked by a table; each answer is that of one pass over them.
TEST(many_children) {
    Arena *arena = arena_new();
    for (int count = 60; count < 70; count++) {
        const char *items = times(arena, count, "a, # c\n");
        const char *text =
            arena_printf(arena, "f(%s b, c=1)\nx = a%s\n", items, times(arena, count, " < a"));
        const Source *source = source_new(arena, "", str_from(text));
        SyntaxTree *tree = syntax_parse(source);
        SyntaxNode call = node_child(node_child(syntax_root(tree), 0), 0);
        SyntaxNode chain = node_field(node_child(node_child(syntax_root(tree), 1), 0), "right");
        SyntaxNode wides[] = {node_field(call, "arguments"), chain};
        CHECK_EQ_INT((int)node_child_count(wides[0]), 2 * count + 2);
        CHECK_EQ_INT((int)node_child_count(chain), count + 1);
        for (int w = 0; w < 2; w++) {
            SyntaxNode *all;
            int number = node_all_children(arena, wides[w], &all), named = 0;
            CHECK_EQ_INT((int)node_all_child_count(wides[w]), number);
            for (int i = 0; i < number; i++) {
                Range range = node_range(source, all[i]);
                CHECK(node_all_child(wides[w], (uint32_t)i).id == all[i].id);
                bool is_named = node_child(wides[w], (uint32_t)named).id == all[i].id;
                if (is_named)
                    CHECK(node_at(syntax_root(tree), range.start, range.end).id == all[i].id ||
                          node_kind(all[i]) == SYNTAX_KEYWORD_ARGUMENT);
                named += is_named;
            }
            CHECK_EQ_INT((int)node_child_count(wides[w]), named);
            CHECK(node_is_null(node_all_child(wides[w], (uint32_t)number)));
            CHECK(node_is_null(node_child(wides[w], (uint32_t)named)));
            CHECK(node_is_null(node_field(wides[w], "body")));
        }
        CHECK_EQ_TEXT(node_text(source, node_field(chain, "operators")), "<");
        syntax_free(tree);
    }
    arena_free(arena);
}

TEST_MAIN(TEST_ROW(many_children), TEST_ROW(long_runs_of_comments_are_few_nodes),
          TEST_ROW(lines_of_strings_are_no_comments),
          TEST_ROW(cuts_only_between_top_level_statements), TEST_ROW(kinds_and_fields),
          TEST_ROW(null_nodes_are_harmless), TEST_ROW(walks_parents_first_and_prunes),
          TEST_ROW(reparse_equals_parse))
