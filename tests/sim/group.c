/* Consumer groups: sessions, generations, and the cooperative way of handing partitions over: a
 * partition that is to move is first given up by its owner, and has a new one a generation later.
 */
#include "broker.h"

#define REBALANCE_MS 60000

static struct sim_member *find(struct sim_group *g, uint32_t member)
{
    for (int i = 0; i < SIM_MEMBERS; i++)
        if (g->members[i].key == member)
            return &g->members[i];
    return NULL;
}

static void prepare(struct sim_broker *b, struct sim_group *g)
{
    if (g->preparing)
        return;
    g->preparing = true;
    g->preparing_since = b->w->now;
    for (int i = 0; i < SIM_MEMBERS; i++)
        g->members[i].joined = false;
}

void sim_group_join(struct sim_broker *b, enum sim_group_id id, uint32_t member, uint32_t owned)
{
    struct sim_group *g = &b->groups[id];
    struct sim_member *m = find(g, member);
    prepare(b, g);
    if (!m) {
        m = find(g, 0);
        SIM_MUST(b->w, m, "simulator: a group of more than %d members", SIM_MEMBERS);
        *m = (struct sim_member){.key = member, .generation = -1};
    }
    m->seen = b->w->now;
    m->owned = owned;
    m->joined = true;
}

void sim_group_leave(struct sim_broker *b, enum sim_group_id id, uint32_t member)
{
    struct sim_group *g = &b->groups[id];
    struct sim_member *m = find(g, member);
    if (!m)
        return;
    *m = (struct sim_member){0};
    prepare(b, g);
}

enum sim_beat sim_group_beat(struct sim_broker *b, enum sim_group_id id, uint32_t member,
                             int32_t *generation, uint32_t *assigned)
{
    struct sim_group *g = &b->groups[id];
    struct sim_member *m = find(g, member);
    if (!m)
        return SIM_BEAT_UNKNOWN;
    m->seen = b->w->now;
    if (g->preparing)
        return m->joined ? SIM_BEAT_WAIT : SIM_BEAT_REJOIN;
    if (*generation == m->generation)
        return SIM_BEAT_OK;
    *generation = m->generation;
    *assigned = m->assigned;
    m->owned = m->assigned;
    return SIM_BEAT_ASSIGNED;
}

enum sim_code sim_group_commit(struct sim_broker *b, enum sim_group_id id, uint32_t member,
                               int32_t generation, int32_t partition, int64_t next)
{
    struct sim_group *g = &b->groups[id];
    if (!find(g, member))
        return SIM_UNKNOWN_MEMBER;
    if (generation != g->generation)
        return SIM_OLD_GENERATION;
    int64_t *committed = &g->committed[g->topic][partition], before = *committed;
    *committed = next;
    if (b->on_offset)
        b->on_offset(b->w, id, partition, before, next);
    return SIM_OK;
}

int64_t sim_group_committed(const struct sim_broker *b, enum sim_group_id g, enum sim_topic t,
                            int32_t partition)
{
    return b->groups[g].committed[t][partition];
}

/* ---- assignment ---------------------------------------------------------------------------- */

static uint32_t count_bits(uint32_t x)
{
    return (uint32_t)__builtin_popcount(x);
}

static struct sim_member *least(struct sim_broker *b, struct sim_group *g)
{
    struct sim_member *best = NULL;
    uint32_t from = sim_below(b->w, SIM_RNG_NET, SIM_MEMBERS);
    for (uint32_t k = 0; k < SIM_MEMBERS; k++) {
        struct sim_member *m = &g->members[(from + k) % SIM_MEMBERS];
        if (m->key && (!best || count_bits(m->assigned) < count_bits(best->assigned)))
            best = m;
    }
    return best;
}

/* Each keeps what it has, up to its share; two that claim the same (one of them is a ghost) keep
 * neither: that partition has a new owner in the next generation. */
static uint32_t keep(struct sim_group *g, uint32_t share)
{
    uint32_t claimed = 0, twice = 0, moving = 0;
    for (int i = 0; i < SIM_MEMBERS; i++) {
        twice |= claimed & g->members[i].owned;
        claimed |= g->members[i].key ? g->members[i].owned : 0;
    }
    for (int i = 0; i < SIM_MEMBERS; i++) {
        struct sim_member *m = &g->members[i];
        m->assigned = m->key ? m->owned & ~twice : 0;
        uint32_t most = m->key && m->key == g->shaken ? 0 : share;
        for (uint32_t p = 0; count_bits(m->assigned) > most; p++)
            if (m->assigned & (1u << p)) {
                m->assigned &= ~(1u << p);
                moving |= 1u << p;
            }
    }
    return moving | twice;
}

static void assign(struct sim_broker *b, struct sim_group *g)
{
    uint32_t members = 0, partitions = b->partitions[g->topic], taken = 0;
    for (int i = 0; i < SIM_MEMBERS; i++)
        members += g->members[i].key != 0;
    if (members == 0)
        return;
    taken = keep(g, (partitions + members - 1) / members);
    for (int i = 0; i < SIM_MEMBERS; i++)
        taken |= g->members[i].assigned;
    for (uint32_t p = 0; p < partitions; p++)
        if (!(taken & (1u << p)))
            least(b, g)->assigned |= 1u << p;
    g->shaken = 0;
}

static void complete(struct sim_broker *b, struct sim_group *g)
{
    bool all = true;
    for (int i = 0; i < SIM_MEMBERS; i++)
        all &= !g->members[i].key || g->members[i].joined;
    if (!all && b->w->now - g->preparing_since < REBALANCE_MS)
        return;
    for (int i = 0; i < SIM_MEMBERS; i++)
        if (g->members[i].key && !g->members[i].joined)
            g->members[i] = (struct sim_member){0};
    g->preparing = false;
    g->generation++;
    assign(b, g);
    for (int i = 0; i < SIM_MEMBERS; i++)
        g->members[i].generation = g->generation;
}

static void expire(struct sim_broker *b, struct sim_group *g)
{
    for (int i = 0; i < SIM_MEMBERS; i++) {
        struct sim_member *m = &g->members[i];
        if (!m->key || b->w->now - m->seen <= g->session_ms)
            continue;
        sim_note(b->w, "broker", "group of %s: member %u has gone", sim_topic_names[g->topic],
                 m->key);
        *m = (struct sim_member){0};
        prepare(b, g);
    }
}

void sim_group_tick(struct sim_broker *b)
{
    for (int i = 0; i < SIM_GROUPS; i++) {
        expire(b, &b->groups[i]);
        if (b->groups[i].preparing)
            complete(b, &b->groups[i]);
    }
}

void sim_group_stir(struct sim_broker *b, enum sim_group_id id)
{
    struct sim_group *g = &b->groups[id];
    struct sim_member *m = &g->members[sim_below(b->w, SIM_RNG_FAULTS, SIM_MEMBERS)];
    g->shaken = m->key;
    prepare(b, g);
}

void sim_group_up(struct sim_broker *b)
{
    for (int g = 0; g < SIM_GROUPS; g++)
        for (int i = 0; i < SIM_MEMBERS; i++)
            b->groups[g].members[i].seen = b->w->now;
}
