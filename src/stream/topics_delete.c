/* Topics and consumer groups that go, and who is in a group. */
#include "stream/topics.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "fis/mem.h"
#include "stream/admin.h"

/* ---- topics ------------------------------------------------------------------------------ */

static int deleted(const rd_kafka_topic_result_t *result, struct stream_topic_report *r,
                   struct fis_error *e)
{
    rd_kafka_resp_err_t err = rd_kafka_topic_result_error(result);
    r->missing = err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
    r->exists = err && !r->missing;
    if (!r->exists)
        return 0;
    const char *text = rd_kafka_topic_result_error_string(result);
    snprintf(r->text, sizeof r->text, "%s", text ? text : rd_kafka_err2str(err));
    return fis_fail(e, stream_admin_passes(err) ? FIS_RETRY : FIS_FATAL,
                    "kafka topic \"%s\" cannot be deleted: %s", rd_kafka_topic_result_name(result),
                    r->text);
}

static int take_deleted(const rd_kafka_event_t *ev, const char *const *names, size_t count,
                        struct stream_topic_report *reports, struct fis_error *e)
{
    size_t n;
    const rd_kafka_topic_result_t **list = rd_kafka_DeleteTopics_result_topics(
        rd_kafka_event_DeleteTopics_result((rd_kafka_event_t *)(uintptr_t)ev), &n);
    int rc = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < count; k++)
            if (strcmp(names[k], rd_kafka_topic_result_name(list[i])) == 0) {
                int one = deleted(list[i], &reports[k], rc ? NULL : e);
                rc = rc ? rc : one;
            }
    return rc;
}

static int send_deletion(struct stream_admin *a, const char *const *names, size_t count,
                         struct stream_topic_report *reports, struct fis_error *e)
{
    rd_kafka_event_t *ev;
    rd_kafka_DeleteTopic_t **list = fis_calloc(count ? count : 1, sizeof(void *));
    if (!list)
        return fis_fail(e, FIS_NOMEM, "kafka topics: out of memory");
    for (size_t i = 0; i < count; i++) {
        list[i] = rd_kafka_DeleteTopic_new(names[i]);
        reports[i] = (struct stream_topic_report){.exists = true};
    }
    rd_kafka_AdminOptions_t *o = stream_admin_options(a, RD_KAFKA_ADMIN_OP_DELETETOPICS);
    rd_kafka_DeleteTopics(a->rk, list, count, o, a->queue);
    rd_kafka_AdminOptions_destroy(o);
    rd_kafka_DeleteTopic_destroy_array(list, count);
    fis_free(list);
    int rc = stream_admin_wait(a, "delete topics", &ev, e);
    if (rc)
        return rc;
    rc = take_deleted(ev, names, count, reports, e);
    rd_kafka_event_destroy(ev);
    return rc;
}

int stream_topics_delete(const struct stream_client *client, const char *const *names, size_t count,
                         int timeout_ms, struct stream_topic_report *reports, struct fis_error *e)
{
    const int64_t until = stream_now_ms() + timeout_ms;
    struct stream_admin a;
    int rc = stream_admin_open(&a, client, timeout_ms, e);
    if (rc)
        return rc;
    do {
        rc = stream_admin_ready(&a, e);
        if (!rc && count)
            rc = send_deletion(&a, names, count, reports, e);
    } while (rc == -FIS_RETRY && stream_now_ms() < until && stream_admin_pause(&a));
    stream_admin_close(&a);
    return rc;
}

/* ---- groups ------------------------------------------------------------------------------ */

/* A request about one group. send: puts it; take: its answer. */
struct group_request {
    const char *group, *what;
    rd_kafka_admin_op_t op;
    void (*send)(struct stream_admin *a, const char *group, const rd_kafka_AdminOptions_t *o);
    int (*take)(const rd_kafka_event_t *ev, const char *group, void *out, struct fis_error *e);
    void *out;
};

