/*
 * Faults that are planted on purpose, to see that the simulation (tests/sim) finds them. Only a
 * build with -DFIS_PLANTED has them, and then one at a time, by its name; in any other build
 * PLANTED(name) is the constant 0 and nothing is left of it.
 */
#ifndef BASE_PLANTED_H
#define BASE_PLANTED_H

#include <stdint.h>

#define FIS_PLANTED_FAULTS(FAULT)                                                                  \
    FAULT(none)                                                                                    \
    FAULT(offset_early)      /* scorer: commits one record too far */                              \
    FAULT(revoked_committed) /* scorer: commits what it read of a partition it has lost */         \
    FAULT(progress_early) /* scorer: tells of a batch before its dead letters are acknowledged */  \
    FAULT(no_dedup)       /* selector: takes what was answered as a candidate once more */         \
    FAULT(budget_late)    /* selector: what is open does not count against the budget */           \
    FAULT(late_uncharged) /* selector: a late answer costs nothing */                              \
    FAULT(floor_too_high) /* selector: the worst of a heap with room is a floor */                 \
    FAULT(floor_kept)     /* scorer: the floors of a head are in force under the next */           \
    FAULT(stale_scores)   /* trainer: takes scores of another head as they are */                  \
    FAULT(label_twice)    /* trainer: trains on a label twice */                                   \
    FAULT(contradiction_taken) /* trainer: a contradiction counts as a duplicate */                \
    FAULT(heap_not_written)    /* trainer: what is held is not in the ledger */                    \
    FAULT(version_forgotten)   /* trainer: a restart loses the number of the last version */       \
    FAULT(votes_forgotten)     /* trainer: a restart loses the votes so far */                     \
    FAULT(pause_forgotten)     /* trainer: a restart ends a pause */                               \
    FAULT(checkpoint_unsent)   /* trainer: the state names a checkpoint that is not there */       \
    FAULT(checkpoint_ignored)  /* memory: training starts from the head, checkpoint or not */     \
    FAULT(progress_twice)      /* trainer: progress that is sent twice counts twice */             \
    FAULT(clock_by_wall)       /* trainer: the pipeline's clock follows the wall clock's jumps */  \
    FAULT(forgotten_again)     /* trainer: a record that was forgotten is a candidate once more */ \
    FAULT(forgotten_refunded)  /* trainer: a restart gives the budget back what is forgotten */    \
    FAULT(day_twice)           /* trainer: a clock set back gives the day's budget again */        \
    FAULT(window_forgotten)    /* trainer: a restart begins the window again */                    \
    FAULT(scan_short)          /* trainer: a scan is over one record before its end */             \
    FAULT(no_catch_up)         /* election: leads from what it has, without reading to the end */  \
    FAULT(end_early)           /* session: nothing to read now is taken for the end */             \
    FAULT(commands_late)       /* session: candidates and labels are handed over before control */ \
    FAULT(lost_unreported)     /* session: the role does not learn that candidates were lost */    \
    FAULT(unit_without_offsets) /* session: a unit does not say how far the input was taken */     \
    FAULT(entries_uncounted)    /* memory: a ledger that has lost requests is taken for whole */   \
    FAULT(restart_unmoved)      /* session: what a recreated topic has counts as taken */          \
    FAULT(scan_waits)           /* trainer: a scan whose progress is lost goes on for ever */      \
    FAULT(nothing_swept)        /* session: an earlier trainer's open transaction is waited for */ \
    FAULT(foreign_fatal)        /* session: what no trainer wrote ends a trainer that reads it */  \
    FAULT(foreign_unnoticed)    /* session: what no trainer wrote is left out without a word */    \
    FAULT(ledger_tail_unnoticed) /* session: newest units of the ledger are not missed */          \
    FAULT(tail_unnoticed)   /* memory: newest heads and versions that are gone are not missed */   \
    FAULT(halt_ignored)     /* session: goes on when its topics have run backwards */              \
    FAULT(end_stable)       /* reader: what an open transaction holds back is left out */          \
    FAULT(partitions_fixed) /* reader: partitions that are added are never read */

#define FIS_PLANTED_NAME(name) PLANTED_##name,
enum planted { FIS_PLANTED_FAULTS(FIS_PLANTED_NAME) PLANTED_FAULTS };
#undef FIS_PLANTED_NAME

#ifdef FIS_PLANTED
extern enum planted planted_now;
#define PLANTED(name) (planted_now == PLANTED_##name)
#else
#define PLANTED(name) 0
#endif

/* Its number. -1: there is none of this name (in this build). */
int planted_choose(const char *name);
const char *planted_name(uint32_t i); /* 0: none */
uint32_t planted_count(void);

#endif
