/* fisctl lab ablate, noise, delay, stream: one thing is varied, the rest is as in `lab run`. */
#include "cli/cmd_lab_exp.h"

static const struct command_option options[] = {
    CMD_LAB_CHOICES, {"regime", 0, CLI_TEXT, CMD_LAB_AT(regime), "rich|scarce", "default scarce"},
    CMD_LAB_SEEDS,   CMD_LAB_FILES,
    {.name = NULL},
};

static int vary(struct cli *c, const struct cli_command *self, const struct lab_experiment *x,
                int argc, char **argv)
{
    struct cmd_lab_exp_options o = {.settings = NULL};
    enum cli_parsed parsed = cli_parse_options(c, self, argc, argv, &o);
    if (parsed != CLI_GO)
        return cli_parsed_exit(parsed);
    return cmd_lab_experiment(c, x, &o, cmd_lab_finish);
}

static int run_noise(struct cli *c, const struct cli_command *self, int argc, char **argv)
{
    return vary(c, self, &lab_exp_noise, argc, argv);
}

static int run_delay(struct cli *c, const struct cli_command *self, int argc, char **argv)
{
    return vary(c, self, &lab_exp_delay, argc, argv);
}

static int run_stream(struct cli *c, const struct cli_command *self, int argc, char **argv)
{
    return vary(c, self, &lab_exp_stream, argc, argv);
}

static int run_ablate(struct cli *c, const struct cli_command *self, int argc, char **argv)
{
    struct cmd_lab_exp_options o = {.settings = NULL};
    struct fis_error e;
    int first;
    enum cli_parsed parsed = cli_parse(c, self, argc, argv, &o, &first);
    if (parsed != CLI_GO)
        return cli_parsed_exit(parsed);
    if (argc - first != 1)
        return cli_usage(self,
                         "one of budget, validation, strategy, epsilon, mix, window is required");
    const struct lab_experiment *x = lab_ablation_find(argv[first], &e);
    if (!x)
        return cli_usage(self, "%s", e.text);
    return cmd_lab_experiment(c, x, &o, cmd_lab_finish);
}

const struct cli_command cmd_lab_ablate = {
    .name = "lab ablate",
    .arguments = "budget|validation|strategy|epsilon|mix|window [options]",
    .summary = "one choice of the method is varied",
    .text = "budget      labels of a round: a quarter to four times the protocol's\n"
            "validation  a share of the validation rows; the test rows stay the same. Under 500\n"
            "            rows the gate refuses, and the anchor stands\n"
            "strategy    proxy labels I and II of the published algorithm (fis): the same for two\n"
            "            classes, and different for more (adult-occupation)\n"
            "epsilon     accuracy that the gate may give up\n"
            "mix         what a round buys: gain, entropy, both, their product; and how hard\n"
            "            training pushes on what is kept (mix of fis)\n"
            "window      how many records a round looks at; and one pass over the stream\n\n"
            "Tasks are adult-sex and celeba-big-nose unless others are named, the metric is eod.",
    .options = options,
    .run = run_ablate,
};

const struct cli_command cmd_lab_noise = {
    .name = "lab noise",
    .arguments = "[options]",
    .summary = "wrong labels and groups in validation, corrections, noisy directions",
    .text = "Validation rows with wrong labels (10, 20, 40 %) or wrong groups (10, 20 %), without\n"
            "and with what can be done against it: forward correction with the true matrix of\n"
            "noise or an estimated one, and trimming of labels that the model contradicts with\n"
            "confidence; for guide and gate rows, and (at 20 %) for one of them alone. And\n"
            "Gaussian noise of 1 to 100 times a direction's RMS on what scorers get. Labels\n"
            "that are bought, and test rows, stay true.",
    .options = options,
    .run = run_noise,
};

const struct cli_command cmd_lab_delay = {
    .name = "lab delay",
    .arguments = "[options]",
    .summary = "labels that come one or two rounds late",
    .text =
        "A round's answers come evenly over two or four rounds' time, so one or two rounds late "
        "in\n"
        "the mean. A round ends at its deadline with the labels that are in; the others count in\n"
        "the round in which they come. Labels that are not there at the end are not learnt from.",
    .options = options,
    .run = run_delay,
};

const struct cli_command cmd_lab_stream = {
    .name = "lab stream",
    .arguments = "[options]",
    .summary = "one pass over the stream, against the whole pool each round",
    .text =
        "With one pass, a round sees its window of the pool and what the heaps held from those\n"
        "before; else it looks at the whole pool (CelebA: 25,600 random records of it).",
    .options = options,
    .run = run_stream,
};