/* A group that nobody knows is no fault. RETRY: its coordinator is not known yet, or moves. */
static int group_answer(const rd_kafka_error_t *error, const char *group, struct fis_error *e)
{
    switch (error ? rd_kafka_error_code(error) : RD_KAFKA_RESP_ERR_NO_ERROR) {
    case RD_KAFKA_RESP_ERR_NO_ERROR:
    case RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND:
        return 0;
    case RD_KAFKA_RESP_ERR_NOT_COORDINATOR:
    case RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS:
        return fis_fail(e, FIS_RETRY, "kafka group \"%s\": %s", group,
                        rd_kafka_error_string(error));
    default:
        return fis_fail(e, FIS_FATAL, "kafka group \"%s\": %s", group,
                        rd_kafka_error_string(error));
    }
}

static int ask_once(struct stream_admin *a, const struct group_request *r, struct fis_error *e)
{
    rd_kafka_event_t *ev;
    rd_kafka_AdminOptions_t *o = stream_admin_options(a, r->op);
    r->send(a, r->group, o);
    rd_kafka_AdminOptions_destroy(o);
    int rc = stream_admin_wait(a, r->what, &ev, e);
    if (rc)
        return rc;
    rc = r->take(ev, r->group, r->out, e);
    rd_kafka_event_destroy(ev);
    return rc;
}

static int ask_group(const struct stream_client *client, const struct group_request *r,
                     int timeout_ms, struct fis_error *e)
{
    const struct timespec pause = {0, 200000000L};
    struct stream_admin a;
    int rc = stream_admin_open(&a, client, timeout_ms, e);
    if (rc)
        return rc;
    rc = stream_admin_ready(&a, e);
    if (!rc)
        rc = ask_once(&a, r, e);
    while (rc == -FIS_RETRY && stream_admin_left(&a) > 1) {
        nanosleep(&pause, NULL);
        rc = ask_once(&a, r, e);
    }
    stream_admin_close(&a);
    return rc;
}

static void send_describe(struct stream_admin *a, const char *group,
                          const rd_kafka_AdminOptions_t *o)
{
    rd_kafka_DescribeConsumerGroups(a->rk, &group, 1, o, a->queue);
}

static int take_members(const rd_kafka_event_t *ev, const char *group, void *out,
                        struct fis_error *e)
{
    size_t n;
    const rd_kafka_ConsumerGroupDescription_t **list =
        rd_kafka_DescribeConsumerGroups_result_groups(
            rd_kafka_event_DescribeConsumerGroups_result((rd_kafka_event_t *)(uintptr_t)ev), &n);
    const rd_kafka_error_t *error = n ? rd_kafka_ConsumerGroupDescription_error(list[0]) : NULL;
    int rc = group_answer(error, group, e);
    if (!rc)
        *(uint32_t *)out =
            n && !error ? (uint32_t)rd_kafka_ConsumerGroupDescription_member_count(list[0]) : 0;
    return rc;
}

int stream_group_members(const struct stream_client *client, const char *group, int timeout_ms,
                         uint32_t *members, struct fis_error *e)
{
    const struct group_request r = {.group = group,
                                    .what = "describe a consumer group",
                                    .op = RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS,
                                    .send = send_describe,
                                    .take = take_members,
                                    .out = members};
    return ask_group(client, &r, timeout_ms, e);
}

static void send_deletion_of(struct stream_admin *a, const char *group,
                             const rd_kafka_AdminOptions_t *o)
{
    rd_kafka_DeleteGroup_t *one = rd_kafka_DeleteGroup_new(group);
    rd_kafka_DeleteGroups(a->rk, &one, 1, o, a->queue);
    rd_kafka_DeleteGroup_destroy(one);
}

static int take_deletion(const rd_kafka_event_t *ev, const char *group, void *out,
                         struct fis_error *e)
{
    size_t n;
    const rd_kafka_group_result_t **list = rd_kafka_DeleteGroups_result_groups(
        rd_kafka_event_DeleteGroups_result((rd_kafka_event_t *)(uintptr_t)ev), &n);
    (void)out;
    return group_answer(n ? rd_kafka_group_result_error(list[0]) : NULL, group, e);
}

int stream_group_delete(const struct stream_client *client, const char *group, int timeout_ms,
                        struct fis_error *e)
{
    const struct group_request r = {.group = group,
                                    .what = "delete a consumer group",
                                    .op = RD_KAFKA_ADMIN_OP_DELETEGROUPS,
                                    .send = send_deletion_of,
                                    .take = take_deletion};
    return ask_group(client, &r, timeout_ms, e);
}
