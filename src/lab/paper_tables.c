/* Numbers only; see the header. One cell of the Random+Val table is printed "0.801, 0,115": read as
 * .115. */
#include "lab/paper_tables.h"

#include <math.h>
#include <string.h>

/* accuracy, its deviation, violation, its deviation; for DP, EOp, EOd */
#define MAIN(task, method, a, as, v, vs, b, bs, w, ws, c, cs, x, xs)                               \
    {                                                                                              \
        LAB_PAPER_MAIN, task, method, 1, {a, as, v, vs}, {b, bs, w, ws},                           \
        {                                                                                          \
            c, cs, x, xs                                                                           \
        }                                                                                          \
    }
/* accuracy, violation; for DP, EOp, EOd */
#define SIZE(task, share, a, v, b, w, c, x)                                                        \
    {                                                                                              \
        LAB_PAPER_VALIDATION_SIZE, task, "fis", share, {a, NAN, v, NAN}, {b, NAN, w, NAN},         \
        {                                                                                          \
            c, NAN, x, NAN                                                                         \
        }                                                                                          \
    }
#define WITH_VAL(task, method, a, v, b, w, c, x)                                                   \
    {                                                                                              \
        LAB_PAPER_RANDOM_VAL, task, method, 1, {a, NAN, v, NAN}, {b, NAN, w, NAN},                 \
        {                                                                                          \
            c, NAN, x, NAN                                                                         \
        }                                                                                          \
    }

