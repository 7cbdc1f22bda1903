/* libyaml's events, made into a tree with our bounds: nesting, nodes, anchors. Its own loader keeps no source places of keys,
 * accepts cycles and has no bounds. */
#include "config/config_yaml.h"

#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "base/arena.h"
#include "base/text.h"
#include "config/config.h"

#define MAX_ANCHORS 1024
#define YAML_TAG "tag:yaml.org,2002:"

typedef struct anchor {
    const char *name;
    weft_yaml_node *node;
    struct anchor *next;
} anchor;

typedef struct frame {
    weft_yaml_node *node;
    weft_yaml_node *key; /* MAP: waiting for its value */
} frame;

typedef struct builder {
    weft_arena *arena;
    weft_diagnostics *diags;
    const char *text;
    size_t n_text;
    anchor *anchors;
    size_t n_anchors, n_nodes;
    frame stack[WEFT_CONFIG_MAX_DEPTH];
    size_t depth;
    weft_yaml_node *root;
    bool document_over;
    weft_error *err;
} builder;

static weft_status no_memory(builder *b)
{
    return weft_fail(b->err, WEFT_E_NO_MEMORY, "out of memory while reading the configuration");
}

static weft_status syntax(builder *b, weft_place place, const char *sentence)
{
    weft_diagnostics_add(b->diags, WEFT_SEVERITY_ERROR, place, NULL, NULL, "%s", sentence);
    return weft_fail(b->err, WEFT_E_CONFIG, "%d:%d: %s", place.line, place.column, sentence);
}

static weft_place place_of(const yaml_event_t *e)
{
    const yaml_mark_t *s = &e->start_mark, *t = &e->end_mark;
    weft_place p = {.line = (int)s->line + 1, .column = (int)s->column + 1};
    if (e->type == YAML_SCALAR_EVENT || e->type == YAML_ALIAS_EVENT)
        p.n_chars = t->line == s->line && t->column > s->column ? (int)(t->column - s->column) : 1;
    return p;
}

/* ---- tree ------------------------------------------------------------------------------------------------------------- */
static weft_status append(builder *b, weft_yaml_node *node)
{
    if (!b->depth) {
        b->root = node;
        return WEFT_OK;
    }
    frame *f = &b->stack[b->depth - 1];
    if (f->node->kind == WEFT_NODE_MAP && !f->key) {
        f->key = node;
        return WEFT_OK;
    }
    weft_yaml_cell *cell = weft_arena_zalloc(b->arena, sizeof(*cell));
    if (!cell)
        return no_memory(b);
    cell->key = f->key;
    cell->value = node;
    f->key = NULL;
    *(f->node->last ? &f->node->last->next : &f->node->first) = cell;
    f->node->last = cell;
    f->node->n++;
    return WEFT_OK;
}

static anchor *find_anchor(builder *b, const char *name)
{
    for (anchor *a = b->anchors; a; a = a->next) /* the latest of a name wins, as YAML says */
        if (!strcmp(a->name, name))
            return a;
    return NULL;
}

static weft_status remember(builder *b, const yaml_char_t *name, weft_yaml_node *node)
{
    if (!name)
        return WEFT_OK;
    if (++b->n_anchors > MAX_ANCHORS)
        return syntax(b, node->place, "too many anchors: at most 1024 are read");
    anchor *a = weft_arena_zalloc(b->arena, sizeof(*a));
    if (a)
        a->name = weft_arena_strdup(b->arena, (const char *)name);
    if (!a || !a->name)
        return no_memory(b);
    a->node = node;
    a->next = b->anchors;
    b->anchors = a;
    return WEFT_OK;
}

/* Only the standard tags: anything else asks for a type that no option has. */
static weft_status read_tag(builder *b, const yaml_char_t *tag, weft_yaml_node *node)
{
    const char *t = (const char *)tag;
    if (!t || !*t)
        return WEFT_OK;
    if (!strcmp(t, "!") || !strcmp(t, YAML_TAG "str")) {
        node->plain = false;
        return WEFT_OK;
    }
    static const char *const known[] = {"int", "float", "bool", "null", "seq", "map"};
    for (size_t i = 0; !strncmp(t, YAML_TAG, strlen(YAML_TAG)) && i < sizeof(known) / sizeof(*known); i++)
        if (!strcmp(t + strlen(YAML_TAG), known[i]))
            return WEFT_OK;
    char text[160];
    snprintf(text, sizeof(text), "the YAML tag %.*s is not used here: write the value without it",
             (int)weft_utf8_cut(t, strlen(t), 60), t);
    return syntax(b, node->place, text);
}

