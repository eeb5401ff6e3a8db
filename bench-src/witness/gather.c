/* gather: facts by node. */
#include "witness/gather.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FACTS = 1000, MOST_VALUES = 100, LONGEST_NAME = 200, NODE_BYTES = 256 };

static bool is_number(const char *text)
{
    return text[0] != '\0' && strlen(text) < 7 && text[strspn(text, "0123456789")] == '\0';
}

bool gather_parse(char *line, struct told *told)
{
    char *rest = line, *node = text_part(&rest, '\t'), *run = text_part(&rest, '\t'), *name = text_part(&rest, '\t');
    char *mark = text_part(&rest, '\t');
    if (rest == NULL || !is_number(node) || !is_number(run) || strlen(mark) != 1 || strchr("+.", mark[0]) == NULL)
        return false;
    if (name[0] == '\0' || strlen(name) > LONGEST_NAME)
        return false;
    *told = (struct told){atoi(node), atoi(run), name, rest, mark[0] == '.'};
    return true;
}

static struct gather_fact *fact_of(const struct gathered *gathered, const char *name)
{
    for (size_t i = 0; i < gathered->count; i++)
        if (strcmp(gathered->facts[i].name, name) == 0)
            return &gathered->facts[i];
    return NULL;
}

static void *zeroed(size_t count, size_t bytes)
{
    void *list = text_grow(NULL, 0, count * bytes);
    memset(list, 0, count * bytes);
    return list;
}

void gather_add(struct gathered *gathered, const struct told *told)
{
    if (told->node >= gathered->nodes)
        return;
    if (strcmp(told->name, "rank") == 0) {
        gathered->ranks = text_grow(gathered->ranks, gathered->rank_count, sizeof *gathered->ranks);
        gathered->ranks[gathered->rank_count++] = text_of("%s", told->piece);
        return;
    }
    struct gather_fact *fact = fact_of(gathered, told->name);
    if (fact == NULL) {
        if (gathered->count >= MOST_FACTS)
            return;
        gathered->facts = text_grow(gathered->facts, gathered->count, sizeof *gathered->facts);
        fact = &gathered->facts[gathered->count++];
        *fact = (struct gather_fact){text_of("%s", told->name), zeroed((size_t)gathered->nodes, sizeof *fact->of)};
    }
    struct gather_text *of = &fact->of[told->node];
    text_add(&of->text, "%s%s", of->whole ? "; " : "", told->piece);
    of->whole = told->ends;
}

void gather_free(struct gathered *gathered)
{
    for (size_t i = 0; i < gathered->count; i++) {
        for (int node = 0; node < gathered->nodes; node++)
            text_free(&gathered->facts[i].of[node].text);
        free(gathered->facts[i].of);
        free(gathered->facts[i].name);
    }
    for (size_t i = 0; i < gathered->rank_count; i++)
        free(gathered->ranks[i]);
    free(gathered->facts);
    free(gathered->ranks);
    *gathered = (struct gathered){.nodes = gathered->nodes};
}

const char *gather_of(const struct gathered *gathered, const char *name, int node)
{
    const struct gather_fact *fact = fact_of(gathered, name);
    return fact != NULL && fact->of[node].whole ? fact->of[node].text.bytes : NULL;
}

int gather_said(const struct gathered *gathered, const char *name)
{
    int said = 0;
    for (int node = 0; node < gathered->nodes; node++)
        said += gather_of(gathered, name, node) != NULL;
    return said;
}

/* What some nodes say. */
struct value {
    const char *text;
    struct node_list nodes;
};

/* NULL where it did not say it. */
static const char *name_of(const struct gathered *gathered, int node)
{
    const char *name = gather_of(gathered, "name", node);
    return name == NULL ? gather_of(gathered, "ready", node) : name;
}

static void emit_fact(const struct gathered *gathered, const struct gather_fact *fact, const char *source)
{
    struct value values[MOST_VALUES] = {{0}};
    int count = 0, dropped = 0;
    for (int node = 0; node < gathered->nodes; node++) {
        const char *text = fact->of[node].text.bytes, *name = name_of(gathered, node);
        int at = 0;
        if (text == NULL || name == NULL)
            continue;
        while (at < count && strcmp(values[at].text, text) != 0)
            at++;
        if (at == MOST_VALUES || !fact->of[node].whole) {
            dropped++;
            continue;
        }
        if (at == count)
            values[count++].text = text;
        node_list_add(&values[at].nodes, name);
    }
    for (int i = 0; i < count; i++) {
        char *nodes = node_list_end(&values[i].nodes);
        facts_text((struct fact){.source = source, .node = nodes, .name = fact->name}, values[i].text);
        free(nodes);
    }
    if (dropped > 0) {
        char *name = text_of("dropped.%s", fact->name);
        facts_int((struct fact){.source = source, .name = name, .unit = "nodes"}, dropped);
        free(name);
    }
}

static bool said_anything(const struct gathered *gathered, int node)
{
    for (size_t i = 0; i < gathered->count; i++)
        if (gathered->facts[i].of[node].text.bytes != NULL)
            return true;
    return false;
}

