/* Versions, groups, labels and processes, each from the data to the screen. */
import {$, fill, h, mark, say, show, table} from "./dom.js";
import {drawVersions} from "./plots.js";
import {kindWord, leadsBy} from "./state.js";
import {
  METRICS, count, figures, interval, known, metricName, none, plural, rate, rateOf, reasonName, signed, span, time
} from "./words.js";

const SHOWN = 15, SHOWN_NARROW = 5; /* versions, until all are asked for */
const FLEET = 5, FLEET_NARROW = 3;  /* processes that are not folded */
const NARROW = 700;                 /* pixels; style.css */

/* Where this process does not lead, and so has no figures of the trainer's. */
export function elsewhere(d) {
  if (!d.leader) return "No trainer leads: there are none.";
  return d.leader.self ? "Not known before the trainer leads." :
                         "The trainer that leads has them: see Processes for its dashboard.";
}

/* "waits" takes the place of what is not there. */
export function orEmpty(id, empty, waits) {
  say(id, empty ? waits : "");
  return empty;
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

function legend(target) {
  const one = (kind, word = kindWord(kind)) => h("li", {}, mark(kind), word);
  return [
    ...["serving", "served", "rejected", "back"].map(kind => one(kind)), one("floor", "accuracy floor"),
    known(target) ? one("target", "target") : null
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
  const served = v ? ` Version ${v.version} is served: accuracy ${both("accuracy")}, ` +
      `${metricName(metric)} ${both(metric)}.` :
                   "";
  for (const id of ["d-accuracy", "d-violation", "d-plane"])
    say(id, `${n}.${served} Verdicts of the gate has all numbers.`);
}

export function renderVersions(d, ui, commands) {
  const empty = orEmpty("versions-none", d.versions.length === 0,
    "No version yet. The first comes when warm-up is over; the next when the labels of a round " +
      "are in and the gate has looked.");
  show("versions-some", !empty);
  if (empty) return;
  const metric = ui.metric, oldest = [...d.versions].reverse();
  fill("legend", [d.target], () => legend(d.target));
  chooseMetric(d, metric);
  say("metric-name", metricName(metric));
  const level = d.versions[0].intervals?.level;
  say("interval-note",
    `Bars: ${known(level) ? Math.round(level * 100) + " % " : ""}intervals ` +
      "from the validation rows, wider for choosing by them. Where they overlap a lot, the difference may be " +
      "chance. The floor is that of each version's own verdict.");
  describe(oldest, metric);
  const key =
    [d.versions.map(v => [v.version, v.kind]), metric, ui.dark, window.innerWidth < NARROW];
  if (ui.drawn !== JSON.stringify(key)) {
    ui.drawn = JSON.stringify(key);
    drawVersions(oldest, metric, metric === d.status.metric ? d.target : null);
  }
  const shown =
    ui.all ? d.versions : d.versions.slice(0, window.innerWidth < NARROW ? SHOWN_NARROW : SHOWN);
  fill("versions-table", [key, commands.on, ui.all],
    () => [table("Versions, newest first", versionColumns(metric, commands), shown),
      h("p", { class: "quiet" },
        "Fairer by: the violation of what was served then, less its own, with the standard " +
        "error of that difference.")]);
  const rejected = d.versions.filter(v => !v.published).length;
  say("verdicts-note", `${plural(d.versions.length, "version")}, ${count(rejected)} rejected; the newest, version ` +
    `${d.versions[0].version}: ${reasonName(d.versions[0].reason)}`);
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
  const { t, lead } = d, f = d.status.fleet;
  if (orEmpty("funnel-none", !t && !lead, elsewhere(d))) {
    fill("funnel", null, () => []);
    say("funnel-note", "");
    return;
  }
  const n = t?.labels ?? lead;
  const steps = [
    { key: "records", name: "Records scored", n: t?.records ?? f.records },
    t && {
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
  ].filter(Boolean);
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
    `Bars are logarithmic. Records${t ? " and candidates: since this trainer began to lead" : ": since each scorer began"}; ` +
      "labels: since the pipeline began. A label that came and is not kept is trained on all the same." +
      (lost.length ? ` Requests: ${lost.join(", ")}.` : ""));
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* By number, unless http.group_names is on. */
const groupName = g => /^\d+$/.test(g.group) ? `group ${g.group}` : g.group;


/* What the numbers stand for, as far as it may be shown. */
function groupsNote({ groups, status, few }) {
  const columns = (groups?.columns ?? []).join(" and ");
  const numbered = groups?.named ? "" :
    `Group 0 = the first value of ${columns} in alphabetical order, group 1 = the second, and so on. ` +
    (status.trainer ? "http.group_names: true shows the values to everyone who may open this page. " :
                      "The values are known to the trainer alone. ");
  return numbered + "Rates of positives, true positives and false positives on the validation rows that judge; positive is " +
    `${groups?.positive ?? "the positive class"}. n/e: there are no such rows. few: below ${few} rows (gate.warn_cell), a rate moves a lot by chance.`;
}

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
    figure("Accuracy", "accuracy"), figure("Positive", "positive_rate"),
    figure("True pos.", "tpr"), figure("False pos.", "fpr")
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
  say("groups-note", groupsNote(d));
  fill("groups-table", [v.version, groups],
    () => [table(`Groups of version ${v.version}`, groupColumns(d.few), [...groups, gaps(groups)],
      { cards: false, kind: "dense" })]);
}

/* ---- processes ------------------------------------------------------------------------------- */

function role(p) {
  const trainer = p.trainer && (p.trainer.leads ? "trainer, leads" : "trainer, stands by");
  return [p.scorer && "scorer", trainer].filter(Boolean).join("; ");
}

/* A page on loopback opens on its own machine alone. */
function place(p, here) {
  const name = p.self ? h("strong", {}, p.host, " (this one)") : p.host;
  const reached = p.address && !p.self && (!p.local || p.host === here);
  return [reached ? h("a", { href: p.address, "aria-label": `Dashboard of ${p.name}` }, name) : name,
    h("span", { class: "quiet" }, p.address ? p.address.replace(/^https?:\/\/|\/$/g, "") : "no dashboard",
      p.address && !p.self && !reached ? ", from that machine" : "")];
}

/* What alarms here too is not repeated. */
function state(p, here) {
  if (p.silent) return [h("span", { class: "badge" }, "silent"), ` no report for ${span(1000 * p.age_seconds)}`];
  const others = p.alarms.map(a => a.name).filter(name => !here.includes(name));
  const alarms = others.length && !p.self ? h("span", { class: "quiet" }, `${plural(others.length, "alarm")}: `,
    others.map(name => name.replaceAll("_", " ")).join(", ")) : null;
  const l = p.trainer?.leading;
  const text = !l || !p.ready ? p.doing : l.phase === "done" ? "leads; done" : leadsBy(l);
  return [p.ready ? null : h("span", { class: "badge" }, "not ready"), p.ready ? null : " ", text, alarms];
}

export function renderFleet(d) {
  const f = d.fleet;
  if (!f) return;
  const { sums } = f, here = f.processes[0].host, raised = d.alarms.map(a => a.name);
  const rank = p => p.trainer?.leads ? 0 : p.silent || !p.ready ? 1 : p.trainer ? 2 : 3;
  const list = [...f.processes].sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name));
  const lone = list.length === 1;
  say("fleet-note", (lone ? "This is the only one. " : `${plural(sums.processes, "process", "processes")}` +
    ` (${plural(sums.scorers, "scorer")}, ${plural(sums.trainers, "trainer")})` +
    (sums.silent ? `, and ${count(sums.silent)} silent` : "") + ". ") +
    (sums.leader ? "" : "No trainer leads. ") +
    (sums.scorers ? `${count(sums.records_per_second)} records a second are scored.` : "No scorer runs."));
  const columns = [
    { name: "Where", head: true, cell: p => place(p, here) },
    { name: "Role", cell: role },
    { name: "Records/s", number: true, cell: p => p.scorer ? count(p.scorer.records_per_second) : "" },
    { name: "Lag", number: true, cell: p => p.scorer ? count(p.scorer.lag) : "" },
    { name: "Doing", text: true, cell: p => h("div", {}, state(p, raised)) },
  ];
  const key = [list.map(p => [p.name, role(p), p.address, p.ready, p.doing, p.silent && Math.round(p.age_seconds),
    p.alarms.map(a => a.name), p.scorer, p.trainer]), raised];
  const most = window.innerWidth < NARROW ? FLEET_NARROW : FLEET, rest = list.slice(most);
  fill("fleet-table", [key, most], () => [table("Processes", columns, list.slice(0, most))]);
  show("fleet-rest", rest.length > 0);
  say("fleet-rest-note", `${count(rest.length)} more processes`);
  fill("fleet-rest-table", [key, most], () => rest.length ? [table("More processes", columns, rest)] : []);
  say("fleet-trouble", f.trouble ? `Other processes may be missing here: ${f.trouble}` : "");
}
