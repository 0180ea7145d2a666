// Casts and changes of shape are looked through: they say how a kernel is written, not what it computes. Numbers and indices are told
// apart by their types.
#include "server/retrieval/structure.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/addresses/affine.h"

typedef enum TraitKind {
#define TRAIT_KIND(id, name, weight) TRAIT_##id##_KIND,
#define TRAIT_CLASS(id, name)
#define TRAIT_MEMBER(operation, class)
#include "server/retrieval/traits.def"
#undef TRAIT_KIND
#undef TRAIT_CLASS
    TRAIT_KIND_COUNT
} TraitKind;

typedef enum TraitClass {
#define TRAIT_KIND(id, name, weight)
#define TRAIT_CLASS(id, name) CLASS_OF_##id,
#include "server/retrieval/traits.def"
#undef TRAIT_KIND
#undef TRAIT_CLASS
    TRAIT_CLASS_COUNT
} TraitClass;

/// A set of classes, a bit each.
typedef uint32_t Classes;
#define CLASS(id) ((Classes)1 << CLASS_OF_##id)

static const struct {
    const char *name;
    double weight;
} kinds[] = {
#define TRAIT_KIND(id, name, weight) {name, weight},
#define TRAIT_CLASS(id, name)
#include "server/retrieval/traits.def"
#undef TRAIT_KIND
#undef TRAIT_CLASS
};

static const char *const class_names[] = {
#define TRAIT_KIND(id, name, weight)
#define TRAIT_CLASS(id, name) name,
#include "server/retrieval/traits.def"
#undef TRAIT_CLASS
#undef TRAIT_MEMBER
};

static const struct {
    OpCode code;
    Classes class;
} members[] = {
#define TRAIT_CLASS(id, name)
#define TRAIT_MEMBER(operation, class) {OP_##operation, CLASS(class)},
#include "server/retrieval/traits.def"
#undef TRAIT_KIND
#undef TRAIT_CLASS
#undef TRAIT_MEMBER
};

#define COUNT_POWER 0.75  // what is there often counts more, by far not as often
enum {
    DEEPEST = 3,         // loops in each other that are told apart
    MOST_LOOKED = 2000,  // values that one address is followed through
};

/// One trait while it is counted.
typedef struct Tally {
    TraitKind kind;
    const char *text;
    int count;
} Tally;

typedef struct Survey {
    Arena *arena;
    Map tallies;  // by text
    Map above;    // value -> Classes * of what it is made of
    bool has_changed;
    Classes whole;
    LIST(Tally *) list;
    int loads, stores, atomics, products, loops, most_depth, most_rank;
} Survey;

static void tally(Survey *survey, TraitKind kind, const char *text) {
    const char *key = arena_printf(survey->arena, "%s %s", kinds[kind].name, text);
    Tally *known = map_get(&survey->tallies, str_from(key));
    if (!known) {
        known = ARENA_NEW(survey->arena, Tally);
        *known = (Tally){.kind = kind, .text = key};
        map_set(&survey->tallies, str_from(key), known);
        LIST_PUSH(survey->arena, &survey->list, known);
    }
    known->count++;
}

// --- what a value is

/// Whether the value is data rather than an index, an address or a truth.
static bool is_data(const Value *value) {
    return value->type.kind == TYPE_NUMBER && !value->type.is_constexpr &&
           !dtype_is_integer(value->type.element);
}

static bool looks_through(const Op *op) {
    return op->code == OP_CAST || (op_rows[op->code].traits & TRAIT_LAYOUT) ||
           op->code == OP_BROADCAST || op->code == OP_BROADCAST_TO || op->code == OP_EXPAND_DIMS ||
           op_rows[op->code].kind == KIND_HINT;
}

static const Value *looked_through(const Value *value) {
    for (int i = 0; i < MOST_LOOKED && value->op && looks_through(value->op); i++) {
        if (!value->op->operand_count || !value->op->operands[0]) break;
        value = value->op->operands[0];
    }
    return value;
}

/// What stands for the maker of a value in a trait.
static const char *maker(const Value *value) {
    if (value->constant) return "number";
    if (value->op) return op_rows[value->op->code].id;
    if (!value->region || !value->region->parent) return "parameter";
    return value_is_loop_variable(value) ? "iteration" : "carried";
}

static int loop_depth(const Op *op) {
    int depth = 0;
    for (const Region *region = op->parent; region && region->parent;
         region = region->parent->parent)
        depth += (op_rows[region->parent->code].traits & TRAIT_LOOP) != 0;
    return depth < DEEPEST ? depth : DEEPEST;
}

