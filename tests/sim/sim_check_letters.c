/* The labels that a unit consumed: which, and what each does to its record. */
#include <stdio.h>
#include <string.h>

#include "sim_check_impl.h"
#include "wire/json_codec.h"
#include "wire/protobuf_codec.h"

/* ---- the letters of a unit ----------------------------------------------------------------- */

static void read_letter(struct sim_check *c, const struct wire_message *m, struct check_letter *l)
{
    const struct wire_schema *schema = &c->w->data->schema;
    struct wire_label label;
    struct fis_error e;
    fis_arena_reset(&c->arena);
    enum wire_decoded got = c->w->plan->labels_encoding == WIRE_JSON
                                ? wire_json_label(schema, m, &c->arena, &label, &e)
                                : wire_protobuf_label(schema, m, &c->arena, &label, &e);
    l->fact = check_fact_of(c, m->key);
    l->bad = got != WIRE_OK;
    if (l->bad)
        return;
    l->vote.status = label.status;
    l->vote.class_index = label.status == WIRE_LABELLED ? label.class_index : 0;
    snprintf(l->vote.who, sizeof l->vote.who, "%s", label.annotator ? label.annotator : "");
}

static void keep_label(struct sim_check *c, int32_t p, const struct sim_entry *m)
{
    if (c->n_labels[p] == c->room[p]) {
        uint32_t more = c->room[p] ? 2 * c->room[p] : 64;
        c->labels[p] = sim_grow(c->w, c->labels[p], c->n_labels[p] * sizeof *m, more * sizeof *m);
        c->room[p] = more;
    }
    c->labels[p][c->n_labels[p]++] = *m;
}

/* Where no record is kept there is a transaction's marker. */
void check_keep_label(struct sim_check *c, int32_t p, const struct sim_entry *m)
{
    if (c->n_labels[p] > m->offset) /* the log has lost its tail */
        c->n_labels[p] = (uint32_t)m->offset;
    while (c->n_labels[p] < m->offset)
        keep_label(c, p, &(struct sim_entry){.offset = c->n_labels[p], .marker = true});
    keep_label(c, p, m);
}

/* Of this partition, by how far the unit moved: what is committed and was not deleted before. */
static uint32_t labels_due(const struct sim_check *c, int32_t p)
{
    const struct check_unit *u = &c->unit;
    int64_t end = u->unit->offsets[SIM_LABELS][p], from = u->about->from[SIM_LABELS][p];
    int64_t gone = u->about->gone[SIM_LABELS][p], first = u->about->first[SIM_LABELS][p];
    uint32_t n = 0;
    for (int64_t at = from < 0 ? 0 : from; at < end; at++)
        n += !(at >= gone && at < first) && at < c->n_labels[p] &&
             sim_readable(c->w->broker, &c->labels[p][at]);
    return n;
}

/* Do the unit's offsets say what was taken? Not those of a log that has lost its tail. */
static bool known(const struct check_unit *u, int32_t p)
{
    return u->unit->offsets[SIM_LABELS][p] >= 0 && !u->about->cut[SIM_LABELS][p];
}

void check_collect_letters(struct sim_check *c)
{
    struct check_unit *u = &c->unit;
    const struct sim_about *about = u->about;
    uint32_t taken[SIM_PARTITIONS] = {0};
    for (uint32_t i = 0; i < about->n_labels; i++) {
        int32_t p = about->labels[i].partition;
        const struct sim_entry *m = &about->labels[i].m;
        taken[p]++;
        SIM_MUST(c->w, u->n_letters < CHECK_LETTERS, "simulator: too many labels in a unit");
        struct check_letter *l = &u->letters[u->n_letters++];
        struct wire_message msg = sim_message(SIM_LABELS, p, m);
        *l = (struct check_letter){.partition = p, .offset = m->offset};
        read_letter(c, &msg, l);
    }
    for (int32_t p = 0; p < SIM_PARTITIONS; p++)
        SIM_MUST(c->w, known(u, p) ? taken[p] == labels_due(c, p) : true,
                 "guarantee 4: a unit took %u messages of labels/%d; by its offsets there were %u",
                 taken[p], p, labels_due(c, p));
}

/* ---- what a letter does -------------------------------------------------------------------- */

static struct check_vote *vote_of(struct check_fact *f, const char *who)
{
    for (uint32_t i = 0; i < f->n_votes; i++)
        if (strcmp(f->votes[i].who, who) == 0)
            return &f->votes[i];
    return NULL;
}

