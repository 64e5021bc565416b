#include "daemon/runtime/reload.h"

#include "daemon/labelling/label_host.h"
#include "daemon/monitor/monitor.h"
#include "daemon/trainer/trainer_host.h"

static void say_refused(const struct runtime *rt, const struct config_problems *problems,
                        const struct fis_error *e)
{
    log_line(LOG_LEVEL_ERROR, "reload",
             "file=\"%s\" reason=\"%s\" text=\"nothing was changed; fisd --check-config lists "
             "every mistake\"",
             rt->config_path, problems->count ? problems->text[0] : e->text);
}

/* other_token: http.token_file is the same name, and what stands in it is not. */
static void say_taken(const struct runtime *rt, const struct config_changes *c, bool other_token)
{
    if (c->taken)
        log_line(LOG_LEVEL_INFO, "reload", "file=\"%s\" changed=\"%s\"", rt->config_path,
                 c->taken_keys);
    if (c->kept)
        log_line(LOG_LEVEL_WARN, "reload",
                 "file=\"%s\" not_changed=\"%s\" text=\"these take effect at a restart\"",
                 rt->config_path, c->kept_keys);
    if (other_token)
        log_line(LOG_LEVEL_INFO, "reload",
                 "file=\"%s\" text=\"the token in the file of http.token_file has changed, and is "
                 "in force\"",
                 rt->config_path);
    if (!c->taken && !c->kept && !other_token)
        log_line(LOG_LEVEL_INFO, "reload", "file=\"%s\" text=\"nothing differs\"", rt->config_path);
}

/* True when the token has changed. */
static bool put_in_force(struct runtime *rt)
{
    log_set_level((enum log_level)rt->cfg->log.level);
    if (rt->trainer)
        trainer_host_adjust(rt->trainer);
    if (rt->labels)
        label_host_adjust(rt->labels);
    return monitor_reload(rt->monitor);
}

void reload(struct runtime *rt)
{
    struct config next;
    struct config_problems *problems = fis_calloc(1, sizeof *problems);
    struct config_changes changes;
    struct fis_error e = {0};
    notify_reloading(&rt->notify, uv_hrtime());
    if (!problems) {
        log_line(LOG_LEVEL_ERROR, "reload", "reason=\"no memory: nothing was changed\"");
    } else if (config_load_all(rt->config_path, &next, problems, &e) < 0) {
        say_refused(rt, problems, &e);
    } else {
        config_adopt(rt->cfg, &next, &changes);
        config_done(&next);
        say_taken(rt, &changes, put_in_force(rt));
    }
    fis_free(problems);
    notify_reloaded(&rt->notify);
}
