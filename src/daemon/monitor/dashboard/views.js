/* The sections of the page, each from the data to the screen. */
import {$, fill, h, mark, say, show, table} from "./dom.js";
import {drawTime, drawVersions} from "./plots.js";
import {headline, kindWord, SIGNS, tiles} from "./state.js";

import {
  METRICS, count, criterionName, criterionReason, criterionText, deadReason, figures, interval, known,
  metricName, none, plural, rate, rateOf, reasonName, signed, span, time
} from "./words.js";

const SHOWN = 15, SHOWN_NARROW = 5; /* versions, until all are asked for */
const NARROW = 700;                 /* pixels; style.css */
const SHOWN_REQUESTS = 10;

/* Where this process does not lead, and so has no figures of the trainer's. */
function elsewhere(d) {
  if (!d.status.trainer)
    return "This process only scores. The dashboard of the trainer that leads has them.";
  return d.status.trainer.state === "standby" ? "Another trainer leads; its dashboard has them." :
                                                "Not known before the trainer leads.";
}

/* "waits" takes the place of what is not there. */
function orEmpty(id, empty, waits) {
  say(id, empty ? waits : "");
  return empty;
}

/* ---- now ------------------------------------------------------------------------------------- */

export function renderHead(d) {
  const { level, text, more } = headline(d);
  $("headline").dataset.level = level;
  say("mark", SIGNS[level]);
  say("head-text", text);
  say("head-more", more);
  document.title = `${SIGNS[level]} ${d.status?.pipeline ?? "fisd"}`;
  document.body.classList.toggle("old", !!(d.lost || d.locked) && !!d.status);
}

const severity = a => a.severity === "critical" ? "✗ Critical" : "! Warning";

export function renderAlarms(alarms) {
  show("alarms", alarms.length > 0);
  fill("alarms", alarms.map(a => [a.name, a.severity, a.text]),
    () =>
      alarms.map(a => h("li", { "data-level": a.severity },
                   h("strong", {}, `${severity(a)}: ${a.name.replaceAll("_", " ")}. `), a.text, ". ", a.advice, " ",
                   a.since_ms ? h("span", { class: "quiet" }, "since ", time(a.since_ms)) : null)));
}

function tile({ name, big, small }) {
  return h("div", {}, h("dt", {}, name), h("dd", { class: "big" }, big),
    h("dd", { class: "small" }, small));
}

export function renderTiles(d, metric) {
  const v = d.versions.find(x => x.kind === "serving"), list = tiles(d);
  if (v) {
    const m = v.metrics ?? {}, i = v.intervals ?? {};
    list.unshift({
      name: "Serving",
      big: `version ${v.version}`,
      small: d.t?.pinned ? "pinned: it stays" : reasonName(v.reason)
    },
      {
        name: "Accuracy",
        big: rateOf(m.accuracy),
        small: [interval(i.accuracy), known(v.floor) ? `floor ${rate(v.floor)}` : ""]
                 .filter(Boolean)
                 .join("; ")
      },
      { name: metricName(metric), big: rateOf(m[metric]), small: interval(i[metric]) });
  }
  const now = d.rate?.at(-1);
  if (now && known(now.y))
    list.push({
      name: "Records scored",
      big: `${count(now.y)}/s`,
      small: `${count(d.status.scorer?.records)} since the start`
    });
  fill("tiles", list.map(t => [t.name, t.big.title ?? t.big, t.small]), () => list.map(tile));
}

/* ---- versions -------------------------------------------------------------------------------- */

function withInterval(x, i) {
  return known(x) ? [rate(x), h("span", { class: "quiet" }, interval(i))] : none();
}

function difference(v) {
  const { difference: x, difference_se: se } = v;
  if (!known(x))
    return v.reason === "first" ?
      "–" :
      none("not measured: there was nothing to compare with, or no rows to measure it on");
  return [signed(x), known(se) ? h("span", { class: "quiet" }, `± ${rate(se)}`) : null];
}

function verdict(v) {
  return [
    mark(v.kind), h("strong", {}, v.word), ": " + reasonName(v.reason),
    h("span", { class: "quiet" }, figures(v.text))
  ];
}

