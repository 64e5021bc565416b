#!/usr/bin/env python3
"""The dashboard in a browser: what it shows in each state, against the API and the topics; what its
buttons do; phone, keyboard, dark mode. FISD_TEST_PICTURES=directory keeps pictures of it."""

import decimal
import math
import re
import urllib.request

from browser import ENTER, ESCAPE, TAB, Browser
from dashboard_page import TOKEN, config, Page, rate, first_line
from fisd_test import FEATURES, Pipeline, csv_bytes, has, main, people, same, test, wait


# ---- nothing yet ---------------------------------------------------------------------------

@test("without a broker the page says so, and what to do")
def no_broker():
    nowhere = config(kafka={"bootstrap.servers": "127.0.0.1:1"})
    with Browser() as b, Pipeline(nowhere, topics=False) as p:
        page = Page(p, b).start(ready=None)
        page.headline("No Kafka broker answers", "kafka.bootstrap.servers", "goes on by itself")
        same(page.level(), "wait", "no alarm yet: it waits")
        has(b.text("#versions-none"), "No version")
        has(b.text("#lags-none"), "No broker")
        for section in ("funnel", "groups", "best"):
            assert b.text(f"#{section}-none"), f"{section} is empty without a word"
        page.fits(360)
        page.picture("no-broker-phone")
        b.size(1280, 900)
        page.picture("no-broker")
        page.until(lambda: [a["name"] for a in page.api("alarms")["alarms"]] == ["broker_away"],
                   "the alarm, after its 30 s")
        page.until(lambda: "broker away" in b.text("#alarms") and page.level() == "trouble",
                   "what the alarm says is how it looks")
        has(b.text("#alarms"), "broker away", page.api("alarms")["alarms"][0]["advice"])
        page.no_complaints()


@test("before the first record the page says what it waits for")
def nothing():
    with Browser() as b, Pipeline(config(http={})) as p:
        page = Page(p, b).start()
        page.headline("Waiting for records", p.topic("records"), "fisctl replay")
        page.unfold()
        page.until(lambda: b.rows("#versions-table"), "the first version")
        has(b.text("#fair"), "Nothing to compare with yet")
        has(b.text("#fleet-note"), "This is the only one")
        same(b.rows("#versions-table")[0][0], "1")
        page.until(lambda: "None is held yet" in b.text("#best-none"), "what it waits for")
        has(b.text("#requests-none"), "None")
        # Nobody may give commands when there is no token: there are no buttons for it.
        assert not b.seen("#pause") and not b.seen("#rollback"), "buttons without a token"
        page.picture("nothing")
        page.no_complaints()


# ---- running -------------------------------------------------------------------------------

def check_versions(page):
    listed = page.api("versions")["versions"][::-1]
    now = page.api("status")["trainer"]["leading"]["served_version"]
    page.until(lambda: len(page.b.rows("#versions-table")) == len(listed), "all versions")
    for row, v in zip(page.b.rows("#versions-table"), listed):
        metric = v["metric"]
        same((row[0], first_line(row[3]), first_line(row[4])),
             (str(v["version"]), rate(v["accuracy"]), rate(v["metrics"][metric])), "a version")
        for cell, i in ((row[3], v["intervals"]["accuracy"]), (row[4], v["intervals"][metric])):
            has(cell, f"[{rate(i['low'])}, {rate(i['high'])}]")
        if v["difference"] is not None:
            same(first_line(row[5]).replace("−", "-"), f"{v['difference']:+.3f}")
        same((row[6], row[7]), (str(v["labels_bought"]), str(v["labels_kept"])), "labels")
        word = "served before" if v["published"] else "rejected"
        has(row[2], "serving now" if v["version"] == now else word,
            re.sub(r"^(published|rejected): \w+: ", "", v["text"]))


def percent(x):
    """As toFixed rounds: a half goes up, where Python's goes to the even one."""
    return str(decimal.Decimal(100 * x).quantize(decimal.Decimal("0.1"), decimal.ROUND_HALF_UP))


