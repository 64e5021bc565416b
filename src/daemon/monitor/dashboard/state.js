/* The first line: what fisd does or waits for. What is wrong comes from /api/v1/alarms: it
 * decides how the headline looks. Only whether fisd answers is for the page to find out. */
import {count, epsilonText, known, plural, reasonName, span} from "./words.js";

const say = (level, text, more = "") => ({ level, text, more });

/* In this order: the first that holds is shown. Each gives {level, text, more} or nothing. */
const STATES = [
  ({ locked, status }) => locked &&
    say("wait",
      locked === "wrong" ? "The bearer token does not match" : "fisd requires its bearer token",
      "It answers, and shows its figures to those who have the token: what stands in the file " +
        "http.token_file of its configuration. " + (status ? "What is shown below is old." : "")),
  ({ lost, status }) => lost &&
    say("trouble", `No answer from fisd for ${span(lost.for_ms)}: ${lost.text}`,
      "Is the process running, and can this browser reach it? systemctl status 'fisd@*' and " +
      "its log (journalctl -u 'fisd@*') say more. This page goes on by itself. " +
        (status ? "What is shown below is old." : "")),
  ({ status }) => !status && say("wait", "Reading …"),
  ({ status: s }) => !s.broker &&
    say("wait", "No Kafka broker answers" + (s.broker_trouble ? `: ${s.broker_trouble}` : ""),
      "fisd waits, and goes on by itself when one does. Check that the broker runs, that " +
      "kafka.bootstrap.servers in the configuration is its address, and that its security " +
      "settings fit."),
  ({ status: s, t, lead }) => s.trainer && !t && !s.scorer && standby(s, lead),
  ({ t }) => t?.phase === "warm-up" &&
    say("wait", "Warming up: the first model is trained on the initial rows",
      "A version appears when it has been measured on the validation rows."),
  ({ t }) => t?.phase === "done" && done(t),
  ({ t }) => t?.paused &&
    say("wait", "Paused: no label is asked for",
      "Records are scored, and answers that come are used. Resume labelling when there should " +
      "be new requests."),
  d => !d.t && !d.status.trainer && d.status.scorer?.head_version && !d.leader &&
    say("warn", "Scoring; no trainer leads",
      "Nothing is trained and no label is asked for. Start a fisd with the role trainer, or look at " +
        "its log (journalctl -u 'fisd@*')."),
  labels,
  records,
  ({ status: s }) => !s.ready && say("wait", "Not ready", s.reason),
  d => !d.t && withoutLeading(d),
  ({ t }) => say("ok", ...running(t)),
];

/* What a process that does not lead says: what it does, and what the trainer does. */
function withoutLeading({ status: s, lead, leader }) {
  const mine = s.scorer ? "Scoring" : "Running";
  if (!leader) return say("ok", mine, s.doing);
  return say("ok", `${mine}; the trainer: ${theirs(lead)}`, "Nothing needs to be done here.");
}

const theirs = lead => lead.phase === "done" ? doneText(lead) : leadsBy(lead);

/* What a leader that is not done does or waits for. */
export const leadsBy = l => l.training                  ? "training" :
  l.open && ["full", "round"].includes(l.asking.state) ? `waiting for ${plural(l.open, "label")}` :
  l.asking.state === "goes_on"                          ? `asking; ${plural(l.open, "label")} open` :
                                                          l.asking.text.split("; ")[0] + (l.open ? `; ${plural(l.open, "label")} open` : "");

/* Where this process does not lead: what the leader reported. */
export function findLeader(fleet) {
  const leader = fleet?.processes.find(p => p.name === fleet.sums.leader) ?? null;
  return { leader, lead: leader?.trainer?.leading ?? null };
}

/* And why no label is asked for, when none is. */
function running(t) {
  const fine = "Nothing needs to be done.";
  if (t.job !== "none") return ["Training", fine];
  if (t.asking.state === "goes_on") return ["Running", fine];
  const [why, ...more] = t.asking.text.split("; ");
  return [`Running; ${why}`, more.length ? `${more.join("; ")}. ${fine}` : fine];
}

function standby(s, lead) {
  const state = s.trainer.state;
  if (!["new", "standby", "fence", "catch_up", "lead"].includes(state))
    return say("wait", `The trainer does not run (${state})`,
      "The log has the reason. It starts again by itself, or the process ends.");
  return say("wait",
    state === "standby" ? "Standing by: another trainer leads" : "Taking over as the trainer",
    (lead ? `The leader: ${theirs(lead)}. ` : "") +
      (s.reason ?? "This one follows the ledger, and takes over when the leader is gone."));
}

const isSpent = n => !!n.budget && n.budget_left === 0;
const doneText = n => isSpent(n) ? "done, the labelling budget is spent" : "done, all rounds are over";

/* The budget that is spent is in the headline: its alarm would say the same. */
export function shownAlarms({ t, alarms }) {
  const twice = t?.phase === "done" && isSpent(t.labels);
  return twice ? alarms.filter(a => a.name !== "budget_low") : alarms;
}

function done(t) {
  const spent = isSpent(t.labels);
  return say("wait", spent ? "Done: the labelling budget is spent" : "Done: all rounds are over",
    `Version ${t.served_version} goes on being served. For more labels raise ` +
      (spent ? "selection.budget" : "training.rounds") + " in the configuration, and reload it.");
}

function records({ status: s, t, lead, lags }) {
  if (s.fleet.records || t?.records || !(s.scorer || t) || lead?.phase === "done") return null;
  if (s.scorer && !s.scorer.head_version)
    return say("wait", "Waiting for the first head",
      (s.reason ? s.reason + ". " : "") + "Scorers begin when a trainer has published one.");
  const topic = lags.find(l => l.role === "scorer")?.topic ?? "of the records";
  return say("wait", "Waiting for records",
    (s.served ? `Version ${s.served.version} is served. ` : "") +
      `No record has come since ${start(t)}. What writes to the topic ${topic}? ` +
      "To try it with a file: fisctl replay.");
}

