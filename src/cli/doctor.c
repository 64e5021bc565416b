#include "cli/doctor.h"

#include <stdarg.h>
#include <string.h>

#include "cli/screen.h"

static const char *const levels[] = {"ok", "warning", "fault"};

void doctor_command(struct doctor *d, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(d->command, sizeof d->command, format, ap);
    va_end(ap);
}

void doctor_set_topic(struct doctor *d, const char *topic, const char *setting, long long value)
{
    doctor_command(d,
                   "kafka-configs.sh --bootstrap-server %s --alter --entity-type topics "
                   "--entity-name %s --add-config %s=%lld",
                   d->cli->broker, topic, setting, value);
}

static int print_json(const struct doctor *d, enum doctor_level level, const char *check,
                      const char *text, struct fis_error *e)
{
    struct byte_buffer line = {0};
    struct wire_json_put p = wire_put(&line, e);
    wire_put_open(&p, NULL, '{');
    wire_put_text(&p, "check", check);
    wire_put_text(&p, "level", levels[level]);
    wire_put_text(&p, "text", text);
    if (d->command[0])
        wire_put_text(&p, "command", d->command);
    wire_put_close(&p, '}');
    int rc = screen_json(&p);
    byte_buffer_done(&line);
    return rc;
}

void doctor_say(struct doctor *d, enum doctor_level level, const char *check, const char *format,
                ...)
{
    char text[2 * FIS_ERROR_TEXT];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    screen_clean(text);
    d->count[level]++;
    if (!d->json)
        printf("%-8s%-15s%s\n", levels[level], check, text);
    else if (print_json(d, level, check, text, &d->failed))
        d->count[DOCTOR_FAULT]++;
    if (!d->json && d->command[0])
        printf("%23s%s\n", "", d->command);
    d->command[0] = 0;
    fflush(stdout);
}
