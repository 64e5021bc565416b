/* gnuplot as a child process. Thread: any; it waits for the child. */
#ifndef LAB_GNUPLOT_H
#define LAB_GNUPLOT_H

#include "fis/error.h"

/* Runs a script file. RETRY: there is no gnuplot; INPUT: it failed. */
int lab_gnuplot(const char *script, struct fis_error *e) FIS_MUST_CHECK;

#endif
