/*
 * The defaults, in one place: the option table shows them, the daemon and the lab run by them.
 *
 * They are macros, so that the table can print a number as it is written here. What an experiment
 * needs otherwise it states as a difference (fisctl lab paper). Why they are what they are:
 * docs/design.md.
 */
#ifndef FIS_DEFAULTS_H
#define FIS_DEFAULTS_H

/* Selection. */
#define FIS_DEFAULT_ACQUISITION "fis+"
#define FIS_DEFAULT_STRATEGY 1 /* proxy labels of `fis` */
#define FIS_DEFAULT_LABELS_PER_ROUND 128
#define FIS_DEFAULT_DISTINCT 1
#define FIS_DEFAULT_REFRESHES 4 /* parts of a round, each with new directions; no option */

/* Training. */
#define FIS_DEFAULT_HIDDEN 64
#define FIS_DEFAULT_LEARNING_RATE 0.01
#define FIS_DEFAULT_MOMENTUM 0.9
#define FIS_DEFAULT_WEIGHT_DECAY 0.0005
#define FIS_DEFAULT_ADAMW_RATE 0.003
#define FIS_DEFAULT_ADAMW_DECAY 0.05
#define FIS_DEFAULT_WARM_UP_STEPS 50 /* of AdamW */
#define FIS_DEFAULT_BATCH 128
#define FIS_DEFAULT_WARM_UP_EPOCHS 20
#define FIS_DEFAULT_STEPS_PER_ROUND 120
/* Over a base there is little left to learn, and what is learnt by heart misleads the selection. */
#define FIS_DEFAULT_WARM_UP_EPOCHS_OVER_BASE 5
#define FIS_DEFAULT_STEPS_OVER_BASE 20
#define FIS_DEFAULT_MIX 0.9
#define FIS_DEFAULT_KEPT_MIN 16 /* no option */
#define FIS_DEFAULT_AVERAGE_EVERY 6
#define FIS_DEFAULT_FRESH_STEPS 2500
#define FIS_DEFAULT_SEED 1

/* A base of trees (fis/trees.h): 1, of records of columns, but not below `fis` as published. */
#define FIS_DEFAULT_TREES_BELOW_COLUMNS 1
#define FIS_DEFAULT_TREES 800 /* at most; patience ends it */
#define FIS_DEFAULT_TREE_PATIENCE 30
#define FIS_DEFAULT_TREE_DEPTH 4
#define FIS_DEFAULT_TREE_RATE 0.05
#define FIS_DEFAULT_TREE_SAMPLE 0.8
#define FIS_DEFAULT_TREE_COLUMNS 0.5
#define FIS_DEFAULT_TREE_GROWTH 0.2
#define FIS_DEFAULT_TREE_FOLDS 5 /* no option */

/* Directions. From so many validation rows on the preconditioner gives more than it costs. */
#define FIS_DEFAULT_ROWS_FOR_AUTO 1000
#define FIS_DEFAULT_DAMPING 0.01 /* of the preconditioner; no option */
#define FIS_DEFAULT_CLIP 0.02
#define FIS_DEFAULT_DELTA 1e-5

/* The gate. */
#define FIS_DEFAULT_EPSILON 0.0025
#define FIS_DEFAULT_STANDARD_ERRORS 1.0
#define FIS_DEFAULT_MIN_ROWS 500
#define FIS_DEFAULT_MIN_CELL 30
#define FIS_DEFAULT_WARN_CELL 100
#define FIS_DEFAULT_RESAMPLES 200
#define FIS_DEFAULT_PATIENCE 5

/* As text. */
#define FIS_DEFAULT_TEXT_OF(x) #x
#define FIS_DEFAULT_TEXT(x) FIS_DEFAULT_TEXT_OF(x)

#endif
