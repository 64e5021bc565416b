#include "role/agreement.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fis/mem.h"
#include "wire/types.h"

static bool is_label(const struct fis_vote *v)
{
    return v->status == WIRE_LABELLED && v->class_index < FIS_MAX_CLASSES;
}

void agreement_done(struct agreement *a)
{
    for (uint32_t i = 0; i < a->n_people; i++)
        fis_free(a->people[i].name);
    fis_free(a->people);
    *a = (struct agreement){0};
}

static struct agreement_person *person_of(const struct agreement *a, const char *name)
{
    for (uint32_t i = 0; i < a->n_people; i++)
        if (strcmp(a->people[i].name, name) == 0)
            return &a->people[i];
    return NULL;
}

/* Room for everybody before anything is added. */
static int meet(struct agreement *a, const struct fis_vote *votes, uint32_t n, struct fis_error *e)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!is_label(&votes[i]) || person_of(a, votes[i].annotator) ||
            a->n_people == AGREEMENT_PEOPLE)
            continue;
        char *name = fis_strdup(votes[i].annotator);
        if (!name || !fis_more(&a->people, a->n_people, sizeof *a->people)) {
            fis_free(name);
            return fis_fail(e, FIS_NOMEM, "no memory for the agreement of annotators");
        }
        a->people[a->n_people++] = (struct agreement_person){.name = name};
    }
    return 0;
}

/* A class that `count` of m answers name. */
static void put_class(struct agreement_sums *s, uint32_t k, double count, double m, double sign)
{
    if (m < 2)
        return;
    s->same[k] += sign * count * (count - 1) / (m - 1);
    s->total[k] += sign * count;
}

/* What the whole has with this answer, less what it has without it. */
static void put_person(struct agreement_person *p, const double counts[FIS_MAX_CLASSES], double m,
                       uint32_t own, double sign)
{
    for (uint32_t k = 0; k < FIS_MAX_CLASSES; k++) {
        if (counts[k] <= 0)
            continue;
        put_class(&p->adds, k, counts[k], m, sign);
        put_class(&p->adds, k, counts[k] - (k == own), m - 1, -sign);
    }
    p->pairs += sign * (m - 1);
    p->alike += sign * (counts[own] - 1);
    p->answers += sign > 0 ? 1 : UINT64_MAX; /* of unsigned numbers: one less */
}

static void put(struct agreement *a, const struct fis_vote *votes, uint32_t n, double sign)
{
    double counts[FIS_MAX_CLASSES] = {0}, m = 0;
    for (uint32_t i = 0; i < n; i++)
        if (is_label(&votes[i])) {
            counts[votes[i].class_index]++;
            m++;
        }
    if (m < 2)
        return;
    for (uint32_t k = 0; k < FIS_MAX_CLASSES; k++)
        put_class(&a->all, k, counts[k], m, sign);
    for (uint32_t i = 0; i < n; i++) {
        struct agreement_person *p = is_label(&votes[i]) ? person_of(a, votes[i].annotator) : NULL;
        if (p)
            put_person(p, counts, m, votes[i].class_index, sign);
    }
    a->records += sign > 0 ? 1 : UINT64_MAX;
}

int agreement_add(struct agreement *a, const struct fis_vote *votes, uint32_t n,
                  struct fis_error *e)
{
    uint32_t labels = 0;
    for (uint32_t i = 0; i < n; i++)
        labels += is_label(&votes[i]);
    if (labels < 2)
        return 0;
    int rc = meet(a, votes, n, e);
    if (!rc)
        put(a, votes, n, 1);
    return rc;
}

void agreement_take(struct agreement *a, const struct fis_vote *votes, uint32_t n)
{
    put(a, votes, n, -1);
}

/* 1 - observed / expected disagreement, of sums over the classes. */
static double alpha(double n, double same, double squares)
{
    double expected = n * n - squares;
    return n > 1 && expected > 0 ? 1 - (n - 1) * (n - same) / expected : (double)NAN;
}

static double alpha_of(const struct agreement_sums *all, const struct agreement_sums *less)
{
    double n = 0, same = 0, squares = 0;
    for (uint32_t k = 0; k < FIS_MAX_CLASSES; k++) {
        double total = all->total[k] - (less ? less->total[k] : 0);
        n += total;
        same += all->same[k] - (less ? less->same[k] : 0);
        squares += total * total;
    }
    return alpha(n, same, squares);
}

double agreement_alpha(const struct agreement *a)
{
    return alpha_of(&a->all, NULL);
}

double agreement_of_class(const struct agreement *a, uint32_t class_index)
{
    double n = 0, own = a->all.total[class_index], same = a->all.same[class_index];
    for (uint32_t k = 0; k < FIS_MAX_CLASSES; k++)
        n += a->all.total[k];
    /* Of the rest with itself: all coincidences less those in which the class is. */
    return alpha(n, same + n - 2 * own + same, own * own + (n - own) * (n - own));
}

double agreement_without(const struct agreement *a, const struct agreement_person *p)
{
    return alpha_of(&a->all, &p->adds);
}

double agreement_share(const struct agreement_person *p)
{
    return p->pairs > 0 ? p->alike / p->pairs : (double)NAN;
}

void agreement_look(const struct agreement *a, struct agreement_view *out)
{
    out->records = a->records;
    out->alpha = agreement_alpha(a);
    for (uint32_t k = 0; k < FIS_MAX_CLASSES; k++)
        out->by_class[k] = agreement_of_class(a, k);
    out->n_people = a->n_people < AGREEMENT_SHOWN ? a->n_people : AGREEMENT_SHOWN;
    for (uint32_t i = 0; i < out->n_people; i++) {
        const struct agreement_person *p = &a->people[i];
        snprintf(out->people[i].name, sizeof out->people[i].name, "%s", p->name);
        out->people[i].answers = p->answers;
        out->people[i].share = agreement_share(p);
        out->people[i].without = agreement_without(a, p);
    }
}