/// What an address comes from.
typedef enum AddressSource {
    FROM_PROGRAM = 1,
    FROM_LANES = 2,
    FROM_ITERATION = 4,
    FROM_CARRIED = 8,
    FROM_MEMORY = 16,
    FROM_DIVISION = 32,
    FROM_TABLE = 64,  // a tile of indices in memory
} AddressSource;

// --- classes

static bool is_product(const Op *op) {
    if (op->code != OP_SUM || !op->operands[0] || op->operands[0]->type.rank < 2) return false;
    const Value *summed = looked_through(op->operands[0]);
    return summed->op && summed->op->code == OP_MUL && summed->op->operands[0] &&
           looked_through(summed->op->operands[0]) != looked_through(summed->op->operands[1]);
}

/// What the operation does itself.
static Classes own_classes(const Op *op) {
    Classes classes = 0;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (members[i].code == op->code) classes |= members[i].class;
    if (op->code == OP_MUL && op->operands[0] && op->operands[1] &&
        looked_through(op->operands[0]) == looked_through(op->operands[1]))
        classes = CLASS(SQUARE);
    if (is_product(op)) classes |= CLASS(PRODUCT);
    if ((op_rows[op->code].traits & TRAIT_COMPARES) && op->operands[0] && is_data(op->operands[0]))
        classes |= CLASS(COMPARISON);
    if (op->code == OP_CAST && op->operands[0] && !is_data(op->operands[0]) && op->result_count &&
        is_data(op->results[0]))
        classes |= CLASS(INTEGER);
    return classes;
}

static Classes above(const Survey *survey, const Value *value) {
    const Classes *known = value ? map_get_pointer(&survey->above, value) : NULL;
    return known ? *known : 0;
}

static void note_above(Survey *survey, const Value *value, Classes classes) {
    Classes *known = map_get_pointer(&survey->above, value);
    if (!known) {
        known = ARENA_NEW(survey->arena, Classes);
        map_set_pointer(&survey->above, value, known);
    }
    if ((*known | classes) == *known) return;
    *known |= classes;
    survey->has_changed = true;
}

static int address_sources(Survey *survey, const Value *address);

static bool climb(void *context, Op *op) {
    Survey *survey = context;
    Classes classes = own_classes(op);
    if (op_is_access(op)) {
        // Of a load the address counts as far as it comes from memory itself.
        if (op->result_count && (address_sources(survey, op->operands[0]) & FROM_TABLE))
            classes |= CLASS(GATHER);
    } else {
        for (int i = 0; i < op->operand_count; i++)
            if (op->operands[i] && (is_data(op->operands[i]) || op->code == OP_WHERE ||
                                    op_rows[op->code].kind == KIND_STRUCTURAL ||
                                    (op_rows[op->code].traits & TRAIT_LOGICAL)))
                classes |= above(survey, op->operands[i]);
    }
    bool loops = op_rows[op->code].traits & TRAIT_LOOP;
    for (int i = 0; i < op->result_count && !op->region_count; i++)
        note_above(survey, op->results[i], classes);
    for (int r = 0; r < op->region_count; r++) {
        const Op *end = region_terminator(op->regions[r]);
        if (!end || end->code != OP_YIELD) continue;
        const Region *region = op->regions[r];
        int skipped = loops ? region->argument_count - end->operand_count : 0;
        int given = op->operand_count - end->operand_count;
        for (int i = 0; i < end->operand_count; i++) {
            Classes next = above(survey, end->operands[i]);
            if (loops && given >= 0 && op->operands[given + i])
                next |= above(survey, op->operands[given + i]);
            if (i < op->result_count) note_above(survey, op->results[i], next);
            if (loops && skipped >= 0 && skipped + i < region->argument_count)
                note_above(survey, region->arguments[skipped + i], next | CLASS(CARRIED));
        }
    }
    return true;
}

static const char *classes_text(Survey *survey, Classes classes) {
    Buffer out = buffer_new(survey->arena);
    for (int i = 0; i < TRAIT_CLASS_COUNT; i++)
        if (classes & (Classes)1 << i) buffer_printf(&out, " %s", class_names[i]);
    return buffer_text(&out);
}

enum { PLAIN = CLASS(ADDITION) | CLASS(SCALING) };  // too common to tell anything

