/* Alarms on a clock of their own, of a status in which all is well. */
#ifndef TEST_KIT_ALARM_WORLD_H
#define TEST_KIT_ALARM_WORLD_H

#include "daemon/monitor/alarms.h"
#include "fis/mem.h"
#include "kit/cmocka.h"

#define ALARM_SECOND UINT64_C(1000)

#define ALARM_MINUTE (60 * ALARM_SECOND)

#define ALARM_HOUR (60 * ALARM_MINUTE)

#define ALARM_DAY (24 * ALARM_HOUR)

struct alarm_world {
    struct config cfg;
    struct status s;
    struct alarms a;
    struct version_log *versions;
    struct wire_model model;
    struct trainer_open oldest;
    struct drift_column columns[2];
    uint32_t turned; /* calls */
};

int alarm_world_up(void **state);

int alarm_world_down(void **state);

void turned(void *ctx, const struct alarm *a);

/* Time goes on, with a look each second; records come all the while when `records` is not 0. */
void alarm_world_pass(struct alarm_world *w, uint64_t ms, uint64_t records);

const struct alarm *alarm_of(struct alarm_world *w, enum alarm_kind kind);

/* Whether this alarm is on, and no other. */
bool alarm_only(struct alarm_world *w, enum alarm_kind kind);

bool alarm_none(struct alarm_world *w);

#endif
