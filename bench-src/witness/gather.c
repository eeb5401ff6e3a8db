/* gather: facts by node. */
#include "witness/gather.h"

#include "common/emit.h"

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

static void add_range(struct text *ranges, int first, int last)
{
    if (last < 0)
        return;
    text_add(ranges, first == last ? "%s%d" : "%s%d-%d", ranges->used > 0 ? "," : "", first, last);
}

/* What some nodes say, by their places among those that said anything. */
struct value {
    const char *text;
    struct text ranges;
    int first, last;
};

static void emit_fact(const struct gathered *gathered, const struct gather_fact *fact, const int *place)
{
    struct value values[MOST_VALUES] = {{0}};
    int count = 0, dropped = 0;
    for (int node = 0; node < gathered->nodes; node++) {
        const char *text = fact->of[node].text.bytes;
        int at = 0;
        if (text == NULL)
            continue;
        while (at < count && strcmp(values[at].text, text) != 0)
            at++;
        if (at == MOST_VALUES || !fact->of[node].whole) {
            dropped++;
            continue;
        }
        if (at == count)
            values[count++] = (struct value){.text = text, .first = 0, .last = -1};
        if (values[at].last != place[node] - 1 || values[at].last < 0) {
            add_range(&values[at].ranges, values[at].first, values[at].last);
            values[at].first = place[node];
        }
        values[at].last = place[node];
    }
    emit_group(fact->name, '[');
    for (int i = 0; i < count; i++) {
        add_range(&values[i].ranges, values[i].first, values[i].last);
        emit_group(NULL, '{');
        emit_string("nodes", values[i].ranges.bytes);
        emit_string("value", values[i].text);
        emit_group_end('}');
        text_free(&values[i].ranges);
    }
    if (dropped > 0) {
        emit_group(NULL, '{');
        emit_int("dropped", dropped);
        emit_group_end('}');
    }
    emit_group_end(']');
}

static bool said_anything(const struct gathered *gathered, int node)
{
    for (size_t i = 0; i < gathered->count; i++)
        if (gathered->facts[i].of[node].text.bytes != NULL)
            return true;
    return false;
}

void gather_emit(const struct gathered *gathered)
{
    static const char *const one_by_one[] = {"name", "hostname", "clock", "boot", "ready", "end", "energy"};
    int *place = zeroed((size_t)gathered->nodes, sizeof *place), places = 0, first = 0, last = -1;
    struct text incomplete = {0};
    emit_group("nodes", '[');
    for (int node = 0; node < gathered->nodes; node++) {
        if (!said_anything(gathered, node))
            continue;
        const char *name = gather_of(gathered, "name", node), *hostname = gather_of(gathered, "hostname", node);
        name = name == NULL ? gather_of(gathered, "ready", node) : name;
        place[node] = places++;
        emit_group(NULL, '{');
        emit_string("name", name);
        if (hostname != NULL && (name == NULL || strcmp(hostname, name) != 0))
            emit_string("hostname", hostname);
        emit_string("clock", gather_of(gathered, "clock", node));
        emit_string("boot", gather_of(gathered, "boot", node));
        emit_group_end('}');
        if (gather_of(gathered, "end", node) != NULL)
            continue;
        if (last < 0 || last != place[node] - 1) {
            add_range(&incomplete, first, last);
            first = place[node];
        }
        last = place[node];
    }
    add_range(&incomplete, first, last);
    emit_group_end(']');
    emit_string("incomplete", incomplete.used > 0 ? incomplete.bytes : "");
    emit_group("facts", '{');
    for (size_t i = 0; i < gathered->count; i++) {
        bool apart = false;
        for (size_t k = 0; k < sizeof one_by_one / sizeof *one_by_one; k++)
            apart = apart || strcmp(gathered->facts[i].name, one_by_one[k]) == 0;
        if (!apart)
            emit_fact(gathered, &gathered->facts[i], place);
    }
    emit_group_end('}');
    text_free(&incomplete);
    free(place);
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
