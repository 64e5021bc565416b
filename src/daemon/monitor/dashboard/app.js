/* The page: reads the API again and again, draws what changed, gives commands. */
import {command, read, Refused, token} from "./api.js";
import {$, fill, h, say, show} from "./dom.js";
import {renderAlarms, renderAnswers, renderHead, renderTiles} from "./hero.js";
import {renderAgreement, renderBest, renderDead, renderDrift, renderFlow, renderRequests} from "./lists.js";
import {classify, findLeader} from "./state.js";
import {renderFleet, renderFunnel, renderGroups, renderVersions} from "./views.js";
import {span} from "./words.js";

const EVERY_MS = 2000, AT_MOST_MS = 15000;
const OUTCOME_TRIES = 40, OUTCOME_EVERY_MS = 250;

const dark = window.matchMedia("(prefers-color-scheme: dark)");
const ui = {
  metric: null,
  group: null,
  all: false,
  dark: dark.matches
};
const data = {
  status: null,
  t: null,
  versions: [],
  alarms: [],
  lags: [],
  candidates: null,
  requests: null,
  drift: null,
  rate: null,
  lag: null,
  fleet: null,
  groups: null,
  agreement: null,
  leader: null,
  lead: null,
  target: null,
  few: 0,
  lost: null,
  locked: null /* "required" or "wrong": fisd answers, but not without its token */
};
let failures = 0, timer = 0, heard = 0;

/* ---- reading --------------------------------------------------------------------------------- */

function curves(flow, now) {
  if (!flow) return;
  const at = i => (flow.time_ms[i] - now) / 1000, each = flow.interval_seconds;
  data.rate = flow.time_ms.map((_, i) => ({ x: at(i), y: flow.records[i] / each }));
  data.lag = flow.time_ms.map((_, i) => ({ x: at(i), y: flow.lag[i] }));
}

async function readAll() {
  const [status, versions, candidates, requests, flow, lag, alarms, drift, fleet, groups, agreement] = await Promise.all(
    ["status", "versions", "candidates", "requests", "throughput", "lag", "alarms", "drift", "fleet", "groups", "agreement"].map(
      read));
  data.status = status;
  data.few = versions?.warn_cell ?? 0;
  data.target = versions?.target ?? null;
  Object.assign(data, { fleet, groups, agreement }, findLeader(fleet));
  data.t = status.trainer?.leading ?? null;
  data.versions =
    classify([...versions?.versions ?? []].sort((a, b) => b.version - a.version), versions?.served);
  Object.assign(data,
    { candidates, requests, drift, alarms: alarms?.alarms ?? [], lags: lag?.partitions ?? [] });
  curves(flow, status.time_ms);
}

function draw() {
  renderHead(data);
  show("forget", !!token.get());
  if (!data.status) return;
  ui.metric ??= data.status.metric;
  const on = data.status.commands, t = data.t;
  show("pause", on && !!t && !t.paused);
  show("resume", on && !!t?.paused);
  show("rollback", on && !!t && data.versions.filter(v => v.published).length > 1);
  show("label-page", !!data.status.label_page);
  say("pipeline", data.status.pipeline);
  const { version, uptime_seconds: up, delivery, embedded } = data.status;
  say("program",
    `fisd ${version}, up for ${span(1000 * up)}, ` + delivery.replaceAll("_", " ") +
      (embedded ? ", on the embedded broker" : ""));
  renderAnswers(data);
  renderAlarms(data);
  renderTiles(data);
  renderVersions(data, ui, { on: on && !!t, rollback: askRollback });
  renderFunnel(data);
  renderDead(data);
  renderRequests(data);
  renderGroups(data, ui);
  renderFleet(data);
  renderFlow(data, ui);
  renderDrift(data);
  renderBest(data);
  renderAgreement(data);
}

function failed(e) {
  failures++;
  if (e instanceof Refused && e.status === 401) return needToken(e.token);
  data.locked = null;
  data.lost ??= { since: heard || Date.now() };
  data.lost.for_ms = Date.now() - data.lost.since;
  data.lost.text = e.name === "TimeoutError" ? "it takes too long" :
    e instanceof Refused                     ? e.message :
                                               "the connection fails";
}

/* One at a time, and none while nobody looks. */
async function turn() {
  clearTimeout(timer);
  try {
    await readAll();
    failures = 0;
    heard = Date.now();
    data.lost = data.locked = null;
  } catch (e) {
    if (!(e instanceof Refused) && !["TypeError", "TimeoutError", "AbortError"].includes(e.name))
      throw e;
    failed(e);
  } finally {
    clearTimeout(timer);
    if (!document.hidden)
      timer = setTimeout(turn, Math.min(EVERY_MS * 2 ** Math.min(failures, 3), AT_MOST_MS));
    draw(); /* last: what cannot be drawn now may be the next time */
    document.body.dataset.turns = String(Number(document.body.dataset.turns ?? 0) + 1);
  }
}

/* ---- commands -------------------------------------------------------------------------------- */