function versionColumns(metric, commands) {
  const columns = [
    { name: "Version", head: true, cell: v => String(v.version) },
    { name: "When", cell: v => time(v.created_at_ms) },
    { name: "Verdict", text: true, cell: v => h("div", {}, verdict(v)) },
    {
      name: "Accuracy",
      number: true,
      cell: v => withInterval(v.metrics?.accuracy, v.intervals?.accuracy)
    },
    {
      name: "Violation",
      number: true,
      cell: v => withInterval(v.metrics?.[metric], v.intervals?.[metric])
    },
    { name: "Fairer by", number: true, cell: difference },
    { name: "Labels", number: true, cell: v => count(v.labels_bought) },
    { name: "Kept", number: true, cell: v => count(v.labels_kept) },
  ];
  const button = v => v.published && v.kind !== "serving" &&
    h("button", {
      type: "button",
      class: "small",
      "data-key": `back-${v.version}`,
      "aria-label": `Roll back to version ${v.version}`,
      click: () => commands.rollback(v.version)
    },
      "Roll back to it");
  return commands.on ? [...columns, { name: "", cell: v => button(v) || "" }] : columns;
}

function legend() {
  const one = kind => h("li", {}, mark(kind), kindWord(kind));
  return [
    ...["serving", "served", "rejected", "back"].map(one),
    h("li", {}, mark("floor"), "accuracy floor")
  ];
}

function chooseMetric(d, metric) {
  const there = Object.keys(METRICS).filter(m => d.versions.some(v => v.metrics && m in v.metrics));
  fill("metric", [there, d.status.metric],
    () => there.map(m => h("option", { value: m },
                      metricName(m) + (m === d.status.metric ? " (the gate's)" : ""))));
  $("metric").value = metric;
}

function describe(oldest, metric) {
  const v = oldest.find(x => x.kind === "serving"), n = plural(oldest.length, "version");
  const both = key => `${rate(v.metrics?.[key])} ${interval(v.intervals?.[key])}`;
  const told = v ? ` Version ${v.version} is served: accuracy ${both("accuracy")}, ` +
      `${metricName(metric)} ${both(metric)}.` :
                   "";
  for (const id of ["d-accuracy", "d-violation", "d-plane"])
    say(id, `${n}.${told} The table below has all numbers.`);
}

export function renderVersions(d, ui, commands) {
  const t = d.t;
  const empty = orEmpty("versions-none", d.versions.length === 0,
    t || d.status.scorer ?
      "No version yet. The first comes when warm-up is over; the next when the labels of a " +
      "round are in and the gate has looked." :
      "No version has been read from the models topic.");
  show("versions-some", !empty);
  if (empty) return;
  const metric = ui.metric, oldest = [...d.versions].reverse();
  if (!$("legend").childElementCount) $("legend").append(...legend());
  chooseMetric(d, metric);
  say("metric-name", metricName(metric));
  const level = d.versions[0].intervals?.level;
  say("interval-note",
    `Bars: ${known(level) ? Math.round(level * 100) + " % " : ""}intervals by ` +
      "bootstrap over the validation rows. Where they overlap a lot, the difference may be " +
      "chance.");
  describe(oldest, metric);
  const key =
    [d.versions.map(v => [v.version, v.kind]), metric, ui.dark, window.innerWidth < NARROW];
  if (ui.drawn !== JSON.stringify(key)) {
    ui.drawn = JSON.stringify(key);
    drawVersions(oldest, metric);
  }
  const shown =
    ui.all ? d.versions : d.versions.slice(0, window.innerWidth < NARROW ? SHOWN_NARROW : SHOWN);
  fill("versions-table", [key, commands.on, ui.all],
    () => [table("Versions, newest first", versionColumns(metric, commands), shown),
      h("p", { class: "quiet" },
        "Fairer by: the violation of what was served then, less its own, with the standard " +
        "error of that difference.")]);
  show("versions-more", shown.length < d.versions.length);
  say("versions-more", `Show all ${d.versions.length} versions`);
}

/* ---- labels ---------------------------------------------------------------------------------- */

function funnelRow(step, top) {
  const bar = h("div", { class: "fill" });
  bar.style.width = step.n > 0 ? `${100 * Math.log(1 + step.n) / Math.log(1 + top)}%` : "0";
  return [
    h("tr", {}, h("th", { scope: "row" }, step.name),
      h("td", { class: "number", "data-step": step.key }, count(step.n)),
      h("td", { class: "quiet number" }, step.share ?? "")),
    h("tr", { "aria-hidden": "true" }, h("td", { colspan: "3" }, h("div", { class: "track" }, bar)))
  ];
}

const percent = p => p < 1 ? p.toPrecision(2) : p.toFixed(p < 10 ? 1 : 0);
const share = (a, b, of) => b > 0 && a <= b ? `${percent(100 * a / b)} % of ${of}` : "";