def check_answers(page):
    """The two questions, from the API's own figures."""
    def reported():
        listed = page.api("versions")["versions"]
        now, first = next(v for v in listed if v["served"]), listed[0]
        key = now["metric"]
        by = first["metrics"][key] - now["metrics"][key]
        if now["parent"] == first["version"]:
            by, se = now["difference"], now["difference_se"]
        else:
            se = math.hypot(*(v["intervals"][key]["se"] for v in (first, now)))
        chance = by - 1.96 * se <= 0 <= by + 1.96 * se
        answer = "chance" if chance else "smaller" if by > 0 else "less fair"
        fair = (f"{rate(first['metrics'][key])} → {rate(now['metrics'][key])}",
                ("fairer" if by >= 0 else "less fair") + f" by {rate(abs(by))}")
        accurate = (f"{percent(now['accuracy'])}\u00a0%", f"floor for this version was {percent(now['floor'])}")
        return (answer in page.b.text("#fair .answer") and all(x in page.b.text("#fair") for x in fair) and
                all(x in page.b.text("#accurate") for x in accurate))
    try:
        page.until(reported, "the answers, with the figures of the first version and of what is served")
    except AssertionError as e:
        raise AssertionError(f"{e}; the page says: {page.b.text('#fair')} {page.b.text('#accurate')}") from None


def check_funnel(page):
    def equal():
        t = page.api("status")["trainer"]["leading"]
        expected = {"records": t["records"], "candidates": t["candidates"],
                  **{k: t["labels"][k] for k in ("asked", "answered", "kept")}}
        shown = page.b.run("""return Object.fromEntries([...document.querySelectorAll("[data-step]")]
            .map(e => [e.dataset.step, Number(e.textContent.replaceAll(",", ""))]))""")
        return shown == expected and shown["kept"] > 0
    page.until(equal, "the funnel of the API")


def check_groups(page):
    served = page.api("groups")["served"]["groups"]
    rows = page.b.rows("#groups-table")
    same(len(rows), len(served) + 1, "groups, and the gap")
    for row, g in zip(rows, served):
        same(row[0], f"group {g['group']}", "groups by number")
        same(row[2:], [rate(g[k]) for k in ("accuracy", "positive_rate", "tpr", "fpr")], row[0])
    gap = [max(g[k] for g in served) - min(g[k] for g in served) for k in ("positive_rate", "tpr")]
    same(rows[-1][3:5], [rate(x) for x in gap], "largest gaps")


def check_dead(page):
    """Nothing, and then what was refused, by reason."""
    assert not page.b.seen("#dead-part"), "nothing was refused"
    page.p.produce("records", [(b"a", b"{"), (b"b", b"]"), (b"c", b'{"wage": 1}')])
    page.p.produce("labels", [(b"nobody", b'{"label": "yes"}')])

    def equal():
        letters = page.api("status")["dead_letters"]
        shown = [(r[0], r[2]) for r in page.b.rows("#dead")]
        return sorted(shown) == sorted((d["topic"], str(d["count"])) for d in letters) and shown
    shown = page.until(lambda: len(equal() or []) == 3 and page.b.rows("#dead"), "dead letters")
    has(shown[0][1], "malformed")
    has(str(shown), "not configured", "not requested")


def check_lists(page):
    def equal():
        best = [c for c in page.api("candidates")["candidates"] if c["criterion"] == "ekg"][:10]
        shown = page.b.rows("#best-tables > div:first-child")
        expected = [(str(c["rank"]), c["id"]) for c in best]
        return best and [(r[0], first_line(r[1])) for r in shown] == expected and shown
    has(page.until(equal, "the best of the API")[0][1], "expected to lower unfairness", "requested next")
    open_now = page.api("requests")["requests"]
    page.until(lambda: [r[0] for r in page.b.rows("#requests")] == [r["id"] for r in open_now][:10],
               "open requests")
    lags = page.api("lag")["partitions"]
    same([(r[0], r[1]) for r in page.b.rows("#lags")],
         [(k["topic"], str(k["partition"])) for k in lags])


