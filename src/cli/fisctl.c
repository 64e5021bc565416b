/* fisctl: command-line tool for a pipeline of fisd. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/command_table.h"

/* Not by exit, which would take from a client that is left to its thread what it uses. */
int main(int argc, char **argv)
{
    int status = cli_main(argc, argv);
    (void)fflush(NULL); /* whether it can be written was looked at before */
    _Exit(status);
}
