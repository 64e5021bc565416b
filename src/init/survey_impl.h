/* Inside a survey: survey.c (roles, classes, groups, the whole), survey_columns.c, survey_rows.c.
 */
#ifndef INIT_SURVEY_IMPL_H
#define INIT_SURVEY_IMPL_H

#include "init/survey.h"

int survey_column(struct init_survey *s, uint32_t i, struct fis_error *e) FIS_MUST_CHECK;
int survey_count_duplicates(struct init_survey *s, struct fis_error *e) FIS_MUST_CHECK;

#endif
