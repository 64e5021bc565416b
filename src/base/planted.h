/*
 * Faults that are planted on purpose, to see that the simulation (tests/sim) finds them. Only a
 * build with -DFIS_PLANTED has them, and then one at a time, by its name; in any other build
 * PLANTED(name) is the constant 0 and nothing is left of it.
 */
#ifndef BASE_PLANTED_H
#define BASE_PLANTED_H

#include <stdint.h>

#define FIS_PLANTED_FAULTS(FAULT) FAULT(none)

#define FIS_PLANTED_NAME(name) PLANTED_##name,
enum planted { FIS_PLANTED_FAULTS(FIS_PLANTED_NAME) PLANTED_FAULTS };
#undef FIS_PLANTED_NAME

#ifdef FIS_PLANTED
extern enum planted planted_now;
#define PLANTED(name) (planted_now == PLANTED_##name)
#else
#define PLANTED(name) 0
#endif

/* For whoever chooses. -1: there is none of this name (in this build). */
int planted_choose(const char *name);
const char *planted_name(uint32_t i); /* 0: none */
uint32_t planted_count(void);

#endif
