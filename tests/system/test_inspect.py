#!/usr/bin/env python3
"""What fisctl shows of a pipeline's inside, and what it takes out of it."""

import json
import os

from fisd_test import KAFKA, Pipeline, has, main, same, t_config, test
from own_broker import set_topics


def doctor(p, code):
    """(check, level) -> [(text, command)]"""
    r = p.fisctl("doctor", "--json")
    same(r.returncode, code, r.stdout + r.stderr)
    found = {}
    for line in r.stdout.splitlines():
        f = json.loads(line)
        found.setdefault((f["check"], f["level"]), []).append((f["text"], f.get("command", "")))
    return found


@test("doctor: all that is wrong at once, with the command that mends it")
def _():
    with Pipeline(t_config()) as p:
        p.start()
        well = doctor(p, 0)
        same({level for _, level in well}, {"ok"}, str(well))
        same({check for check, _ in well}, {"configuration", "files", "broker", "topics", "replicas",
             "retention", "limits", "rights", "processes", "lag", "transactions", "clocks"})
        same(p.stop(), 0)
        set_topics("cleanup.policy", "delete", p.topic("ledger"))
        set_topics("max.message.bytes", "100000", p.topic("models"), p.topic("candidates"))
        set_topics("retention.ms", "1000", p.topic("label-requests"))
        set_topics("min.insync.replicas", "2", p.topic("heads"))
        p.produce("records", [(b"k", b'{"age": 1}')])
        os.unlink(os.path.join(p.dir, "validation.csv"))
        found = doctor(p, 1)

        def finds(check, level, text, command):
            for t, c in found[check, level]:
                if text in t and command in c:
                    return
            raise AssertionError(f"{text!r} with {command!r} is not in {found}")

        alter = f"kafka-configs.sh --bootstrap-server {KAFKA} --alter --entity-type topics --entity-name "
        finds("topics", "fault", p.topic("ledger") + " cleanup.policy is delete",
              alter + p.topic("ledger") + " --add-config cleanup.policy=compact")
        finds("limits", "warning", p.topic("models"), alter + p.topic("models"))
        finds("limits", "warning", p.topic("candidates"), alter + p.topic("candidates"))
        finds("retention", "warning", p.topic("label-requests"), "retention.ms=604800000")
        finds("replicas", "fault", p.topic("heads") + ": nothing can be written", "min.insync")
        finds("files", "fault", "validation.csv: No such file", "")
        finds("processes", "warning", "0 scorers, 0 trainers", "fisd -c")
        finds("lag", "warning", "1 messages of " + p.topic("records") + " wait", "")
        has(p.fisctl("doctor").stdout, "faults, ", "fault   topics")
        p.config["classes"] = ["yes"]
        p.config["nonsense"] = 1
        p.save()
        found = doctor(p, 1)
        same(set(found), {("configuration", "fault")})
        same(len(found["configuration", "fault"]), 2, str(found))
    with Pipeline(t_config(kafka={"bootstrap.servers": "127.0.0.1:1"}), topics=False) as p:
        has(str(doctor(p, 1)["broker", "fault"]), "127.0.0.1:1")


if __name__ == "__main__":
    main()