def check_drift(page):
    def equal():
        drift = page.api("drift")
        expected = sorted((rate(c["index"]) for c in drift["columns"]), reverse=True)
        if not expected:
            return "Not measured yet" in page.b.text("#drift-none")
        return [r[1].split()[0] for r in page.b.rows("#drift")] == expected
    page.until(equal, "drift of the API")


def check_plots(page):
    """Charts are there, drawn, with error bars, and stated in words."""
    drawn = page.b.run("""return Object.fromEntries([...document.querySelectorAll("canvas")].map(c => {
        const points = window.Chart.getChart(c)?.data.datasets[0].data ?? [];
        const pixels = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
        return [c.id, { points: points.length, bars: points.filter(p => p.yBar).length,
            ink: pixels.some(v => v > 0),
            text: document.getElementById(c.getAttribute("aria-describedby")).textContent }];
    }))""")
    n = len(page.api("versions")["versions"])
    for width in (360, 1280):
        page.b.size(width, 900, phone=width < 700)
        page.until(lambda: page.b.run("""return window.Chart.getChart("p-accuracy").scales.x.ticks
            .map(t => t.value)""") == list(range(1, n + 1)), f"each version on the axis, at {width}")
    for name in ("p-accuracy", "p-violation", "p-plane"):
        one = drawn[name]
        same((one["points"], one["bars"], one["ink"]), (n, n, True), name)
        has(one["text"], f"{n} versions", "is served")
    assert drawn["p-rate"]["ink"] and drawn["p-lag"]["ink"], "throughput is drawn"


def colour(page, css, what):
    return page.b.run("return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]", css, what)


def check_looks(page):
    """Phone, dark mode, and the marks that do not need colours."""
    light = colour(page, "body", "backgroundColor")
    page.fits(360)
    page.picture("running-phone")
    page.b.size(1280, 900)
    page.b.media(prefers_color_scheme="dark")
    page.until(lambda: colour(page, "body", "backgroundColor") != light, "dark colours")
    page.until(lambda: page.b.run("""return window.Chart.getChart("p-accuracy").options.scales.x
        .grid.color === getComputedStyle(document.documentElement).getPropertyValue("--grid").trim()"""),
        "plots in dark colours")
    page.picture("running-dark")
    page.b.media(prefers_color_scheme="light")
    shapes = page.b.run("return [...document.querySelectorAll('#legend svg')].map(s => s.innerHTML)")
    same(len(set(shapes)), 5, "every mark has a shape of its own")


def give_token(page, token=TOKEN.replace(" ", "-")):
    page.until(lambda: page.b.seen("#ask-token"), "the question for the token")
    same(page.b.focused(), "ask-token")
    page.b.type("#ask-token", token)
    page.b.press(ENTER)


def check_commands(page):
    """By keyboard only: from the top of the page to the button, and through the dialog."""
    b = page.b
    b.run("document.activeElement.blur(); scrollTo(0, 0)")
    reached = []
    while "pause" not in reached and len(reached) < 5:
        b.press(TAB)
        reached.append(b.focused())
    same(reached[0], "#main", "the first stop skips to the figures")
    assert reached[-1] == "pause", f"the button is not reached: {reached}"
    outline = b.run("return getComputedStyle(document.activeElement).outlineStyle")
    same(outline, "solid", "what has the focus shows it")
    b.press(ENTER)
    page.until(lambda: b.seen("#ask"), "a question first")
    page.picture("question", whole=False)
    b.press(ESCAPE)
    page.until(lambda: not b.seen("#ask"), "it can be left")
    same(b.focused(), "pause", "the focus comes back")
    same(page.api("status")["trainer"]["leading"]["paused"], False, "nothing was done")

    b.press(ENTER)
    page.until(lambda: b.seen("#ask-token"), "the question for the token")
    b.type("#ask-token", "this-is-not-the-token")
    b.press(ENTER)
    page.until(lambda: "the token is wrong" in b.text("#outcome"), "a wrong token is reported")
    b.click("#pause")
    give_token(page)
    page.until(lambda: page.api("status")["trainer"]["leading"]["paused"], "paused")
    page.until(lambda: "pause: done: paused" in b.text("#outcome"), "the outcome")
    page.headline("Paused: no label is asked for")
    same(b.run("return [Object.keys(localStorage), document.cookie]"), [[], ""],
         "the token is kept in the session only")
    b.click("#resume")
    page.until(lambda: b.seen("#ask-yes") and not b.seen("#ask-token"), "a question, and no token")
    b.click("#ask-yes")
    page.until(lambda: not page.api("status")["trainer"]["leading"]["paused"], "resumed")


