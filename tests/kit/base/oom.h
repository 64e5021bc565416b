/*
 * Out of memory, as SQLite tests it: a scenario is run with its first allocation refused and all
 * that come after it, then with the second, and so on until nothing was left to refuse; and all
 * that once more with one allocation refused at a time. Each time it must end with FIS_NOMEM and
 * say so; a crash or another class is a bug. Leaks are the address sanitizer's to find: a scenario
 * frees what it made.
 */
#ifndef TESTS_KIT_BASE_OOM_H
#define TESTS_KIT_BASE_OOM_H

#include <stdint.h>

#include "fis/error.h"
#include "fis/mem.h"

/* More allocations than any scenario should make. */
#define OOM_MOST 20000u

/* 0, or the negative code of what failed, with *e filled. It undoes all that it did. */
typedef int oom_scenario(void *arg, struct fis_error *e);

/* Of a constructor that returned NULL: what its scenario returns. */
int oom_failed(const struct fis_error *e);

/* Runs it until it passes with all allocations from the n-th on refused; then with the n-th alone,
 * until there is none: what failed must not be forgotten because the next one works, and what goes
 * on after a refusal must end as if there had been none, which the scenario looks at. Returns how
 * many refusals it survived. At least one is asked for, since a scenario that allocates nothing
 * tests nothing. Once something failed in it, a scenario may turn the refusals off
 * (fis_mem_refuse_after(UINT64_MAX)) and look at what must not have changed. */
uint64_t oom_run(oom_scenario *scenario, void *arg);

#endif