static void survey_reach(Survey *survey, const Op *op) {
    Classes own = own_classes(op), from = 0;
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i]) from |= above(survey, op->operands[i]);
    survey->whole |= own;
    for (int c = 0; c < TRAIT_CLASS_COUNT; c++) {
        if (!(own & ~(Classes)PLAIN & (Classes)1 << c)) continue;
        for (int a = 0; a < TRAIT_CLASS_COUNT; a++)
            if (from & ~(Classes)PLAIN & (Classes)1 << a)
                tally(survey, TRAIT_REACH_KIND,
                      arena_printf(survey->arena, "%s to %s", class_names[a], class_names[c]));
    }
    bool stores = op_rows[op->code].effects & EFFECT_WRITES;
    if (!stores || op->operand_count < 2 || !op->operands[1] || !is_data(op->operands[1])) return;
    Classes made = above(survey, op->operands[1]);
    tally(survey, TRAIT_RESULT_KIND,
          arena_printf(survey->arena, "is%s", classes_text(survey, made & ~(Classes)PLAIN)));
    for (int a = 0; a < TRAIT_CLASS_COUNT; a++)
        if (made & (Classes)1 << a)
            tally(survey, TRAIT_RESULT_KIND, arena_printf(survey->arena, "has %s", class_names[a]));
}

/// What a loop makes the next state of a carried value with, other carried values not followed.
static void survey_carried(Survey *survey, const Op *loop) {
    if (!loop->region_count) return;
    const Region *body = loop->regions[loop->region_count - 1];
    const Op *end = region_terminator(body);
    for (int i = 0; end && i < end->operand_count; i++) {
        if (!end->operands[i] || !is_data(end->operands[i])) continue;
        Map seen = map_new(survey->arena);
        LIST(const Value *) open = {0};
        LIST_PUSH(survey->arena, &open, end->operands[i]);
        Classes classes = 0;
        for (int k = 0; k < open.count && open.count < MOST_LOOKED; k++) {
            const Value *value = open.items[k];
            if (map_has_pointer(&seen, value)) continue;
            map_set_pointer(&seen, value, survey);
            if (!value->op || op_is_access(value->op) || !region_defines(body, value)) continue;
            classes |= own_classes(value->op);
            for (int o = 0; o < value->op->operand_count; o++)
                if (value->op->operands[o] && is_data(value->op->operands[o]))
                    LIST_PUSH(survey->arena, &open, value->op->operands[o]);
        }
        tally(survey, TRAIT_CARRY_KIND,
              arena_printf(survey->arena, "rank %d by%s", end->operands[i]->type.rank,
                           classes_text(survey, classes)));
    }
}

// --- accesses

typedef struct AddressSearch {
    Map seen;
    LIST(const Value *) open;
    int found;
} AddressSearch;

static void look(Survey *survey, AddressSearch *search, const Value *value) {
    if (!value || map_has_pointer(&search->seen, value) || search->open.count >= MOST_LOOKED)
        return;
    map_set_pointer(&search->seen, value, search);
    LIST_PUSH(survey->arena, &search->open, value);
}

static int address_sources(Survey *survey, const Value *address) {
    AddressSearch search = {.seen = map_new(survey->arena)};
    look(survey, &search, address);
    for (int i = 0; i < search.open.count; i++) {
        const Value *value = search.open.items[i];
        if (!value->op) {
            if (value->region && value->region->parent)
                search.found |= value_is_loop_variable(value) ? FROM_ITERATION : FROM_CARRIED;
            continue;
        }
        const Op *op = value->op;
        if (op->code == OP_PROGRAM_ID) search.found |= FROM_PROGRAM;
        if (op->code == OP_ARANGE || op->code == OP_MAKE_BLOCK_POINTER) search.found |= FROM_LANES;
        if (op->code == OP_MOD || op->code == OP_FLOORDIV) search.found |= FROM_DIVISION;
        if (op_is_access(op)) {
            search.found |= value->type.rank > 0 ? FROM_TABLE : FROM_MEMORY;
            continue;
        }
        for (int k = 0; k < op->operand_count; k++) look(survey, &search, op->operands[k]);
    }
    return search.found;
}