static void decide(struct check_fact *f, uint32_t expected)
{
    uint32_t n[4] = {0}, top = 0, second = 0, total = 0;
    for (uint32_t i = 0; i < f->n_votes; i++)
        if (f->votes[i].status == WIRE_LABELLED) {
            n[f->votes[i].class_index]++;
            total++;
        }
    for (uint32_t k = 1; k < 4; k++)
        top = n[k] > n[top] ? k : top;
    for (uint32_t k = 0; k < 4; k++)
        second = k != top && n[k] > second ? n[k] : second;
    uint32_t missing = f->n_votes < expected ? expected - f->n_votes : 0;
    if (n[top] > second + missing) {
        f->state = WIRE_ACCEPTED;
        f->class_index = top;
        f->refunded = 0;
    } else if (!missing && f->state == WIRE_REQUESTED) {
        f->state = total ? WIRE_TIED : WIRE_SKIPPED_BY_PERSON;
        f->refunded = total == 0;
    }
}

enum check_outcome check_apply(struct sim_check *c, struct check_fact *f,
                               const struct check_letter *l)
{
    const struct check_vote *v = &l->vote;
    uint32_t expected = c->w->plan->votes;
    bool label = v->status == WIRE_LABELLED;
    if (l->bad || !f || !f->asked)
        return LETTER_DEAD;
    if (check_answered(f))
        return expected > 1 || !label || v->class_index == f->class_index ? LETTER_AGAIN
                                                                          : LETTER_DEAD;
    if (expected > 1 && !*v->who)
        return LETTER_DEAD;
    if (expected == 1 && !label && f->state == WIRE_SKIPPED_BY_PERSON)
        return LETTER_AGAIN;
    struct check_vote *before = vote_of(f, v->who);
    if (before && before->status == WIRE_LABELLED)
        return label && v->class_index == before->class_index ? LETTER_AGAIN : LETTER_DEAD;
    if (before && !label)
        return LETTER_AGAIN;
    SIM_MUST(c->w, before || f->n_votes < CHECK_VOTES, "simulator: too many votes");
    *(before ? before : &f->votes[f->n_votes++]) = *v;
    decide(f, expected);
    return LETTER_USED;
}

/* The next letters of the record, up to one that changes something. */
bool check_next_change(struct sim_check *c, int fact)
{
    struct check_unit *u = &c->unit;
    for (uint32_t i = 0; i < u->n_letters; i++) {
        struct check_letter *l = &u->letters[i];
        if (l->fact != fact || l->outcome != LETTER_WAITS)
            continue;
        l->outcome = check_apply(c, &c->facts[fact], l);
        if (l->outcome == LETTER_USED)
            return true;
    }
    return false;
}

void check_letters_done(struct sim_check *c)
{
    struct check_unit *u = &c->unit;
    for (uint32_t i = 0; i < u->n_letters; i++) {
        struct check_letter *l = &u->letters[i];
        if (l->outcome != LETTER_WAITS)
            continue;
        l->outcome = check_apply(c, l->fact < 0 ? NULL : &c->facts[l->fact], l);
        SIM_MUST(c->w, l->outcome != LETTER_USED,
                 "guarantee 4: labels/%d@%lld was delivered and committed, but not used",
                 l->partition, (long long)l->offset);
    }
}

void check_note_dead(struct sim_check *c, const struct sim_origin *o)
{
    for (uint32_t i = 0; i < c->unit.n_letters; i++) {
        struct check_letter *l = &c->unit.letters[i];
        l->dead |= o->topic == SIM_LABELS && l->partition == o->partition && l->offset == o->offset;
    }
}

/* Of two at one offset, before and after the log lost its tail, the one that was refused. */
static struct check_letter *letter_at(struct sim_check *c, const struct sim_origin *o)
{
    struct check_unit *u = &c->unit;
    struct check_letter *found = NULL;
    for (uint32_t i = 0; i < u->n_letters; i++) {
        struct check_letter *l = &u->letters[i];
        bool refused = l->outcome == LETTER_DEAD || l->outcome == LETTER_EITHER;
        if (l->partition == o->partition && l->offset == o->offset && (!found || refused))
            found = l;
        if (found && (found->outcome == LETTER_DEAD || found->outcome == LETTER_EITHER))
            break;
    }
    return found;
}

void check_dead_letter(struct sim_check *c, const struct sim_origin *o)
{
    if (check_foreign_dead(c, o))
        return;
    if (o->topic != SIM_LABELS) {
        sim_violated(c->w, "%s/%d@%lld went to dead-letter: %s", sim_topic_names[o->topic],
                     o->partition, (long long)o->offset, o->reason);
    }
    struct check_letter *l = letter_at(c, o);
    if (l) {
        SIM_MUST(c->w, l->outcome == LETTER_DEAD || l->outcome == LETTER_EITHER,
                 "guarantee 4: labels/%d@%lld should be %s, but went to dead-letter: %s",
                 o->partition, (long long)o->offset,
                 l->outcome == LETTER_USED ? "used" : "a duplicate", o->reason);
        l->outcome = LETTER_AGAIN; /* the same again */
        return;
    }
    sim_violated(c->w, "guarantee 4: labels/%d@%lld went to dead-letter, but is not of this unit",
                 o->partition, (long long)o->offset);
}