/* Counters of records and the time of the last answer start with the process; what was requested
 * for and answered is remembered. */
const start = t => t?.labels.asked ? "this start of fisd" : "the start";

function labels({ t }) {
  const n = t?.labels;
  if (!n?.open || (n.last_answer_seconds != null && !["full", "round"].includes(t.asking.state))) return null;
  if (n.last_answer_seconds != null)
    return t.job === "none" && say("ok", `Waiting for ${plural(n.open, "label")}`,
      `The last answer came ${span(1000 * n.last_answer_seconds)} ago. Your labelling tool answers on the topic of the ` +
        "labels. By hand: fisctl label.");
  const last = n.answered ? "none has come since this start of fisd" : "none has come yet";
  const age = known(n.oldest_seconds) ? ` the oldest ${span(1000 * n.oldest_seconds)} ago;` : "";
  return say("wait", `Waiting for ${plural(n.open, "label")}: ${last}`,
    (n.answered ? `${plural(n.answered, "answer")} came before. ` : "") +
      `They were asked for on the topic of the label requests,${age} ` +
      "your labelling tool answers on the topic of the labels. By hand: fisctl label.");
}

/* A trouble with Kafka that hinders nothing is not shown first. */
function withTrouble(shown, s) {
  const trouble = s?.broker_trouble;
  if (!trouble || shown.text.includes(trouble)) return shown;
  return { ...shown, more: `${shown.more} (Kafka, recently: ${trouble})`.trim() };
}

const LEVELS = { critical: "trouble", warning: "warn" };

/* The first alarm is the worst. */
function withAlarms(shown, alarms) {
  if (!alarms.length) return shown;
  const text = shown.level === "ok" ? `${shown.text}, ${plural(alarms.length, "alarm")}` : shown.text;
  const more = shown.level === "ok" ? "The alarm below has what to do." : shown.more;
  return { ...shown, text, more, level: LEVELS[alarms[0].severity] };
}

export function headline(d) {
  for (const state of STATES) {
    const shown = state(d);
    if (!shown) continue;
    return d.lost || d.locked ? shown : withAlarms(withTrouble(shown, d.status), shownAlarms(d));
  }
  return null;
}

export const SIGNS = {
  ok: "✓",
  wait: "…",
  warn: "!",
  trouble: "✗"
};

/* ---- versions -------------------------------------------------------------------------------- */

const WORDS = {
  serving: "serving now",
  served: "served before",
  back: "rolled back",
  rejected: "rejected"
};

/* Gives each version kind and word. A version was rolled back when the operator went back from it:
 * that is a version of its own, whose parent it is. */
export function classify(versions, serving) {
  const back = new Set(versions.filter(v => v.reason === "rolled_back").map(v => v.parent));
  const now = serving || versions.find(v => v.published)?.version;
  for (const v of versions) {
    v.kind = v.version === now ? "serving" :
      !v.published             ? "rejected" :
      back.has(v.version)      ? "back" :
                                 "served";
    v.word = WORDS[v.kind];
  }
  return versions;
}

export const kindWord = kind => WORDS[kind];

/* What a reader of all heads can tell of one validation example (privacy.noise). */
function privacyTile(p) {
  if (p.exact)
    return ["no ε holds", `${plural(p.exact, "refresh", "refreshes")} went out without noise`];
  const after = `after ${plural(p.refreshes, "refresh", "refreshes")} with noise ${p.noise}`;
  return [`ε ${epsilonText(p.epsilon)}`, `for δ ${p.delta.toExponential()}, ${after}`];
}

const budgetText = n => (n.budget ? `of ${plural(n.budget, "label")}` : `${plural(n.asked, "label")} asked for`) +
  (n.daily_budget ? `; today ${count(n.day_asked)} of ${count(n.daily_budget)} asked for` : "");

/* Of the trainer that leads: as it has them itself, or as it reported them. */
function ofTrainer(add, t, lead) {
  const n = t?.labels ?? lead;
  add("Round", count(t?.round ?? lead.round),
    (t ? t.job !== "none" : lead.training) ? `${(t ?? lead).phase}, training` : (t ?? lead).phase);
  if (t?.mode === "stream" && t.phase !== "done")
    add("Window", count(t.window), `of ${plural(t.window_records, "record")}`);
  const spent = (t ?? lead).phase === "done" && isSpent(n);
  add("Budget left", n.budget ? count(n.budget_left) : "no limit", spent ? `${plural(n.budget, "label")} used` : budgetText(n));
  add("Open requests", count(n.open),
    !t                           ? `${count(n.answered)} answered` :
    known(n.last_answer_seconds) ? `last answer ${span(1000 * n.last_answer_seconds)} ago` :
    n.answered                   ? "no answer since this start" :
                                   "no answer yet");
}

export function tiles({ t, lead, status: s, versions }) {
  const list = [], add = (name, big, small = "") => list.push({ name, big, small });
  const v = versions.find(x => x.kind === "serving"), f = s.fleet;
  if (v)
    add("Serving", `version ${v.version}`, t?.pinned || lead?.pinned ? "pinned: it stays" : reasonName(v.reason));
  if (t || lead) ofTrainer(add, t, lead);
  if (t?.privacy) add("Privacy of heads", ...privacyTile(t.privacy));
  add("Records scored", `${count(f.records_per_second)}/s`,
    `${count(f.records)} by ${plural(f.scorers, "scorer")}`);
  if (f.scorers) add("Lag", f.lag == null ? "–" : count(f.lag), "records not read yet");
  return list;
}