static void survey_access(Survey *survey, const Op *op) {
    static const char *const names[] = {"program", "lanes",    "iteration", "carried",
                                        "memory",  "division", "table"};
    int effects = op_rows[op->code].effects;
    bool writes = effects & EFFECT_WRITES, reads = effects & EFFECT_READS;
    const char *what = writes && reads ? "update" : writes ? "store" : "load";
    survey->atomics += writes && reads;
    survey->stores += writes && !reads;
    survey->loads += reads && !writes;
    const Value *told = writes && op->operand_count > 1 && op->operands[1] ? op->operands[1]
                        : op->result_count                                 ? op->results[0]
                                                                           : op->operands[0];
    Buffer text = buffer_new(survey->arena);
    buffer_printf(&text, "%s of %s, rank %d", what, is_data(told) ? "data" : "indices",
                  told->type.rank);
    tally(survey, TRAIT_ACCESS_KIND, arena_strdup(survey->arena, buffer_text(&text)));
    int sources = address_sources(survey, op->operands[0]);
    buffer_puts(&text, " at");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (sources & 1 << i) buffer_printf(&text, " %s", names[i]);
    tally(survey, TRAIT_ACCESS_KIND, arena_strdup(survey->arena, buffer_text(&text)));
    buffer_printf(&text, ", in %d loops", loop_depth(op));
    tally(survey, TRAIT_ACCESS_KIND, arena_strdup(survey->arena, buffer_text(&text)));
}

// --- operations

static void survey_loop(Survey *survey, const Op *op) {
    int depth = loop_depth(op), tiles = 0, numbers = 0, indices = 0;
    survey->loops++;
    if (depth + 1 > survey->most_depth) survey->most_depth = depth + 1;
    for (int i = 0; i < op->result_count; i++) {
        const Value *value = op->results[i];
        if (!is_data(value))
            indices++;
        else if (value->type.rank > 0)
            tiles++;
        else
            numbers++;
    }
    const char *kind = op->code == OP_WHILE ? "while" : "for";
    tally(survey, TRAIT_LOOP_KIND, arena_printf(survey->arena, "%s at depth %d", kind, depth));
    tally(survey, TRAIT_LOOP_KIND,
          arena_printf(survey->arena, "%s carries %d tiles and %d numbers", kind, tiles, numbers));
    if (indices)
        tally(survey, TRAIT_LOOP_KIND, arena_printf(survey->arena, "%s carries addresses", kind));
}

/// How an operation is called: reductions with the ranks of what they reduce.
static const char *op_label(Survey *survey, const Op *op) {
    const char *id = op_rows[op->code].id;
    bool reduces = op_rows[op->code].shape == SHAPE_REDUCED && op->operand_count && op->operands[0];
    if (!reduces || !op->result_count) return id;
    return arena_printf(survey->arena, "%s %d to %d", id, op->operands[0]->type.rank,
                        op->results[0]->type.rank);
}

static int compare_texts(const void *left, const void *right) {
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/// The makers of an operation's operands, in an order of their own.
static void survey_tree(Survey *survey, const Op *op, const char *label) {
    enum { MOST_SHOWN = 4 };
    const char *makers[MOST_SHOWN];
    int count = 0;
    for (int i = 0; i < op->operand_count && count < MOST_SHOWN; i++) {
        if (!op->operands[i]) continue;
        const Value *from = looked_through(op->operands[i]);
        if (is_data(from) || from->constant) makers[count++] = maker(from);
    }
    if (count < 2) return;
    qsort(makers, (size_t)count, sizeof *makers, compare_texts);
    Buffer text = buffer_new(survey->arena);
    buffer_printf(&text, "%s of", label);
    for (int i = 0; i < count; i++) buffer_printf(&text, " %s", makers[i]);
    tally(survey, TRAIT_TREE_KIND, arena_strdup(survey->arena, buffer_text(&text)));
}

static void survey_steps(Survey *survey, const Op *op, const char *label) {
    for (int i = 0; i < op->operand_count; i++) {
        if (!op->operands[i]) continue;
        const Value *from = looked_through(op->operands[i]);
        if (!is_data(from) && !(from->constant && op->result_count && is_data(op->results[0])))
            continue;
        tally(survey, TRAIT_STEP_KIND, arena_printf(survey->arena, "%s of %s", label, maker(from)));
        if (!from->op) continue;
        for (int k = 0; k < from->op->operand_count; k++) {
            if (!from->op->operands[k]) continue;
            const Value *first = looked_through(from->op->operands[k]);
            if (!is_data(first)) continue;
            tally(survey, TRAIT_WAY_KIND,
                  arena_printf(survey->arena, "%s of %s of %s", label, maker(from), maker(first)));
        }
    }
}

static bool survey_op(void *context, Op *op) {
    Survey *survey = context;
    const OpRow *row = &op_rows[op->code];
    if (row->traits & TRAIT_LOOP) {
        survey_loop(survey, op);
        survey_carried(survey, op);
    }
    survey_reach(survey, op);
    if (op_is_access(op)) survey_access(survey, op);
    if (looks_through(op) || op->code == OP_CONSTANT || op->code == OP_YIELD) return true;
    const Value *result = op->result_count ? op->results[0] : NULL;
    if (result && result->type.kind == TYPE_NUMBER && result->type.rank > survey->most_rank)
        survey->most_rank = result->type.rank;
    if (row->kind == KIND_STRUCTURAL) return true;
    const char *label = op_label(survey, op);
    bool stores = row->effects & EFFECT_WRITES;
    survey->products += op->code == OP_DOT;
    if (result && !is_data(result) && !stores) {
        if (!op_is_access(op)) tally(survey, TRAIT_INDEX_KIND, label);
        return true;
    }
    tally(survey, TRAIT_OPERATION_KIND, label);
    tally(survey, TRAIT_OPERATION_KIND,
          arena_printf(survey->arena, "%s in %d loops, rank %d", label, loop_depth(op),
                       result ? result->type.rank : 0));
    survey_steps(survey, op, label);
    if (!op_is_access(op)) survey_tree(survey, op, label);
    return true;
}

// --- the whole

/// 0, 1, 2, 3, 4-5, 6-8, ...
static int bucket(int count) { return count < 4 ? count : (int)(log2(count) * 2); }

static void survey_whole(Survey *survey) {
    const struct {
        const char *name;
        int count;
    } wholes[] = {
        {"loads", survey->loads},       {"stores", survey->stores}, {"updates", survey->atomics},
        {"products", survey->products}, {"loops", survey->loops},   {"depth", survey->most_depth},
        {"rank", survey->most_rank},
    };
    for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++)
        tally(survey, TRAIT_WHOLE_KIND,
              arena_printf(survey->arena, "%s %d", wholes[i].name, bucket(wholes[i].count)));
}