static weft_status new_node(builder *b, weft_node_kind kind, const yaml_event_t *e, const yaml_char_t *anchor_name,
                            const yaml_char_t *tag, weft_yaml_node **out)
{
    if (++b->n_nodes > WEFT_CONFIG_MAX_NODES)
        return syntax(b, place_of(e), "the file has too many values: at most 100000 are read");
    weft_yaml_node *node = weft_arena_zalloc(b->arena, sizeof(*node));
    if (!node)
        return no_memory(b);
    node->kind = kind;
    node->place = place_of(e);
    *out = node;
    weft_status s = remember(b, anchor_name, node);
    return s ? s : read_tag(b, tag, node);
}

static weft_status open_node(builder *b, weft_node_kind kind, const yaml_event_t *e, const yaml_char_t *anchor_name,
                             const yaml_char_t *tag)
{
    weft_yaml_node *node = NULL;
    weft_status s = new_node(b, kind, e, anchor_name, tag, &node);
    if (!s)
        s = append(b, node);
    if (s)
        return s;
    if (b->depth == WEFT_CONFIG_MAX_DEPTH)
        return syntax(b, node->place, "nested too deeply: at most 32 levels are read");
    node->open = true;
    b->stack[b->depth++] = (frame){.node = node};
    return WEFT_OK;
}

static weft_status add_scalar(builder *b, const yaml_event_t *e)
{
    weft_yaml_node *node = NULL;
    weft_status s = new_node(b, WEFT_NODE_SCALAR, e, e->data.scalar.anchor, NULL, &node);
    if (s)
        return s;
    node->plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    node->n_bytes = e->data.scalar.length;
    char *text = weft_arena_alloc(b->arena, node->n_bytes + 1); /* all of it, NUL characters too */
    if (!text)
        return no_memory(b);
    memcpy(text, e->data.scalar.value, node->n_bytes);
    text[node->n_bytes] = 0;
    node->text = text;
    s = read_tag(b, e->data.scalar.tag, node);
    return s ? s : append(b, node);
}

static weft_status add_alias(builder *b, const yaml_event_t *e)
{
    const char *name = (const char *)e->data.alias.anchor;
    anchor *a = find_anchor(b, name);
    char text[160];
    int cut = (int)weft_utf8_cut(name, strlen(name), 60);
    if (!a) {
        snprintf(text, sizeof(text), "*%.*s names no anchor: write &%.*s before the value that it should repeat", cut, name, cut,
                 name);
        return syntax(b, place_of(e), text);
    }
    if (a->node->open) {
        snprintf(text, sizeof(text), "*%.*s stands inside of its own anchor: a value cannot contain itself", cut, name);
        return syntax(b, place_of(e), text);
    }
    return append(b, a->node);
}

static weft_status take_event(builder *b, const yaml_event_t *e)
{
    switch (e->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (b->document_over)
            return syntax(b, place_of(e), "a second document starts here: a configuration file is one document");
        return WEFT_OK;
    case YAML_DOCUMENT_END_EVENT:
        b->document_over = true;
        return WEFT_OK;
    case YAML_SCALAR_EVENT:
        return add_scalar(b, e);
    case YAML_ALIAS_EVENT:
        return add_alias(b, e);
    case YAML_SEQUENCE_START_EVENT:
        return open_node(b, WEFT_NODE_LIST, e, e->data.sequence_start.anchor, e->data.sequence_start.tag);
    case YAML_MAPPING_START_EVENT:
        return open_node(b, WEFT_NODE_MAP, e, e->data.mapping_start.anchor, e->data.mapping_start.tag);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        b->stack[--b->depth].node->open = false;
        return WEFT_OK;
    default:
        return WEFT_OK;
    }
}

/* ---- mistakes of the text --------------------------------------------------------------------------------------------- */
static size_t column_of(const char *line, const char *at)
{
    size_t n = 1, left = (size_t)(at - line);
    while (left) {
        weft_utf8_next(&line, &left);
        n++;
    }
    return n;
}

/* Only what YAML allows: UTF-8, printable, no NUL. The first place where that ends. */
static weft_status check_characters(builder *b)
{
    const char *s = b->text, *line = s;
    size_t left = b->n_text;
    weft_place place = {.line = 1};
    if (left >= 2 && (!memcmp(s, "\xff\xfe", 2) || !memcmp(s, "\xfe\xff", 2)))
        return syntax(b, (weft_place){.line = 1, .column = 1}, "the file is UTF-16: save it as UTF-8");
    while (left) {
        const char *start = s;
        uint32_t c = weft_utf8_next(&s, &left);
        bool genuine = c != 0xfffd || (s - start == 3);
        if (c == '\n') {
            place.line++;
            line = s;
        } else if (!genuine || (c < 0x20 && c != '\t' && c != '\r') || c == 0x7f) {
            char text[120];
            place.column = (int)column_of(line, start);
            if (genuine)
                snprintf(text, sizeof(text), "a control character (0x%02x) stands here: the file must be plain text",
                         (unsigned)c);
            else
                snprintf(text, sizeof(text), "the byte 0x%02x is not UTF-8: save the file as UTF-8", (unsigned char)*start);
            return syntax(b, place, text);
        }
    }
    return WEFT_OK;
}

