/* fisctl lab run: tasks x metrics x methods x seeds. */
#include "cli/cmd_lab_exp.h"

#include <string.h>

/* 1: interrupted. */
static int experiment(struct cli *c, struct cmd_lab_options *o, struct fis_error *e)
{
    struct cmd_lab_plan plan;
    int r = cmd_lab_plan_make(o, &plan, e);
    if (r < 0)
        return r;
    struct lab_batch *b = lab_batch_new(e);
    r = b ? cmd_lab_plan_jobs(&plan, o, b, e) : -FIS_NOMEM;
    if (r == 0)
        r = cmd_lab_run_and_report(c, b, &plan, o, cmd_lab_finish, e);
    lab_batch_free(b);
    cmd_lab_plan_done(&plan);
    return r;
}

static int run(struct cli *c, const struct cli_command *self, int argc, char **argv)
{
    struct cmd_lab_options o = {.tasks = NULL};
    struct fis_error e;
    enum cli_parsed parsed = cli_parse_options(c, self, argc, argv, &o);
    if (parsed != CLI_GO)
        return cli_parsed_exit(parsed);
    if (o.set && !strcmp(o.set, "help"))
        return cmd_lab_list_settings();
    return cmd_lab_exit(experiment(c, &o, &e), &o, &e);
}

static const struct command_option options[] = {
    {"tasks", 't', CLI_TEXT, CMD_LAB_AT(tasks), "LIST",
     "with commas; default all: the seven of docs/results.md (adult-sex, adult-age, compas, "
     "celeba-smiling, "
     "celeba-attractive, celeba-young, celeba-big-nose); besides adult-race, adult-occupation, "
     "celeba-attractive-young, celeba-big-nose-young, credit, health; images: mnist-colour, "
     "and with --data celeba-smiling-images, celeba-attractive-images, celeba-young-images, "
     "celeba-big-nose-images"},
    {"metrics", 'm', CLI_TEXT, CMD_LAB_AT(metrics), "LIST", "of dp, eop, eod, risk; default eod"},
    {"methods", 0, CLI_TEXT, CMD_LAB_AT(methods), "LIST", "default random,fis+; see above"},
    {"regime", 0, CLI_TEXT, CMD_LAB_AT(regime), "rich|scarce",
     "how many labels there are, at first and a round; default scarce, of images rich"},
    CMD_LAB_SEEDS,
    CMD_LAB_FILES,
    {"data", 0, CLI_TEXT, CMD_LAB_AT(data), "DIR|FILE.npz",
     "images: CelebA's folder, for celeba-smiling-images and others; or MedMNIST's .npz, a task "
     "of its own"},
    {"groups", 0, CLI_TEXT, CMD_LAB_AT(groups), "FILE",
     "of a .npz: rows with --sensitive, one for each image of train, val and test"},
    {"csv", 0, CLI_TEXT, CMD_LAB_AT(csv), "FILE",
     "a task of one's own, CSV or JSON lines; columns that are mostly numbers are numeric"},
    CLI_READING_OPTIONS(struct cmd_lab_options, read),
    {"label", 0, CLI_TEXT, CMD_LAB_AT(label), "COL", "of --csv"},
    {"sensitive", 0, CLI_TEXT, CMD_LAB_AT(sensitive), "COL[,COL]", "of --csv or --groups"},
    {"positive", 0, CLI_TEXT, CMD_LAB_AT(positive), "CLASS",
     "of --csv or a .npz; default the last one"},
    {"leave-out", 0, CLI_TEXT, CMD_LAB_AT(leave_out), "COL[,COL]", "of --csv: no features"},
    {"epsilon", 0, CLI_TEXT, CMD_LAB_AT(epsilon), "E",
     "accuracy that may be given up; default .0025"},
    {"publish", 0, CLI_TEXT, CMD_LAB_AT(publish), "once|every",
     "after the last round (default), or every round by the daemon's rule"},
    {"one-pass", 0, CLI_FLAG, CMD_LAB_AT(one_pass), NULL,
     "a window of the pool a round, as a stream, not all of it"},
    {"predictions", 0, CLI_TEXT, CMD_LAB_AT(predictions), "DIR",
     "what is published says of the test rows, a CSV file a run (not of runs read with --resume)"},
    {"files", 0, CLI_TEXT, CMD_LAB_AT(files), "DIR",
     "each run as files for fisd: its split, a configuration, and its versions with their weights"},
    {"set", 0, CLI_TEXT, CMD_LAB_AT(set), "\"NAME=VALUE …\"",
     "other options of the runs: \"standardise=1 delay=1\"; --set help lists them"},
    {"against", 0, CLI_TEXT, CMD_LAB_AT(against), "METHOD",
     "what is compared with; default random"},
    {"anchors", 0, CLI_FLAG, CMD_LAB_AT(anchors), NULL,
     "the anchors below what is published as methods of their own"},
    {"path", 0, CLI_FLAG, CMD_LAB_AT(path), NULL, "test figures after every round too"},
    {.name = NULL},
};

const struct cli_command cmd_lab_run = {
    .name = "lab run",
    .arguments = "[options]",
    .summary = "tasks x metrics x methods x seeds, and the tables",
    .text =
        "Runs every method on every task, for every metric and seed, and tells accuracy and\n"
        "violation on test rows that no method has seen, against random labels.\n\n"
        "methods  base, random, entropy, bald, isal, jtt, fis, fis+, ekg, product, random+val,\n"
        "         random+pub, entropy+pub, group-aware; or any way to\n"
        "         choose labels with any way to publish: ACQUISITION/PUBLICATION",
    .options = options,
    .run = run,
};