static Survey survey_of(Arena *arena, const Function *function) {
    enum { MOST_CLIMBS = 8 };
    Survey survey = {
        .arena = arena, .tallies = map_new(arena), .above = map_new(arena), .has_changed = true};
    for (int i = 0; i < MOST_CLIMBS && survey.has_changed; i++) {
        survey.has_changed = false;
        region_walk(function->body, climb, &survey);
    }
    region_walk(function->body, survey_op, &survey);
    tally(&survey, TRAIT_RESULT_KIND,
          arena_printf(arena, "whole%s", classes_text(&survey, survey.whole & ~(Classes)PLAIN)));
    for (int a = 0; a < TRAIT_CLASS_COUNT; a++)
        if (survey.whole & (Classes)1 << a)
            tally(&survey, TRAIT_RESULT_KIND, arena_printf(arena, "uses %s", class_names[a]));
    survey_whole(&survey);
    return survey;
}

static int compare_counted(const void *left, const void *right) {
    const CountedTrait *a = left, *b = right;
    return a->hash < b->hash ? -1 : a->hash > b->hash;
}

Structure structure_counted(Arena *arena, CountedTrait *counted, int count) {
    if (count) qsort(counted, (size_t)count, sizeof *counted, compare_counted);
    Structure structure = {ARENA_ARRAY(arena, Trait, count + 1), 0};
    for (int i = 0, met = 0; i < count; i++) {
        met += counted[i].count;
        if (i + 1 < count && counted[i + 1].hash == counted[i].hash) continue;
        double weight = counted[i].weight * pow(log2(1 + met), COUNT_POWER);
        structure.traits[structure.count++] = (Trait){counted[i].hash, (float)weight, 0};
        met = 0;
    }
    return structure;
}

Structure structure_of(Arena *arena, const Function *function) {
    Survey survey = survey_of(arena, function);
    CountedTrait *counted = ARENA_ARRAY(arena, CountedTrait, survey.list.count + 1);
    for (LIST_EACH(int, i, survey.list)) {
        const Tally *each = survey.list.items[i];
        counted[i] =
            (CountedTrait){map_hash(str_from(each->text)), kinds[each->kind].weight, each->count};
    }
    return structure_counted(arena, counted, survey.list.count);
}

uint64_t structure_version(void) {
    enum { WORDING = 1 };  // of the traits' texts
    uint64_t version = WORDING;
    for (int i = 0; i < TRAIT_KIND_COUNT; i++)
        version =
            version * 31 + map_hash(str_from(kinds[i].name)) + (uint64_t)(kinds[i].weight * 1000);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        version = version * 31 + map_hash(str_from(op_rows[members[i].code].id)) + members[i].class;
    return version;
}

const char *structure_text(Arena *arena, const Function *function) {
    Survey survey = survey_of(arena, function);
    Buffer out = buffer_new(arena);
    for (LIST_EACH(int, i, survey.list))
        buffer_printf(&out, "%d %s\n", survey.list.items[i]->count, survey.list.items[i]->text);
    return buffer_text(&out);
}
