/* The parts of the fine-tune option. */
#ifndef LAB_FINETUNE_H
#define LAB_FINETUNE_H

#include "lab/run.h"

/* RF of one half of the validation rows: the end point, a slab. */
int lab_finetune(struct lab_run *r, uint32_t fold, float *end, struct fis_error *e) FIS_MUST_CHECK;
/* The shares of the 15 points, nearest to the anchor first. */
void lab_finetune_grid(struct fis_gate_points *p);

#endif
