/* What is folded: requests, candidates, dead letters, throughput, partitions, drift. */
import {fill, h, say, show, table} from "./dom.js";
import {drawTime} from "./plots.js";
import {elsewhere, orEmpty} from "./views.js";
import {
  count, criterionName, criterionReason, criterionText, deadReason, known, none, plural, rate, rateOf, span
} from "./words.js";

const SHOWN = 15, SHOWN_REQUESTS = 10;

/* ---- dead letters and requests ---------------------------------------------------------------- */

export function renderDead(d) {
  const list = [...d.status.dead_letters].sort((a, b) => b.count - a.count);
  show("dead-part", list.length > 0);
  say("dead-note", `${plural(list.reduce((n, l) => n + l.count, 0), "message")} since the start`);
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
  say("requests-note", count(d.t?.labels.open ?? d.lead?.open));
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

export function renderAgreement(d) {
  const a = d.agreement, there = a?.records > 0;
  show("agreement-part", there);
  if (!there) return;
  say("agreement-note", `alpha ${rate(a.alpha, 2)}, on ${plural(a.records, "record")} that several people answered`);
  fill("agreement-classes", a.classes, () => [table("Agreement by class", [
    { name: "Class", head: true, cell: c => c.class },
    { name: "Alpha of it against the others", number: true, cell: c => rateOf(c.alpha, 2) },
  ],
    a.classes, { cards: false })]);
  fill("agreement", a.annotators, () => [table("Agreement by annotator", [
    { name: "Annotator", head: true, id: true, cell: p => p.annotator },
    { name: "Answers", number: true, cell: p => count(p.answers) },
    { name: "Agree with others", number: true, cell: p => rateOf(p.share, 2) },
    { name: "Alpha without them", number: true, cell: p => rateOf(p.alpha_without, 2) },
  ],
    a.annotators, { cards: false })]);
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
  say("lags-note", `${count(d.lags.length)} read by this process, ` +
    `${plural(d.lags.reduce((n, l) => n + (l.lag ?? 0), 0), "message")} behind`);
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
        `${plural(f.sampled_rows, "recent record")} against ${
          plural(f.initial_rows, "initial row")}. ` +
        (f.limit > 0 ? `Above ${f.limit} is an alarm.` : ""));
  say("drift-short", none ? "not measured yet" : f.limit > 0 ?
    `${count(f.columns_above)} of ${plural(f.all_columns, "column")} drifted` : plural(f.all_columns, "column"));
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
  say("best-note", d.t ? `${count(d.candidates?.held)} held` : "");
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
