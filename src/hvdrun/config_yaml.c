/* SPDX-License-Identifier: Apache-2.0 */
/* YAML by the events of libyaml:
 *   each scalar is a key or the value behind one; a mapping that begins is a longer path, one that
 *   ends a shorter one.
 * Fails on input that libyaml cannot read, with libyaml's message, and on everything config_yaml.h
 * rules out. */
#include "src/hvdrun/config_yaml.h"

#include "launcher/base/bad_input.h"
#include "launcher/base/text_buffer.h"
#include "launcher/base/xalloc.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

struct reader {
    const char *name, *text;
    size_t length;
    config_node_fn *on_node;
    void *context;
    struct text_buffer path;            /* terminated */
    size_t bases[CONFIG_DEPTH_MAX + 1]; /* the length of the path around each mapping */
    int depth;                          /* number of open mappings */
    bool in_value;                      /* a key was read, its value comes next */
    bool in_document;
};

/* "FILE:LINE:COLUMN"; libyaml counts from 0. */
static char *config_yaml_place(const struct reader *reader, const yaml_mark_t *mark)
{
    return xasprintf("%s:%zu:%zu", reader->name, mark->line + 1, mark->column + 1);
}

/* "FILE:LINE:COLUMN: PROBLEM: 'token'"; without a token, only the problem. */
static int config_yaml_refuse(const struct reader *reader, const yaml_mark_t *mark,
                              const char *problem, const char *token, size_t length,
                              struct err *err)
{
    struct shown shown;
    char *source = config_yaml_place(reader, mark);
    int rc = token ? bad_input(err, source, "%s: '%s'", problem, show_token(&shown, token, length))
                   : bad_input(err, source, "%s", problem);
    free(source);
    return rc;
}

static void shorten_path(struct reader *reader, size_t length)
{
    reader->path.length = length;
    *text_buffer_reserve(&reader->path, 1) = '\0';
}

static int config_yaml_tell(struct reader *reader, enum config_kind kind, const char *value,
                            const yaml_mark_t *mark, struct err *err)
{
    char *source = config_yaml_place(reader, mark);
    struct config_node node = { kind, reader->path.data, value, source };
    int rc = reader->on_node(reader->context, &node, err);
    free(source);
    return rc;
}

/* A text in libyaml's form. */
struct scalar {
    const char *text;
    size_t length;
    bool plain;
};

static struct scalar scalar_of(const yaml_event_t *event)
{
    return (struct scalar){ (const char *)event->data.scalar.value, event->data.scalar.length,
                            event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE };
}

static int config_yaml_read_key(struct reader *reader, const yaml_event_t *event, struct err *err)
{
    if (event->type != YAML_SCALAR_EVENT)
        return config_yaml_refuse(reader, &event->start_mark, "a key must be a text", NULL, 0, err);
    struct scalar key = scalar_of(event);
    if (memchr(key.text, '.', key.length) || memchr(key.text, '\0', key.length) || key.length == 0)
        return config_yaml_refuse(reader, &event->start_mark, "unknown key", key.text, key.length,
                                  err);
    shorten_path(reader, reader->bases[reader->depth]);
    if (reader->path.length > 0)
        text_buffer_put_string(&reader->path, ".");
    text_buffer_put(&reader->path, key.text, key.length);
    shorten_path(reader, reader->path.length);
    reader->in_value = true;
    return config_yaml_tell(reader, CONFIG_KEY, NULL, &event->start_mark, err);
}

static int read_scalar(struct reader *reader, const yaml_event_t *event, struct err *err)
{
    struct scalar scalar = scalar_of(event);
    if (memchr(scalar.text, '\0', scalar.length))
        return config_yaml_refuse(reader, &event->start_mark, "a text with NUL", scalar.text,
                                  scalar.length, err);
    return config_yaml_tell(reader, scalar.plain ? CONFIG_PLAIN : CONFIG_QUOTED, scalar.text,
                            &event->start_mark, err);
}

static int begin_mapping(struct reader *reader, const yaml_event_t *event, struct err *err)
{
    if (reader->depth == CONFIG_DEPTH_MAX)
        return config_yaml_refuse(reader, &event->start_mark, "nested too deep", NULL, 0, err);
    reader->bases[++reader->depth] = reader->path.length;
    return HVD_OK;
}

static int read_value(struct reader *reader, const yaml_event_t *event, struct err *err)
{
    reader->in_value = false;
    if (event->type == YAML_SCALAR_EVENT)
        return read_scalar(reader, event, err);
    bool mapping = event->type == YAML_MAPPING_START_EVENT;
    int rc = config_yaml_tell(reader, mapping ? CONFIG_MAPPING : CONFIG_LIST, NULL,
                              &event->start_mark, err);
    if (rc < 0)
        return rc;
    return mapping ? begin_mapping(reader, event, err)
                   : config_yaml_refuse(reader, &event->start_mark, "a list", NULL, 0, err);
}

