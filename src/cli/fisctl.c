/* fisctl: command-line tool for a pipeline of fisd. */
#include "cli/command_table.h"

int main(int argc, char **argv)
{
    return cli_main(argc, argv);
}