def check_rollback(page):
    b = page.b
    before = page.api("versions")["served"]
    oldest = min(v["version"] for v in page.api("versions")["versions"] if v["published"])
    page.until(lambda: b.seen(f"[data-key=back-{oldest}]"), "a button beside the version")
    b.click(f"[data-key=back-{oldest}]")
    same(b.run("return document.querySelector('#ask-version').value"), str(oldest))
    b.click("#ask-yes")
    page.until(lambda: "rollback: done" in b.text("#outcome"), "rolled back")
    page.until(lambda: page.api("versions")["served"] == before + 1, "the API says so")
    page.until(lambda: b.rows("#versions-table")[0][0] == str(before + 1), "the page says so")
    rows = b.rows("#versions-table")
    has(rows[0][2], "serving now", "rolled back by the operator")
    has(rows[1][2], "rolled back", "accuracy")
    assert "by the operator" not in rows[1][2], "what was rolled back is not the roll-back itself"
    page.picture("rolled-back")


@test("numbers of the page are those of the API; buttons pause and roll back")
def running():
    with Browser() as b, Pipeline(config()) as p:
        page = Page(p, b).start()
        page.until_versions(5)
        page.until_window()
        page.headline("Running; waiting: ", " of 300 records of the window")
        has(b.text("#tiles"), "of 300 records")
        check_answers(page)
        page.screens()
        page.picture("glance")
        page.unfold()
        check_versions(page)
        check_funnel(page)
        check_groups(page)
        check_dead(page)
        page.feed(300)
        page.until(lambda: page.api("requests")["open"] > 0, "open requests")
        check_lists(page)
        check_drift(page)
        check_plots(page)
        page.picture("running")
        check_looks(page)
        check_commands(page)
        check_rollback(page)
        same(b.run("return [document.title === '1', document.querySelectorAll('main img').length]"),
             [False, 0], "an id has become markup")
        page.no_complaints()
        p.stop()
        page.headline("No answer from fisd", "systemctl status", "is old")
        page.picture("gone")


@test("after a restart, what is waited for is known apart from what had come before it")
def restarted():
    with Browser() as b, Pipeline(config()) as p:
        page = Page(p, b).start()
        page.feed(300)
        page.until(lambda: page.api("requests")["open"] > 0, "open requests")
        page.headline("Waiting for 24 labels: none has come yet")
        has(b.text("#tiles"), "no answer yet")
        page.until_versions(3)
        page.feed(300)
        page.until(lambda: page.api("requests")["open"] == 24, "open requests")
        answered = page.api("status")["trainer"]["leading"]["labels"]["answered"]
        same(p.stop(), 0)
        page.start(ready=r" takeover role=trainer ")
        page.headline("Waiting for 24 labels: none has come since this start of fisd",
                      f"{answered} answers came before")
        has(b.text("#tiles"), "no answer since this start")
        page.until(lambda: page.level() == "warn", "an alarm (few rows to judge by) shows in the headline")