export function renderFunnel(d) {
  const t = d.t;
  if (orEmpty("funnel-none", !t, elsewhere(d))) {
    fill("funnel", null, () => []);
    say("funnel-note", "");
    return;
  }
  const n = t.labels;
  const steps = [
    { key: "records", name: "Records scored", n: t.records },
    {
      key: "candidates",
      name: "Candidates offered",
      n: t.candidates,
      share: share(t.candidates, t.records, "records")
    },
    { key: "asked", name: "Labels asked for", n: n.asked },
    {
      key: "answered",
      name: "Labels received",
      n: n.answered,
      share: share(n.answered, n.asked, "those asked for")
    },
    {
      key: "kept",
      name: "Labels kept",
      n: n.kept,
      share: share(n.kept, n.answered, "those received")
    },
  ];
  const top = Math.max(...steps.map(s => s.n));
  fill("funnel", steps,
    () => [h("table", { class: "funnel", "aria-label": "Funnel" },
      h("tbody", {}, steps.flatMap(s => funnelRow(s, top))))]);
  const lost =
    [
      ["skipped", n.skipped], ["expired", n.expired], ["cancelled", n.cancelled], ["tied", n.tied],
      ["late, and used", n.late]
    ].filter(([, k]) => k > 0)
      .map(([name, k]) => `${count(k)} ${name}`);
  say("funnel-note",
    "Bars are logarithmic. Records and candidates: since this trainer began to lead; labels: " +
    "since the pipeline began. " +
      "A label that came and is not kept is trained on all the same." +
      (lost.length ? ` Requests: ${lost.join(", ")}.` : ""));
}

export function renderDead(d) {
  const list = [...d.status.dead_letters].sort((a, b) => b.count - a.count);
  show("dead-part", list.length > 0);
  fill("dead", list, () => [table("Messages that could not be used, by topic and reason",
                       [
                         { name: "Topic", id: true, cell: l => l.topic },
                         { name: "Why", head: true, cell: l => deadReason(l.reason) },
                         { name: "Messages", number: true, cell: l => count(l.count) },
                       ],
                       list, { cards: false })]);
}

