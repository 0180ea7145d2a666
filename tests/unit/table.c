// The operation table itself: every row documented, with exactly one derivative declaration, and parameters that parse.
#include "analysis/ops/op.h"
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"

static bool fails(const OpRow *row, const char *what) {
    printf("  %s: %s\n", row->id, what);
    return false;
}

static int derivative_declarations(const OpRow *row) {
    return (row->gradient != NULL) + row->gradient_none + (row->gradient_unsupported != NULL) +
           row->gradient_special;
}

static bool row_is_complete(const OpRow *row) {
    if (!row->doc || strlen(row->doc) < 10) return fails(row, "no help");
    if (row->doc[strlen(row->doc) - 1] != '.') return fails(row, "help is a sentence");
    // an older release's name may stand for what there is today
    if (row->kind == KIND_EXPANDS || (row->kind == KIND_REMOVED && row->expands)) {
        if (!row->expands || !strstr(row->expands, "return ")) return fails(row, "no body");
        if (derivative_declarations(row) != 0) return fails(row, "a derivative besides its body");
    } else if (derivative_declarations(row) != 1) {
        return fails(row, "needs exactly one derivative declaration");
    }
    if (row->kind != KIND_EXPANDS && row->kind != KIND_REMOVED && row->expands)
        return fails(row, "a body without KIND(EXPANDS)");
    if (row->kind == KIND_REMOVED && (!row->instead || !row->until))
        return fails(row, "what to use instead, since when");
    if (row->symbol && !row->precedence) return fails(row, "an operator without precedence");
    return true;
}

TEST(every_row_is_complete) {
    for (int code = 0; code < OP_COUNT; code++) CHECK(row_is_complete(&op_rows[code]));
}

/// Each line of GRAD names a parameter and has an expression with grad in it.
static bool gradient_is_well_formed(OpCode code) {
    const OpRow *row = &op_rows[code];
    for (const char *line = row->gradient; line && *line;) {
        size_t size = strcspn(line, "\n");
        Str text = {line, size};
        const char *colon = memchr(line, ':', size);
        if (!colon) return fails(row, "a line without a colon");
        if (op_parameter_index(code, str_trim((Str){line, (size_t)(colon - line)})) < 0)
            return fails(row, "a line for no parameter");
        Str expression = str_trim((Str){colon + 1, (size_t)(text.data + text.size - colon - 1)});
        char *copy = strndup(expression.data, expression.size);
        bool mentions_grad = strstr(copy, "grad") != NULL;
        free(copy);
        if (!mentions_grad) return fails(row, "a rule without grad");
        line += size + (line[size] == '\n');
    }
    return true;
}

TEST(rules_name_their_parameters) {
    for (int code = 0; code < OP_COUNT; code++) CHECK(gradient_is_well_formed((OpCode)code));
}

static bool parameters_parse(OpCode code) {
    const OpRow *row = &op_rows[code];
    int count;
    const OpParameter *parameters = op_parameters(code, &count);
    bool optional = false;
    for (int i = 0; i < count; i++) {
        Str name = parameters[i].name;
        if (name.size == 0) return fails(row, "a parameter without a name");
        for (size_t k = 0; k < name.size; k++) {
            char c = name.data[k];
            bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') || c == '_';
            if (!is_word && !(parameters[i].is_variadic && c == '*'))
                return fails(row, "a parameter that is no name");
        }
        if (op_parameter_index(code, name) != i) return fails(row, "a parameter twice");
        bool has_default = parameters[i].default_text.size > 0;
        if (optional && !has_default && !parameters[i].is_keyword_only &&
            !parameters[i].is_variadic)
            return fails(row, "a required parameter after an optional one");
        optional = optional || has_default;
    }
    return true;
}

TEST(parameters_of_every_row_parse) {
    for (int code = 0; code < OP_COUNT; code++) CHECK(parameters_parse((OpCode)code));
    int count;
    const OpParameter *parameters = op_parameters(OP_RESHAPE, &count);
    CHECK_EQ_INT(count, 3);
    CHECK(parameters[1].is_variadic && parameters[2].is_keyword_only);
    CHECK_EQ_TEXT(parameters[2].default_text, "False");
    parameters = op_parameters(OP_LOAD, &count);
    CHECK_EQ_INT(count, 8);
    CHECK_EQ_TEXT(parameters[3].default_text, "()");
    CHECK_EQ_INT(op_parameter_index(OP_LOAD, STR("volatile")), 7);
    CHECK_EQ_INT(op_parameter_index(OP_LOAD, STR("nothing")), -1);
}

/// Every spelling leads back to its own row, so none is taken twice.
static bool spellings_lead_back(OpCode code, const char *list, bool is_method) {
    for (const char *at = list; at && *at;) {
        size_t size = strcspn(at, ", ");
        Str name = {at, size};
        if (size && (is_method ? op_find_method(name) : op_find(name)) != code)
            return fails(&op_rows[code], at);
        at += size;
        at += strspn(at, ", ");
    }
    return true;
}

TEST(spellings_are_unique) {
    for (int code = 0; code < OP_COUNT; code++) {
        CHECK(spellings_lead_back((OpCode)code, op_rows[code].name, false));
        CHECK(spellings_lead_back((OpCode)code, op_rows[code].aliases, false));
        CHECK(spellings_lead_back((OpCode)code, op_rows[code].method, true));
    }
}

TEST(names_are_found_as_they_are_written) {
    CHECK_EQ_INT(op_find(STR("exp")), OP_EXP);
    CHECK_EQ_INT(op_find(STR("math.exp")), OP_EXP);
    CHECK_EQ_INT(op_find(STR("core.load")), OP_LOAD);
    CHECK_EQ_INT(op_find(STR("standard.sum")), OP_SUM);
    CHECK_EQ_INT(op_find(STR("extra.libdevice.tanh")), OP_TANH);
    CHECK_EQ_INT(op_find(STR("extra.cuda.libdevice.tanh")), OP_TANH);
    CHECK_EQ_INT(op_find(STR("extra.cuda.num_warps")), OP_NUM_WARPS);
    CHECK_EQ_INT(op_find(STR("tanh")), OP_COUNT);  // tl.tanh does not exist
    CHECK_EQ_INT(op_find(STR("")), OP_COUNT);
    CHECK_EQ_INT(op_find_method(STR("to")), OP_CAST);
    CHECK_EQ_INT(op_find_method(STR("descriptor.load")), OP_DESCRIPTOR_LOAD);
    CHECK_EQ_INT(op_find_method(STR("tanh")), OP_COUNT);
    CHECK_EQ_STR(op_suggest(STR("maximun")), "maximum");
    CHECK_EQ_STR(op_suggest(STR("loa")), "load");  // and not "log"
    CHECK_EQ_STR(op_suggest(STR("tanh")), "libdevice.tanh");
    CHECK_EQ_STR(op_suggest(STR("zzzzzzzz")), NULL);
}

TEST_MAIN(TEST_ROW(every_row_is_complete), TEST_ROW(rules_name_their_parameters),
          TEST_ROW(parameters_of_every_row_parse), TEST_ROW(spellings_are_unique),
          TEST_ROW(names_are_found_as_they_are_written))