/* Which nodes said anything, and what each says for itself. */
static void emit_nodes(const struct gathered *gathered, const char *source)
{
    static const char *const one_by_one[] = {"hostname", "clock", "boot", "memory", "cpus"};
    struct node_list answered = {0};
    int nameless = 0;
    for (int node = 0; node < gathered->nodes; node++) {
        const char *name = name_of(gathered, node);
        if (name != NULL)
            node_list_add(&answered, name);
        nameless += name == NULL && said_anything(gathered, node);
    }
    char *nodes = node_list_end(&answered);
    if (nodes[0] != '\0')
        facts_bool((struct fact){.source = source, .node = nodes, .name = "answered"}, true);
    free(nodes);
    if (nameless > 0)
        facts_int((struct fact){.source = source, .name = "nameless", .unit = "nodes"}, nameless);
    for (size_t i = 0; i < sizeof one_by_one / sizeof *one_by_one; i++)
        for (int node = 0; node < gathered->nodes; node++) {
            const char *name = name_of(gathered, node), *text = gather_of(gathered, one_by_one[i], node);
            if (name != NULL && text != NULL && strcmp(text, name) != 0)
                facts_text((struct fact){.source = source, .node = name, .name = one_by_one[i]}, text);
        }
}

void gather_emit(const struct gathered *gathered, const char *source)
{
    static const char *const elsewhere[] = {"name", "hostname", "clock", "boot", "memory", "cpus", "ready", "energy"};
    emit_nodes(gathered, source);
    for (size_t i = 0; i < gathered->count; i++) {
        bool is_elsewhere = false;
        for (size_t k = 0; k < sizeof elsewhere / sizeof *elsewhere; k++)
            is_elsewhere = is_elsewhere || strcmp(gathered->facts[i].name, elsewhere[k]) == 0;
        if (!is_elsewhere)
            emit_fact(gathered, &gathered->facts[i], source);
    }
}

/* A line "RANK NODE [WORD [PHASE]]" taken apart; what is not there is NULL, but for the phase. */
struct rank_line {
    char *copy;
    const char *node, *word, *phase;
    int rank;
};

static struct rank_line rank_line(const char *line)
{
    struct rank_line parts = {.copy = text_of("%s", line)};
    char *rest = parts.copy, *rank = text_part(&rest, ' ');
    parts.rank = atoi(rank);
    parts.node = text_part(&rest, ' ');
    parts.word = text_part(&rest, ' ');
    parts.phase = rest == NULL ? "" : rest;
    return parts;
}

static bool same_place(const struct rank_line *one, const struct rank_line *other)
{
    bool same_word = one->word == NULL || other->word == NULL ? one->word == other->word : strcmp(one->word, other->word) == 0;
    return same_word && strcmp(one->node, other->node) == 0;
}

void gather_emit_ranks(char *const *ranks, size_t count, const char *phase, struct fact fact)
{
    struct rank_line first = {0};
    int last = 0;
    for (size_t i = 0; i <= count; i++) {
        struct rank_line next = {0};
        if (i < count)
            next = rank_line(ranks[i]);
        bool belongs = next.node != NULL && strcmp(next.phase, phase) == 0;
        if (belongs && first.copy != NULL && next.rank == last + 1 && same_place(&next, &first)) {
            last = next.rank;
            belongs = false;
        } else if ((belongs || i == count) && first.copy != NULL) {
            char *numbers = first.rank == last ? text_of("%d", last) : text_of("%d-%d", first.rank, last);
            fact.node = first.node;
            fact.rank = numbers;
            facts_text(fact, first.word);
            free(numbers);
            free(first.copy);
            first = (struct rank_line){0};
        }
        if (belongs) {
            first = next;
            last = next.rank;
        } else {
            free(next.copy);
        }
    }
}

static int by_rank(const void *left, const void *right)
{
    const char *one = *(char *const *)left, *other = *(char *const *)right;
    int numbers = atoi(one) - atoi(other);
    return numbers != 0 ? numbers : strcmp(one, other);
}

void gather_sort(char **ranks, size_t count)
{
    if (count > 0)
        qsort(ranks, count, sizeof *ranks, by_rank);
}

enum placed gather_placed(char *const *ranks, size_t count, const char *phase, int nodes, const char *on_each)
{
    char *rest = NULL;
    const int each = (int)strtol(on_each, &rest, 10), larger = *rest == '+' ? atoi(rest + 1) : 0;
    char last[NODE_BYTES] = "";
    struct text before = {0}; /* nodes of earlier blocks, a blank around each */
    int here = 0, distinct = 0, all = 0;
    bool even = true;
    for (size_t i = 0; i < count; i++) {
        char node[NODE_BYTES] = "", of[NODE_BYTES] = "", between[NODE_BYTES + 2];
        sscanf(ranks[i], "%*s %255s %*s %255s", node, of);
        if (strcmp(of, phase) != 0)
            continue;
        if (strcmp(node, last) != 0) {
            snprintf(between, sizeof between, " %s ", node);
            even = even && (distinct == 0 || here == each + (distinct <= larger)) &&
                   (before.bytes == NULL || strstr(before.bytes, between) == NULL);
            text_add(&before, "%s", between);
            memcpy(last, node, sizeof last);
            here = 0;
            distinct++;
        }
        here++;
        all++;
    }
    text_free(&before);
    if (all < nodes * each + larger)
        return PLACED_IN_PART;
    return even && here == each + (distinct <= larger) && distinct == nodes ? PLACED_EVENLY : PLACED_OTHERWISE;
}