static const struct lab_paper_row rows[] = {
    MAIN("celeba-smiling", "base", .789, .003, .127, .007, .789, .003, .067, .003, .789, .003, .094,
         .008),
    MAIN("celeba-smiling", "random", .837, .017, .133, .001, .840, .020, .059, .005, .837, .022,
         .039, .008),
    MAIN("celeba-smiling", "bald", .856, .024, .140, .012, .854, .025, .062, .005, .856, .024, .033,
         .005),
    MAIN("celeba-smiling", "isal", .867, .022, .138, .010, .867, .022, .057, .007, .867, .021, .031,
         .001),
    MAIN("celeba-smiling", "jtt", .698, .018, .077, .006, .679, .013, .045, .002, .689, .017, .079,
         .007),
    MAIN("celeba-smiling", "fis", .848, .025, .084, .055, .845, .034, .032, .007, .800, .098, .033,
         .010),
    MAIN("celeba-attractive", "base", .664, .005, .251, .022, .658, .009, .179, .014, .664, .005,
         .181, .017),
    MAIN("celeba-attractive", "random", .693, .002, .372, .006, .693, .012, .250, .011, .693, .002,
         .252, .008),
    MAIN("celeba-attractive", "bald", .712, .015, .431, .020, .712, .016, .297, .008, .712, .016,
         .307, .007),
    MAIN("celeba-attractive", "isal", .713, .009, .410, .003, .713, .009, .275, .011, .712, .009,
         .296, .023),
    MAIN("celeba-attractive", "jtt", .621, .015, .094, .004, .605, .013, .083, .011, .617, .013,
         .086, .006),
    MAIN("celeba-attractive", "fis", .644, .025, .200, .060, .674, .015, .112, .025, .677, .010,
         .159, .008),
    MAIN("celeba-young", "base", .755, .002, .190, .017, .759, .005, .102, .005, .755, .002, .182,
         .018),
    MAIN("celeba-young", "random", .763, .008, .158, .016, .698, .109, .075, .021, .766, .011, .156,
         .017),
    MAIN("celeba-young", "bald", .776, .021, .165, .019, .775, .020, .076, .007, .779, .005, .162,
         .021),
    MAIN("celeba-young", "isal", .781, .020, .180, .014, .781, .020, .084, .006, .780, .021, .173,
         .012),
    MAIN("celeba-young", "jtt", .774, .026, .167, .016, .774, .024, .083, .007, .772, .023, .171,
         .025),
    MAIN("celeba-young", "fis", .763, .004, .104, .059, .773, .003, .041, .015, .763, .005, .118,
         .074),
    MAIN("celeba-big-nose", "base", .752, .024, .198, .034, .755, .022, .206, .018, .755, .022,
         .183, .029),
    MAIN("celeba-big-nose", "random", .760, .009, .177, .014, .757, .004, .190, .029, .759, .006,
         .167, .029),
    MAIN("celeba-big-nose", "bald", .777, .004, .184, .016, .765, .003, .209, .014, .770, .004,
         .170, .015),
    MAIN("celeba-big-nose", "isal", .782, .001, .148, .059, .782, .001, .154, .080, .779, .006,
         .145, .065),
    MAIN("celeba-big-nose", "jtt", .771, .014, .191, .036, .758, .026, .223, .018, .764, .019, .193,
         .016),
    MAIN("celeba-big-nose", "fis", .779, .009, .089, .076, .780, .013, .046, .072, .772, .015, .062,
         .081),
    MAIN("adult-age", "base", .665, .045, .255, .041, .665, .045, .115, .036, .665, .045, .158,
         .030),
    MAIN("adult-age", "random", .765, .021, .209, .042, .758, .027, .127, .013, .764, .018, .133,
         .027),
    MAIN("adult-age", "bald", .767, .019, .203, .017, .703, .111, .117, .013, .763, .022, .128,
         .014),
    MAIN("adult-age", "isal", .765, .020, .215, .011, .755, .028, .128, .013, .761, .024, .138,
         .009),
    MAIN("adult-age", "jtt", .751, .013, .262, .020, .742, .018, .149, .021, .745, .014, .171,
         .012),
    MAIN("adult-age", "fis", .766, .013, .214, .009, .757, .034, .113, .017, .763, .011, .143,
         .023),
    MAIN("compas", "base", .675, .005, .333, .008, .675, .005, .267, .010, .675, .005, .284, .010),
    MAIN("compas", "random", .689, .007, .305, .023, .686, .016, .253, .035, .688, .006, .256,
         .023),
    MAIN("compas", "bald", .688, .011, .313, .012, .686, .015, .256, .031, .688, .011, .263, .011),
    MAIN("compas", "isal", .697, .002, .308, .025, .698, .004, .274, .022, .697, .001, .260, .026),
    MAIN("compas", "jtt", .646, .009, .240, .016, .630, .024, .141, .028, .646, .009, .200, .007),
    MAIN("compas", "fis", .690, .002, .299, .029, .694, .002, .241, .035, .698, .005, .252, .030),

    SIZE("celeba-smiling", 1, .848, .084, .876, .031, .864, .030),
    SIZE("celeba-smiling", .5, .872, .105, .891, .042, .880, .028),
    SIZE("celeba-smiling", .2, .872, .117, .863, .057, .886, .028),
    SIZE("celeba-attractive", 1, .680, .285, .695, .148, .692, .148),
    SIZE("celeba-attractive", .5, .648, .249, .688, .188, .678, .147),
    SIZE("celeba-attractive", .2, .604, .171, .707, .209, .645, .145),
    SIZE("celeba-young", 1, .766, .139, .775, .043, .769, .168),
    SIZE("celeba-young", .5, .735, .093, .762, .067, .769, .055),
    SIZE("celeba-young", .2, .743, .107, .780, .097, .757, .166),
    SIZE("celeba-big-nose", 1, .771, .156, .765, .129, .758, .155),
    SIZE("celeba-big-nose", .5, .771, .054, .761, .162, .748, .096),
    SIZE("celeba-big-nose", .2, .772, .095, .750, .300, .760, .156),
    SIZE("adult-age", 1, .757, .198, .718, .124, .750, .125),
    SIZE("adult-age", .5, .717, .259, .634, .123, .736, .143),
    SIZE("adult-age", .25, .749, .196, .750, .121, .747, .137),
    SIZE("adult-age", .05, .721, .205, .706, .148, .706, .179),
    SIZE("compas", 1, .690, .313, .696, .249, .702, .257),
    SIZE("compas", .5, .683, .270, .680, .247, .693, .244),
    SIZE("compas", .25, .677, .283, .682, .276, .680, .244),
    SIZE("compas", .05, .689, .289, .668, .236, .683, .252),

    WITH_VAL("celeba-smiling", "random", .853, .132, .863, .053, .861, .031),
    WITH_VAL("celeba-smiling", "random+val", .801, .115, .872, .139, .879, .153),
    WITH_VAL("celeba-smiling", "fis", .877, .122, .886, .040, .882, .023),
    WITH_VAL("celeba-attractive", "random", .696, .367, .708, .253, .696, .243),
    WITH_VAL("celeba-attractive", "random+val", .638, .199, .699, .366, .699, .355),
    WITH_VAL("celeba-attractive", "fis", .680, .285, .695, .148, .692, .148),
    WITH_VAL("adult-age", "random", .745, .236, .729, .136, .748, .151),
    WITH_VAL("adult-age", "random+val", .762, .161, .743, .266, .788, .131),
    WITH_VAL("adult-age", "fis", .751, .205, .725, .130, .750, .125),
    WITH_VAL("compas", "random", .696, .316, .698, .258, .694, .269),
    WITH_VAL("compas", "random+val", .604, .136, .623, .147, .628, .153),
    WITH_VAL("compas", "fis", .688, .316, .695, .250, .693, .254),
};
enum { ROWS = sizeof rows / sizeof *rows };

const struct lab_paper_row *lab_paper_rows(uint32_t *n)
{
    *n = ROWS;
    return rows;
}

const struct lab_paper_value *lab_paper_find(enum lab_paper_table table, const char *task,
                                             const char *method, double validation,
                                             enum fis_metric metric)
{
    for (uint32_t i = 0; i < ROWS; i++) {
        const struct lab_paper_row *r = &rows[i];
        if (r->table != table || fabs(r->validation - validation) > 1e-9 ||
            strcmp(r->task, task) != 0 || strcmp(r->method, method) != 0)
            continue;
        switch (metric) {
        case FIS_DEMOGRAPHIC_PARITY:
            return &r->dp;
        case FIS_EQUAL_OPPORTUNITY:
            return &r->eop;
        case FIS_EQUALIZED_ODDS:
            return &r->eod;
        case FIS_RISK_DISPARITY:
            return NULL;
        }
    }
    return NULL;
}