/* Reads the top of the document: a mapping, or nothing at all. */
static int read_root(struct reader *reader, const yaml_event_t *event, struct err *err)
{
    if (event->type == YAML_MAPPING_START_EVENT)
        return begin_mapping(reader, event, err);
    if (event->type == YAML_SCALAR_EVENT && scalar_of(event).plain && scalar_of(event).length == 0)
        return HVD_OK;
    return config_yaml_refuse(reader, &event->start_mark,
                              "expected a mapping such as 'params: ...'", NULL, 0, err);
}

static int end_mapping(struct reader *reader)
{
    shorten_path(reader, reader->bases[reader->depth--]);
    return HVD_OK;
}

static int begin_document(struct reader *reader, const yaml_event_t *event, struct err *err)
{
    if (reader->in_document)
        return config_yaml_refuse(reader, &event->start_mark, "only one document is allowed", NULL,
                                  0, err);
    reader->in_document = true;
    return HVD_OK;
}

/* The anchor and the tag of an event that may have them. */
static void decorations(const yaml_event_t *event, const yaml_char_t **anchor,
                        const yaml_char_t **tag)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        *anchor = event->data.scalar.anchor, *tag = event->data.scalar.tag;
        break;
    case YAML_SEQUENCE_START_EVENT:
        *anchor = event->data.sequence_start.anchor, *tag = event->data.sequence_start.tag;
        break;
    case YAML_MAPPING_START_EVENT:
        *anchor = event->data.mapping_start.anchor, *tag = event->data.mapping_start.tag;
        break;
    default:
        *anchor = *tag = NULL;
    }
}

static int check_decorations(const struct reader *reader, const yaml_event_t *event,
                             struct err *err)
{
    const yaml_char_t *anchor, *tag;
    decorations(event, &anchor, &tag);
    const char *word = (const char *)(anchor ? anchor : tag);
    if (!word)
        return HVD_OK;
    return config_yaml_refuse(reader, &event->start_mark,
                              anchor ? "anchors are not allowed" : "tags are not allowed", word,
                              strlen(word), err);
}

static int on_event(struct reader *reader, const yaml_event_t *event, struct err *err)
{
    int rc = check_decorations(reader, event, err);
    if (rc < 0)
        return rc;
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return begin_document(reader, event, err);
    case YAML_ALIAS_EVENT:
        return config_yaml_refuse(reader, &event->start_mark, "aliases are not allowed",
                                  (const char *)event->data.alias.anchor,
                                  strlen((const char *)event->data.alias.anchor), err);
    case YAML_MAPPING_END_EVENT:
        return end_mapping(reader);
    case YAML_SCALAR_EVENT:
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        if (reader->depth == 0)
            return read_root(reader, event, err);
        return reader->in_value ? read_value(reader, event, err)
                                : config_yaml_read_key(reader, event, err);
    default:
        return HVD_OK;
    }
}

/* The position of a byte, for bytes that never became characters. */
static yaml_mark_t mark_at(const struct reader *reader, size_t offset)
{
    yaml_mark_t mark = { 0 };
    for (size_t i = 0; i < offset && i < reader->length; i++) {
        mark.column++;
        if (reader->text[i] == '\n')
            mark = (yaml_mark_t){ .line = mark.line + 1 };
    }
    return mark;
}

static int fail_parser(const struct reader *reader, const yaml_parser_t *yaml, struct err *err)
{
    if (yaml->error == YAML_MEMORY_ERROR)
        xalloc_failed();
    yaml_mark_t mark = yaml->error == YAML_READER_ERROR ? mark_at(reader, yaml->problem_offset)
                                                        : yaml->problem_mark;
    return config_yaml_refuse(reader, &mark, yaml->problem ? yaml->problem : "not YAML", NULL, 0,
                              err);
}

static int read_events(struct reader *reader, yaml_parser_t *yaml, struct err *err)
{
    for (;;) {
        yaml_event_t event;
        if (!yaml_parser_parse(yaml, &event))
            return fail_parser(reader, yaml, err);
        yaml_event_type_t type = event.type;
        int rc = on_event(reader, &event, err);
        yaml_event_delete(&event);
        if (rc < 0 || type == YAML_STREAM_END_EVENT)
            return rc;
    }
}

static int check_text(const char *text, size_t length, const char *name, struct err *err)
{
    if (length >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0))
        return bad_input(err, name, "not a text file, but UTF-16");
    if (length > CONFIG_SIZE_MAX)
        return bad_input(err, name, "is larger than %d MiB", CONFIG_SIZE_MAX >> 20);
    return HVD_OK;
}

int config_yaml_read(const char *text, size_t length, const char *name, config_node_fn *on_node,
                     void *context, struct err *err)
{
    struct reader reader = {
        .name = name, .text = text, .length = length, .on_node = on_node, .context = context
    };
    yaml_parser_t yaml;
    int rc = check_text(text, length, name, err);
    if (rc < 0)
        return rc;
    if (!yaml_parser_initialize(&yaml))
        xalloc_failed();
    yaml_parser_set_encoding(&yaml, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&yaml, (const unsigned char *)text, length);
    rc = read_events(&reader, &yaml, err);
    yaml_parser_delete(&yaml);
    text_buffer_fini(&reader.path);
    return rc;
}
