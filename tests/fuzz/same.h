/* Whether two decoded messages are the same; numbers bit for bit, so that NaN is NaN. */
#ifndef FUZZ_SAME_H
#define FUZZ_SAME_H

#include "common.h"

int same_floats(const float *a, const float *b, size_t n);
int same_label(const struct wire_label *a, const struct wire_label *b);
int same_request(const struct wire_label_request *a, const struct wire_label_request *b);
int same_offer(const struct wire_offer *a, const struct wire_offer *b);
int same_control(const struct wire_control *a, const struct wire_control *b);
int same_entry(const struct wire_ledger_entry *a, const struct wire_ledger_entry *b);
int same_state(const struct wire_trainer_state *a, const struct wire_trainer_state *b);
int same_head(const struct wire_head *a, const struct wire_head *b);
int same_model(const struct wire_model *a, const struct wire_model *b);

#endif