static const char *line_at(builder *b, size_t number)
{
    const char *s = b->text, *end = s + b->n_text;
    for (size_t i = 0; i < number && s < end; i++) {
        const char *nl = memchr(s, '\n', (size_t)(end - s));
        s = nl ? nl + 1 : end;
    }
    return s;
}

/* A tab in the indentation of a line near the problem: the reason that libyaml does not name. */
static bool tab_indents(builder *b, size_t number, weft_place *place)
{
    const char *s = line_at(b, number), *end = b->text + b->n_text;
    for (int column = 1; s < end && (*s == ' ' || *s == '\t' || *s == '-'); s++, column++) {
        if (*s == '\t') {
            *place = (weft_place){.line = (int)number + 1, .column = column};
            return true;
        }
    }
    return false;
}

static const char *advice(const char *problem)
{
    static const char *const pairs[][2] = {
        {"mapping values are not allowed", ": check the indentation; a text that contains \": \" needs quotes"},
        {"did not find expected key", ": check the indentation, and quotes or brackets left open above"},
        {"did not find expected '-' indicator", ": the entries of a list must start at the same column"},
        {"did not find expected ',' or ']'", ": close the list with ]"},
        {"did not find expected ',' or '}'", ": close the block with }"},
        {"found unexpected end of stream", ": a quote or bracket is left open"},
        {"cannot start any token", ": a text that starts with this character needs quotes"},
        {"did not find expected node content", ": a list or block is left open, or a value is missing"},
        {"could not find expected ':'", ": a key needs \": \" after it"},
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
        if (strstr(problem, pairs[i][0]))
            return pairs[i][1];
    return "";
}

static weft_status parser_failed(builder *b, const yaml_parser_t *p)
{
    char text[400];
    weft_place place = {.line = (int)p->problem_mark.line + 1, .column = (int)p->problem_mark.column + 1}, tab;
    if (p->error == YAML_MEMORY_ERROR)
        return no_memory(b);
    if (p->error == YAML_READER_ERROR)
        place = (weft_place){.line = (int)p->mark.line + 1, .column = (int)p->mark.column + 1};
    size_t line = (size_t)place.line - 1;
    if (tab_indents(b, line, &tab) || (line && tab_indents(b, line - 1, &tab)))
        return syntax(b, tab, "a tab stands in the indentation: YAML indents with spaces only");
    const char *problem = p->problem ? p->problem : "the text cannot be read";
    if (p->context && p->context_mark.line != p->problem_mark.line)
        snprintf(text, sizeof(text), "not valid YAML %s that starts in line %zu: %s%s", p->context, p->context_mark.line + 1,
                 problem, advice(problem));
    else
        snprintf(text, sizeof(text), "not valid YAML%s%s: %s%s", p->context ? " " : "", p->context ? p->context : "", problem,
                 advice(problem));
    return syntax(b, place, text);
}

static weft_status parse_events(builder *b, yaml_parser_t *parser)
{
    weft_status s = WEFT_OK;
    for (bool over = false; !over && !s;) {
        yaml_event_t e;
        if (!yaml_parser_parse(parser, &e))
            return parser_failed(b, parser);
        s = take_event(b, &e);
        over = e.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&e);
    }
    return s;
}

weft_status weft_yaml_parse(weft_arena *arena, const char *text, size_t n_bytes, weft_diagnostics *diags, weft_yaml_node **root,
                            weft_error *err)
{
    builder b = {.arena = arena, .diags = diags, .text = text, .n_text = n_bytes, .err = err};
    *root = NULL;
    if (n_bytes >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) { /* the mark that some editors put before UTF-8 */
        b.text += 3;
        b.n_text -= 3;
    }
    weft_status s = check_characters(&b);
    if (s)
        return s;
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser))
        return no_memory(&b);
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)b.text, b.n_text);
    s = parse_events(&b, &parser);
    yaml_parser_delete(&parser);
    if (s)
        return s;
    if (!b.root)
        return syntax(&b, (weft_place){.line = 1, .column = 1}, WEFT_YAML_EMPTY);
    *root = b.root;
    return WEFT_OK;
}