function outcome(level, text) {
  show("outcome", true);
  $("outcome").dataset.level = level;
  say("outcome", text);
}

/* 202 says that it is on the topic; what becomes of it, the trainer says a little later. */
async function follow(given) {
  for (let i = 0; i < OUTCOME_TRIES; i++) {
    const k = await read(`commands/${encodeURIComponent(given.command)}`);
    if (k && k.outcome !== "sending" && k.outcome !== "sent") return k;
    await new Promise(done => setTimeout(done, OUTCOME_EVERY_MS));
  }
  return null;
}

async function give(name, body) {
  outcome("wait", `${name}: sent …`);
  const k = await follow(await command(name, { by: "dashboard", ...body }));
  const seconds = OUTCOME_TRIES * OUTCOME_EVERY_MS / 1000;
  if (!k)
    outcome("warn",
      `${name}: sent, and no outcome within ${seconds} s. ` +
        "The trainer takes commands between its jobs; fisctl labels status shows what became " +
        "of it.");
  else
    outcome(k.outcome === "done" ? "ok" : k.outcome === "taken" ? "warn" : "trouble",
      `${name}: ${k.outcome}${k.text ? ": " + k.text : ""}`);
  await turn();
}

/* The dialog: what will be done, the token if there is none yet, and a second look at both. */
let pending = null;

function ask({ title, text, yes, version = false, act }) {
  pending = act;
  say("ask-title", title);
  say("ask-text", text);
  say("ask-yes", yes);
  say("ask-error", "");
  show("ask-version-row", version);
  show("ask-token-row", !token.get());
  $("ask-token").value = "";
  $("ask").showModal();
  $(token.get() ? "ask-no" : "ask-token").focus();
}

async function confirmed(event) {
  event.preventDefault();
  const text = $("ask-token").value.trim();
  if (!token.get() && !text) {
    say("ask-error", "The token is missing.");
    $("ask-token").focus();
    return;
  }
  if (text) token.set(text);
  const act = pending;
  $("ask").close(); /* so that it is given once; others may be given while it is under way */
  try {
    await act();
  } catch (e) {
    if (!(e instanceof Refused) && !["TypeError", "TimeoutError"].includes(e.name)) throw e;
    const wrong = e instanceof Refused && (e.status === 401 || e.status === 403);
    if (wrong) token.forget();
    const why = e instanceof Refused ? e.message : "fisd does not answer";
    outcome("trouble", `Not done: ${wrong && e.status === 401 ? "the token is wrong" : why}`);
  } finally {
    draw();
  }
}

function needToken(sent) {
  data.lost = null;
  if (sent !== token.get()) return; /* it has changed meanwhile */
  data.locked = sent ? "wrong" : data.locked ?? "required";
  token.forget();
  if ($("ask").open) return;
  ask({
    title: "Token required",
    text: "This fisd shows its figures to those who have its token (http.protect).",
    yes: "Show",
    act: turn
  });
  if (data.locked === "wrong") say("ask-error", "The bearer token does not match.");
}

function askRollback(version) {
  const choice = data.versions.filter(v => v.published && v.kind !== "serving");
  fill("ask-version", choice.map(v => v.version),
    () => choice.map(v => h("option", { value: String(v.version) }, `${v.version} (${v.word})`)));
  if (typeof version === "number") $("ask-version").value = String(version);
  const now = data.versions.find(v => v.kind === "serving")?.version ?? "–";
  ask({
    title: "Roll back?",
    version: true,
    yes: "Roll back",
    text: `Version ${now} is served now. ` +
      "The weights of the version that you choose are published again, as a new version, if " +
      "they still keep the accuracy floor.",
    act: () => give("rollback", { version: Number($("ask-version").value) })
  });
}

function setUp() {
  $("pause").addEventListener("click", () => ask({
    title: "Pause labelling?",
    yes: "Pause",
    text:
      "No label is asked for until it is resumed. Requests that are open stay open, and their " +
      "answers are used.",
    act: () => give("pause")
  }));
  $("resume").addEventListener("click", () => ask({
    title: "Resume labelling?",
    yes: "Resume",
    text: "Labels are asked for again, within the budget.",
    act: () => give("resume")
  }));
  $("rollback").addEventListener("click", () => askRollback());
  $("forget").addEventListener("click", () => {
    token.forget();
    draw();
    $("main").focus();
  });
  $("ask-form").addEventListener("submit", confirmed);
  $("ask-no").addEventListener("click", () => $("ask").close());
  $("metric").addEventListener("change", e => {
    ui.metric = e.target.value;
    draw();
  });
  $("group-version").addEventListener("change", e => {
    ui.group = Number(e.target.value);
    draw();
  });
  $("versions-more").addEventListener("click", () => {
    ui.all = true;
    draw();
  });
  dark.addEventListener("change", () => {
    ui.dark = dark.matches;
    draw();
  });
  document.addEventListener("visibilitychange", () => document.hidden || turn());
  setInterval(
    () => say("age", heard ? `updated ${span(Math.max(1000, Date.now() - heard))} ago` : ""), 1000);
}

setUp();
turn();