export function renderRequests(d) {
  const list = d.requests?.requests ?? [];
  const waits = !d.t ? elsewhere(d) :
    d.t.paused       ? "None: labelling is paused." :
                       "None. Labels are asked for when a window of records is full.";
  const empty = orEmpty("requests-none", list.length === 0, waits);
  const shown = list.slice(0, SHOWN_REQUESTS), votes = list.some(r => r.votes > 0);
  fill("requests", shown.map(r => [r.id, r.votes, span(1000 * r.age_seconds)]), () => empty ? [] : [
    table("Open requests, oldest first",
      [
        { name: "Record", head: true, id: true, cell: r => r.id },
        { name: "Round", number: true, cell: r => count(r.round) },
        ...(votes ? [{ name: "Votes", number: true, cell: r => count(r.votes) }] : []),
        { name: "Waits", number: true, cell: r => span(1000 * r.age_seconds) }
      ],
      shown, { cards: false }),
    h("p", { class: "quiet" },
      d.t.labels.open > shown.length ? `The oldest ${shown.length} of ${count(d.t.labels.open)}.` :
                                       "")
  ]);
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* By number, unless http.group_names is on. */
const groupName = g => /^\d+$/.test(g.group) ? `group ${g.group}` : g.group;

/* few: rows below which a rate is marked, gate.warn_cell. */
function groupColumns(few) {
  const figure = (name, key) => ({ name, number: true, cell: g => rateOf(g[key]) });
  return [
    { name: "Group", head: true, cell: g => g.name }, {
      name: "Rows",
      number: true,
      cell: g =>
        g.rows < few ? [count(g.rows), " ", h("span", { class: "badge" }, "few")] : count(g.rows)
    },
    figure("Accuracy", "accuracy"), figure("Positive rate", "positive_rate"),
    figure("True positive rate", "tpr"), figure("False positive rate", "fpr")
  ];
}

/* The largest gap between groups, of each rate. */
function gaps(groups) {
  const gap = key => {
    const all = groups.map(g => g[key]);
    return all.length && all.every(known) ? Math.max(...all) - Math.min(...all) : null;
  };
  return {
    name: "largest gap",
    rows: groups.reduce((sum, g) => sum + g.rows, 0),
    accuracy: gap("accuracy"),
    positive_rate: gap("positive_rate"),
    tpr: gap("tpr"),
    fpr: gap("fpr")
  };
}

export function renderGroups(d, ui) {
  const measured = d.versions.filter(v => v.metrics?.groups?.length);
  const empty = orEmpty("groups-none", measured.length === 0,
    "Nothing is measured yet: groups are compared when a version is judged on the validation " +
    "rows.");
  show("groups-some", !empty);
  if (empty) return;
  const v = measured.find(x => x.version === ui.group) ??
    measured.find(x => x.kind === "serving") ?? measured[0];
  fill("group-version", measured.map(x => [x.version, x.kind]),
    () => measured.map(x => h("option", { value: String(x.version) }, `${x.version} (${x.word})`)));
  $("group-version").value = String(v.version);
  const groups = v.metrics.groups.map(g => ({...g, name: groupName(g) }));
  fill("groups-table", [v.version, groups],
    () => [table(`Groups of version ${v.version}`, groupColumns(d.few), [...groups, gaps(groups)])]);
}

/* ---- flow ------------------------------------------------------------------------------------ */

export function renderFlow(d, ui) {
  const s = d.status;
  const empty =
    orEmpty("flow-none", !d.rate || d.rate.length < 2, "A curve needs some seconds of figures.");
  show("flow-plots", !empty);
  if (!empty && ui.flow !== JSON.stringify([d.rate.at(-1), ui.dark])) {
    ui.flow = JSON.stringify([d.rate.at(-1), ui.dark]);
    const good = d.rate.filter(p => known(p.y)), lag = d.lag.filter(p => known(p.y));
    const top = good.reduce((m, p) => Math.max(m, p.y), 0);
    drawTime("p-rate", d.rate, "records/s");
    drawTime("p-lag", d.lag, "messages");
    say("d-rate", good.length ? `Now ${count(good.at(-1).y)}/s; at most ${count(top)}/s.` : "");
    say("d-lag",
      lag.length ? `Now ${count(lag.at(-1).y)}.` : "The ends of the partitions are not known yet.");
  }
  const none = orEmpty("lags-none", d.lags.length === 0,
    s.broker ? "No partition is read yet." : "No broker: nothing is read.");
  fill("lags", d.lags,
    () => none ? [] : [table("Partitions that this process reads",
                        [
                          { name: "Topic", head: true, id: true, cell: l => l.topic },
                          { name: "Partition", number: true, cell: l => String(l.partition) },
                          { name: "For", cell: l => l.role },
                          { name: "Next offset", number: true, cell: l => count(l.next) },
                          { name: "Lag", number: true, cell: l => count(l.lag) },
                        ],
                        d.lags, { cards: false })]);
}

export function renderDrift(d) {
  const f = d.drift;
  show("drift-part", !!f && !!d.status.scorer);
  if (!f) return;
  const none = orEmpty("drift-none", f.columns.length === 0,
    "Not measured yet: it takes some records, and a head with the columns' statistics.");
  say("drift-note",
    none ? "" :
           "Population stability index of each column: " +
        `${plural(f.sampled_rows, "record")} of late against ${
          plural(f.initial_rows, "initial row")}. ` +
        (f.limit > 0 ? `Above ${f.limit} is an alarm.` : ""));
  const shown = [...f.columns].sort((a, b) => (b.index ?? -1) - (a.index ?? -1)).slice(0, SHOWN);
  fill("drift", [shown, f.limit], () => none ? [] : [
    table("Drift by column",
      [
        { name: "Column", head: true, id: true, cell: c => c.column },
        {
          name: "Index",
          number: true,
          cell: c => f.limit > 0 && c.index > f.limit ?
            [rate(c.index), " ", h("span", { class: "badge" }, "drifted")] :
            rateOf(c.index)
        },
      ],
      shown, { cards: false }),
    f.all_columns > shown.length ?
      h("p", { class: "quiet" },
        `The ${shown.length} that moved most of ${count(f.all_columns)}.`) :
      null
  ]);
}

/* ---- next to ask ----------------------------------------------------------------------------- */

export function renderBest(d) {
  const { criteria = [], candidates = [] } = d.candidates ?? {};
  const held = candidates.length > 0;
  orEmpty("best-none", !held,
    !d.t ? elsewhere(d) : "None is held yet. Scorers offer the best of the records they read.");
  const columns = criterion => [{ name: "Rank", head: true, cell: b => String(b.rank) },
    {
      name: "Record",
      id: true,
      cell: b => [b.id, h("span", { class: "quiet" }, criterionReason(criterion, b.rank))]
    },
    { name: "Score", number: true, cell: b => known(b.score) ? b.score.toPrecision(3) : none() }
  ];
  fill("best-tables", [held, criteria, candidates],
    () => !held ? [] :
                  criteria.map(c => h("div", {}, h("h3", {}, criterionName(c.name)),
                                 h("p", { class: "quiet" }, criterionText(c.name) || c.meaning),
                                 table(`Best by ${c.name}`, columns(c.name),
                                   candidates.filter(b => b.criterion === c.name).slice(0, 10),
                                   { cards: false }))));
}