@test("what noise on the directions buys is shown, as the API and the metrics have it")
def noise():
    key = "a-key-of-thirty-two-letters-or-more"
    with Browser() as b, Pipeline(config(privacy={"noise": 8, "delta": 1e-6, "key": key})) as p:
        page = Page(p, b).start()
        page.until_versions(2)

        def equal():
            spent = page.api("status")["trainer"]["leading"]["privacy"]
            with urllib.request.urlopen(f"{page.url}/metrics", timeout=180) as r:
                metric = re.search(r"^fisd_privacy_epsilon (\S+)$", r.read().decode(), re.M)
            return (spent["refreshes"] > 1 and abs(float(metric[1]) - spent["epsilon"]) < 1e-9 and
                    f"ε {math.ceil(100 * spent['epsilon']) / 100:.2f}for δ 1e-6, after "
                    f"{spent['refreshes']} refreshes with noise 8" in b.text("#tiles"))
        page.until(equal, "epsilon and delta of the API")
        page.picture("noise")
        assert key not in b.run("return document.documentElement.outerHTML")


@test("a scorer's page shows versions, what the trainer does, and every process; the trainer's all records")
def fleet():
    both = config(selection={"labels_per_round": 24, "window_records": 300, "budget": 24, "rounds": 1},
                  fairness={"metric": "demographic_parity", "target": 0.0001}, http={"group_names": True})
    with Browser() as b, Pipeline(both) as p:
        scorer, trainer = p.node("s", "scorer"), p.node("t", "trainer")
        page = Page(p, b)
        page.start(scorer, ready=r" started ")
        page.headline("Waiting for the first head", "Scorers begin when a trainer has published one")
        trainer.start()
        other = "http://" + trainer.wait_log(r" http address=(\S+) ").group(1) + "/"
        page.headline("Waiting for records", "Version 1 is served")
        page.feed(200)
        page.headline("Scoring; the trainer: ", "200 of 300 records of the window")
        page.unfold()
        page.until(lambda: [r[0] for r in b.rows("#versions-table")] == ["1"], "the version")
        has(b.text("#groups-note"), "Group 0 = the first value of group in alphabetical order")
        links = [(r[1], r[4]) for r in b.rows("#fleet-table")]
        same([r[0] for r in links], ["trainer, leads", "scorer"], "processes")
        has(links[0][1], "200 of 300 records of the window")
        same(b.run("return [...document.querySelectorAll('#fleet-table a')].map(a => a.href)"), [other],
             "links to the others")
        page.unfold(False)
        page.screens()
        page.picture("scorer")
        page.no_complaints()
        # The trainer's own page has the records of all scorers, and groups by name.
        b.click("#fleet-table a")
        page.url = other.rstrip("/")
        page.until(lambda: "200 by 1 scorer" in b.text("#tiles"), "records of all scorers")
        same([r[0] for r in b.rows("#groups-table")], ["A", "B", "largest gap"], "groups by name")
        has(b.text("#fair"), "Above the target of 0.0001")
        page.feed(150)
        page.until(lambda: len(p.consume("label-requests")) == 24, "requests")
        page.answer()
        page.headline("Done: the labelling budget is spent")
        page.until(lambda: "budget_low" in [a["name"] for a in page.api("alarms")["alarms"]], "the alarm")
        page.until(lambda: b.run("return document.body.innerText.match(/budget (is|low|left: 0)/gi)") ==
                   ["budget is"], "stated once")
        page.screens()
        page.picture("done")
        page.no_complaints()


# What a large pipeline has, in place of what fisd answers.
LARGE = """
const real = window.fetch.bind(window);
const times = (list, n, make) => Array.from({ length: n }, (_, i) => make(list[i % list.length], i));
const larger = {
    fleet: o => ({ ...o, processes: times(o.processes, 40, (p, i) => ({ ...p, self: i === 0, name: `p-${i}`,
        silent: i === 7, trainer: i < 1 ? p.trainer : null, alarms: i === 1 ? p.alarms : [],
        doing: i < 1 ? p.doing : "scoring, 1,234 records behind" })) }),
    alarms: () => ({ alarms: Array.from({ length: 9 }, (_, i) => ({ name: `alarm_${i}`, severity: i ? "warning" : "critical",
        since_ms: 1, text: "what was found, in some words that take a line or so, and a limit".repeat(2),
        advice: "What to do about it, in a sentence or two, as the table has it." })) }),
    versions: o => ({ ...o, versions: times(o.versions, 200, (v, i) => ({ ...v, version: i + 1, parent: i, published: i % 3 === 0,
        served: false, metrics: { ...v.metrics, groups: times(v.metrics.groups, 12, (g, k) => ({ ...g, group: String(k) })) } })),
        served: 199 })
};
window.fetch = async (url, more) => {
    const answer = await real(url, more), change = larger[String(url).replace("/api/v1/", "")];
    return change && answer.ok ? new Response(JSON.stringify(change(await answer.json()))) : answer;
};"""


@test("200 versions, 12 groups, 40 processes and 9 alarms are as few screens")
def large():
    with Browser() as b, Pipeline(config()) as p:
        b.devtools("Page.addScriptToEvaluateOnNewDocument", source=LARGE)
        page = Page(p, b).start()
        page.until(lambda: len(b.rows("#groups-table")) == 13, "groups")
        page.until(lambda: "35 more processes" in b.text("#fleet-rest-note"), "processes that are folded")
        has(b.text("#alarms summary"), "7 more alarms", "alarm 8")
        page.picture("large")
        page.screens()
        page.fits(360)
        page.picture("large-phone")
        page.no_complaints()


# ---- trouble -------------------------------------------------------------------------------

@test("a gate that rejects again and again is reported, with the reason; what cannot be estimated is n/e")
def trouble():
    rows = list(people(400, 2))
    few = [{**r, "group": "C", "hired": "no"} for r in rows[:40]]
    columns = ["id"] + FEATURES + ["hired"]
    files = {"initial.csv": csv_bytes(people(400, 1), columns),
             "validation.csv": csv_bytes(rows + [{**r, "id": "c" + r["id"]} for r in few],
                                         columns + ["group"])}
    # Nothing is fairer by ten standard errors.
    strict = {"min_rows": 300, "min_cell": 10, "epsilon": 0.2, "standard_errors": 10}
    with Browser() as b, Pipeline(config(gate=strict, fairness={"metric": "demographic_parity"},
                                         alarms={"rejected": 2}), files=files) as p:
        page = Page(p, b).start()
        page.until_versions(4)
        page.headline(", 1 alarm")
        same(page.level(), "warn")
        reasons = [v["reason"] for v in page.api("versions")["versions"][1:]]
        same(set(reasons), {"not_fairer"})
        page.until(lambda: any(a["name"] == "gate_rejecting" for a in page.api("alarms")["alarms"]),
                   "the alarm")
        page.until(lambda: len(page.api("alarms")["alarms"])
                   == b.run("return document.querySelectorAll('#alarms li').length"),
                   "alarms of the API")
        for a in page.api("alarms")["alarms"]:
            has(b.text("#alarms"), a["name"].replace("_", " "), a["text"], a["advice"])
        row = b.rows("#groups-table")[2]
        same((row[1], row[4]), ("40 few", "n/e"), "a group without positives")
        why = b.run("return document.querySelector('#groups-table abbr').title")
        has(why, "not estimable")
        page.screens()
        page.unfold()
        page.picture("trouble")
        page.fits(360)
        page.no_complaints()


@test("where reading needs the token, the page asks for it")
def protected():
    with Browser() as b, Pipeline(config(http={"token_file": "http.token", "protect": "all"})) as p:
        page = Page(p, b).start()
        page.until(lambda: b.seen("#ask-token"), "the question for the token")
        same(b.text("#pipeline"), "", "nothing is shown before")
        page.headline("fisd requires its bearer token", "It answers", "http.token_file")
        give_token(page, "not-the-token-of-this-one")
        page.until(lambda: b.seen("#ask-token"), "the question for the token again")
        page.headline("The bearer token does not match", "It answers")
        has(b.text("#ask-error"), "does not match")
        give_token(page)
        page.headline("Waiting for records")
        same(b.text("#pipeline"), p.name)
        assert "a-token-of" not in b.run("return document.documentElement.outerHTML"), "token on the page"


if __name__ == "__main__":
    main()
