/* The labelling page. Answers are kept in this browser until the server says that Kafka has them;
 * what is sent twice counts once, so everything here may be repeated. Texts of records go in as
 * text, never as markup. */
import {$, h, say, show} from "./dom.js";

const POLL_MS = 10000, EMPTY_MS = 2000, RETRY_MS = 1500, PATIENCE_MS = 8000, PUMP_MS = 700;

/* ---- who ---------------------------------------------------------------------------------------
 * A token (or where none are configured, a name) of this tab, or of this device when asked to. */

const WHO = "fisd-label-token", NAME = "fisd-label-name";
let byName = false; /* the server knows no tokens */

const who = () => sessionStorage.getItem(byName ? NAME : WHO) ?? localStorage.getItem(byName ? NAME : WHO);
function remember(text, keep) {
  (keep ? localStorage : sessionStorage).setItem(byName ? NAME : WHO, text);
}
function forget() {
  for (const store of [sessionStorage, localStorage])
    for (const key of [WHO, NAME]) store.removeItem(key);
}

/* A link with the token behind the '#', which no server sees. */
const given = /^#token=(.+)$/.exec(location.hash);
if (given) {
  sessionStorage.setItem(WHO, decodeURIComponent(given[1]));
  history.replaceState(null, "", location.pathname);
}

/* ---- asking ------------------------------------------------------------------------------------ */

class Refused extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

async function ask(path, body) {
  const headers = {Accept: "application/json"}, mine = who();
  if (mine && byName) headers["X-Annotator"] = encodeURIComponent(mine);
  else if (mine) headers.Authorization = `Bearer ${mine}`;
  const answer = await fetch(`api/v1/label/${path}`, {
    method: body ? "POST" : "GET",
    body: body && JSON.stringify(body),
    headers: body ? {...headers, "Content-Type": "application/json"} : headers,
    cache: "no-store",
    credentials: "omit",
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  const got = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, got.detail ?? `HTTP status ${answer.status}`);
  return {...got, status: answer.status};
}

function midnight() {
  const day = new Date();
  return day.setHours(0, 0, 0, 0);
}

/* One thing after the other, in the order in which it was asked for. */
let chain = Promise.resolve();
const inTurn = f => chain = chain.then(f, f);

/* ---- what is kept until it has arrived ----------------------------------------------------------
 * [{a: the answer, until: when it is sent, as far as is known}] */

let annotator = "";
const boxKey = () => `fisd-label-answers:${annotator}`;
const box = {
  all: () => JSON.parse(localStorage.getItem(boxKey()) ?? "[]"),
  write: list => localStorage.setItem(boxKey(), JSON.stringify(list)),
  put: (a, until) => box.write([...box.all().filter(o => o.a.id !== a.id), {a, until}]),
  drop: id => box.write(box.all().filter(o => o.a.id !== id)),
};

/* ---- state ------------------------------------------------------------------------------------- */

let task = null;    /* what is shown */
let state = null;   /* the last answer of next */
let busy = false;   /* an answer was given, and the next record is not there yet */
let active = Date.now(), looked = 0, timer = 0;
let held = [];      /* [{id, word, until}], the newest last: what undo takes back */
let offline = false, stale = true; /* stale: the server may have restarted, and not know what is kept */

function trouble(text) {
  say("trouble", text);
  show("trouble", !!text);
}

function lost(e) {
  const kept = annotator ? box.all().length : 0;
  offline = stale = true;
  trouble((e instanceof Refused ? `Not now: ${e.message}.` : "The connection is lost.") +
    (kept ? ` ${kept === 1 ? "Your last answer is" : `${kept} answers are`} kept here and sent when it is back.`
          : " It is tried again."));
}

function found() {
  if (offline) {
    trouble("");
    say("status", "Connected again.");
  }
  offline = false;
  if (stale && annotator) {
    box.write(box.all().map(o => ({...o, until: 0})));
    stale = false;
  }
}

/* ---- showing ----------------------------------------------------------------------------------- */

const seconds = s => s === 1 ? "1 second" : `${s} seconds`;
const count = (n, what) => `${n.toLocaleString()} ${what}${n === 1 ? "" : "s"}`;
const share = x => `${Math.round(100 * x)} %`;

/* Where a class is itself a digit, that is its key; else they are numbered. */
function keyOf(classes, i) {
  if (classes.some(c => /^[0-9]+$/.test(c))) return /^[0-9]$/.test(classes[i]) ? classes[i] : null;
  return i < 9 ? String(i + 1) : null;
}

function drawClasses(classes) {
  const e = $("classes"), text = JSON.stringify(classes);
  if (e.shown === text) return;
  e.shown = text;
  for (const old of e.querySelectorAll("button")) old.remove();
  e.append(...classes.map((name, i) => {
    const key = keyOf(classes, i);
    return h("button", {type: "button", "data-class": i, "aria-keyshortcuts": key,
      click: () => answer({label: name}, name, i)},
      key && h("kbd", {"aria-hidden": "true"}, key), h("span", null, name));
  }));
  $("keys").replaceChildren(...[
    ...classes.map((name, i) => [keyOf(classes, i), name]).filter(([key]) => key),
    ["S", "skip"], ["U", "unsure"], ["Z", "undo: take the last answer back"], ["?", "this help"],
  ].map(([key, text]) => h("tr", null, h("td", null, h("kbd", null, key)), h("td", null, text))));
}

/* Only http, https and pictures, whatever came. */
function safe(url, image) {
  if (image && /^data:image\/(png|jpeg|gif|webp);base64,/i.test(url)) return url;
  try {
    return ["http:", "https:"].includes(new URL(url).protocol) ? url : null;
  } catch {
    return null;
  }
}

/* A small picture is shown several times as large, so that its pixels are seen, and are square. */
const ROOM = 288;
function enlarge({target: e}) {
  const times = Math.floor(ROOM / Math.max(e.naturalWidth, e.naturalHeight));
  if (times > 1) e.width = times * e.naturalWidth;
  e.classList.add(times > 1 ? "enlarged" : "there");
}

function value(f) {
  const url = (f.as === "image" || f.as === "link") && safe(f.value, f.as === "image");
  if (f.as === "missing") return h("dd", {class: "missing"}, "not known");
  if (url && f.as === "link")
    return h("dd", null, h("a", {href: url, target: "_blank", rel: "noopener noreferrer"}, f.value));
  if (url) {
    const broken = e => e.target.replaceWith("The picture cannot be loaded.");
    return h("dd", null, h("img", {src: url, alt: `${f.name} of this record`, load: enlarge, error: broken}));
  }
  return h("dd", {class: f.value.length > 80 ? "long" : null}, f.value);
}

/* amount_requested may break behind the line below. */
const breakable = name => name.split(/(?<=_)/).flatMap(part => [part, h("wbr")]).slice(0, -1);

function drawRecord(r) {
  const list = $("fields");
  say("record-title", `Record ${r.id}`);
  say("record-more", `round ${r.round}` + (r.votes > 1 ? `, one of ${r.votes} answers` : ""));
  list.classList.toggle("many", r.fields.length > 12 && !r.fields.some(f => f.as === "image"));
  list.classList.toggle("wide", r.fields.some(f => f.as === "image" || f.value.length > 60));
  list.replaceChildren(...r.fields.map(f => h("div", null,
    h("dt", null, breakable(f.name), f.help && h("small", null, ` ${f.help}`)), value(f))));
  if (!r.fields.length) list.append(h("div", null, h("dt", null, "record"), h("dd", {class: "missing"}, "cannot be shown")));
}

function drawProgress(s) {
  const p = s.progress;
  say("progress", `${p.done.toLocaleString()} done today · ${p.open.toLocaleString()} open` +
    (p.others ? ` (${p.others.toLocaleString()} with others)` : ""));
  say("who", s.annotator);
  const a = s.agreement;
  say("agreement", a.alpha == null ? "" : `Agreement of all annotators, on ${count(a.records, "record")} with several ` +
    `answers: Krippendorff's α ${a.alpha.toFixed(2)} (1: always, 0: as chance would have it).` +
    (a.own == null ? "" : ` You agree with the others' answers in ${share(a.own)}.`));
  say("undo-seconds", s.undo_seconds > 0 ? seconds(s.undo_seconds) : "no time");
}

function drawWaiting(title, text, more, button) {
  say("waiting-title", title);
  say("waiting-text", text);
  say("waiting-more", more);
  show("go-on", button);
}

const words = {
  empty: s => drawWaiting("Nothing to label now", `Why: ${s.asking.text}.`,
    "New records appear here by themselves.", false),
  others: s => drawWaiting("Nothing to label for you now",
    s.progress.others ? `${count(s.progress.others, "open record")} ${s.progress.others === 1 ? "is" : "are"} with other people.`
                      : "You have answered all open records; others are to answer them too.",
    `New records appear here by themselves. Trainer: ${s.asking.text}.`, false),
  lapsed: () => drawWaiting("Are you still there?",
    "The record went back, since nothing was done for a while or it is no longer needed.", "", true),
};

function display(what) {
  show("login", what === "login");
  show("record", what === "record");
  show("answers", what === "record" || (held.length > 0 && what === "waiting"));
  show("question", what === "record");
  show("waiting", what === "waiting");
  for (const e of document.querySelectorAll("#classes button, #skip, #unsure"))
    e.disabled = what !== "record" || busy;
  if (!busy)
    for (const e of document.querySelectorAll(".chosen")) e.classList.remove("chosen");
}

/* A new record takes the focus, so that a screen reader begins there; what somebody is typing in,
 * or has opened, keeps it. */
function take(s, note = "") {
  const before = task?.id, wasWaiting = !$("waiting").hidden;
  state = s;
  annotator = s.annotator;
  looked = Date.now();
  found();
  say("question", s.question);
  drawClasses(s.classes);
  drawProgress(s);
  task = s.state === "task" ? s.request : null;
  document.title = task ? "Label records" : "Nothing to label";
  busy = false;
  if (task && task.id !== before) drawRecord(task);
  if (!task) words[s.state](s);
  display(task ? "record" : "waiting");
  drawUndo();
  if (!$("help").open && (task ? task.id !== before : !wasWaiting)) {
    scrollTo(0, 0);
    $(task ? "record-title" : s.state === "lapsed" ? "go-on" : "waiting-title").focus({preventScroll: true});
  }
  if (note) say("status", note);
  else if (task && before && task.id !== before && s.moved) say("status", "That record is no longer needed; here is the next.");
}

/* ---- getting the next record -------------------------------------------------------------------- */

function plan(ms) {
  clearTimeout(timer);
  timer = setTimeout(() => inTurn(look), ms);
}

async function next(note) {
  const idle = task && active < looked ? "&idle=1" : "";
  const before = task?.id;
  try {
    const s = await ask(`next?since=${midnight()}${idle}`);
    annotator = s.annotator;
    const given = box.all().find(o => o.a.id === s.request?.id);
    if (given) { /* a restarted server does not know it yet */
      if (await deliver(given.a) || !offline) return next(note);
      throw new TypeError("the connection was lost again");
    }
    s.moved = !!before && !note;
    take(s, note);
    plan(s.state === "task" || s.state === "lapsed" ? POLL_MS : EMPTY_MS);
  } catch (e) {
    failed(e);
  }
}

function failed(e) {
  if (e instanceof Refused && (e.status === 401 || e.status === 403)) {
    login(e);
    return;
  }
  if (e instanceof Refused && e.status === 404) {
    trouble(`${e.message}.`);
    display("none");
    return;
  }
  busy = false;
  lost(e);
  if (!task) {
    drawWaiting("Waiting for fisd", "It is asked again every moment; nothing is lost.", "", false);
    display("waiting");
  }
  plan(RETRY_MS);
}

/* A person who was away is asked whether they are back, and asks for a record by the button. */
async function look() {
  if (busy || (state?.state === "lapsed" && active < looked)) return plan(POLL_MS);
  await next();
}

/* ---- answering ---------------------------------------------------------------------------------- */

function answer(body, word, index) {
  if (!task || busy) return;
  const a = {id: task.id, ...body};
  busy = true;
  active = Date.now();
  display("record");
  if (index != null) document.querySelector(`[data-class="${index}"]`).classList.add("chosen");
  const until = Date.now() + 1000 * state.undo_seconds;
  box.put(a, 0);
  held.push({id: a.id, word, until});
  inTurn(async () => {
    task = null;
    const ok = await deliver(a);
    drawUndo();
    await next(ok ? `${word}: kept for record ${a.id}.` : "");
  });
}

function noLongerHeld(id) { held = held.filter(o => o.id !== id); }

/* Sends one answer, or asks how far it has come. True: the server has it. */
async function deliver(a) {
  try {
    const got = await ask("answer", a), until = Date.now() + 1000 * got.undo_seconds;
    found();
    if (got.status === 200) box.drop(a.id);
    else box.put(a, until);
    for (const o of held) if (o.id === a.id) o.until = until;
    return true;
  } catch (e) {
    if (!(e instanceof Refused) || e.status >= 500) {
      lost(e);
    } else if (e.status === 401) {
      login(e);
    } else {
      box.drop(a.id);
      noLongerHeld(a.id);
      trouble(`Record ${a.id}: ${e.message}.`);
      setTimeout(() => offline || trouble(""), 8000);
    }
    return false;
  }
}

/* What has not arrived is sent again, until it has. */
async function pump() {
  if (annotator && !$("login").offsetParent)
    for (const {a, until} of box.all())
      if ((offline || until <= Date.now()) && !await deliver(a) && offline) break;
  setTimeout(() => inTurn(pump), offline ? RETRY_MS : PUMP_MS);
}

/* ---- undo --------------------------------------------------------------------------------------- */

let clock = 0;
function drawUndo() {
  const now = Date.now(), before = held.length;
  held = held.filter(o => o.until > now);
  const last = held.at(-1);
  $("undo").disabled = !last || busy;
  say("undo-text", last ? `Undo ${last.word} (${Math.ceil((last.until - now) / 1000)})` : "Undo");
  $("undo").setAttribute("aria-label", last ? `Undo: take back ${last.word} for record ${last.id}` : "Undo");
  if (before && !last && !task && !busy && !$("waiting").hidden) display("waiting");
  clearTimeout(clock);
  if (last) clock = setTimeout(drawUndo, 250);
}

function undo() {
  drawUndo();
  if (!held.length && !busy) say("status", "There is no answer to take back: what was given is sent.");
  if (!held.length || busy) return;
  const {id, word} = held.at(-1);
  active = Date.now();
  busy = true;
  noLongerHeld(id);
  inTurn(async () => {
    try {
      const s = await ask(`undo?since=${midnight()}`, {id});
      box.drop(id);
      task = null;
      take(s, `${word} for record ${id} is taken back.`);
      plan(POLL_MS);
    } catch (e) {
      busy = false;
      if (e instanceof Refused && e.status < 500) trouble(`Not taken back: ${e.message}.`);
      else lost(e);
      setTimeout(() => offline || trouble(""), 8000);
      if (task) display("record");
    }
    drawUndo();
  });
}

/* ---- signing in --------------------------------------------------------------------------------- */

function login(e) {
  const turns = byName !== (e.status === 403);
  byName = e.status === 403;
  clearTimeout(timer);
  const was = who();
  if (turns && was) {
    inTurn(() => next());
    return;
  }
  task = null;
  busy = false;
  trouble("");
  say("login-label", byName ? "Your name" : "Your token");
  say("login-help", byName ? "It goes with your answers." :
    "The operator gave it to you; your name goes with your answers.");
  say("login-error", was ? `${e.message}.` : "");
  $("login-text").type = byName ? "text" : "password";
  $("login-text").value = "";
  display("login");
  $("login-text").focus();
}

$("login").addEventListener("submit", e => {
  e.preventDefault();
  const text = $("login-text").value.trim();
  if (!text) return;
  remember(text, $("keep").checked);
  $("login-text").value = "";
  active = Date.now();
  inTurn(() => next());
});

$("sign-out").addEventListener("click", () => {
  $("help").close();
  forget();
  annotator = "";
  held = [];
  drawUndo();
  say("who", "");
  say("progress", "");
  login(new Refused(byName ? 403 : 401, ""));
});

/* ---- keys and pointers ---------------------------------------------------------------------------- */

const SINGLE = "fisd-label-single-keys";
const single = () => localStorage.getItem(SINGLE) !== "off";
$("single").checked = single();
$("single").addEventListener("change", e => localStorage.setItem(SINGLE, e.target.checked ? "on" : "off"));

const isText = e => e instanceof HTMLInputElement && e.type !== "checkbox";

addEventListener("keydown", e => {
  active = Date.now();
  if (e.repeat || e.altKey || $("help").open || isText(e.target)) return;
  const key = e.key.toLowerCase();
  if ((e.ctrlKey || e.metaKey) && key === "z") {
    e.preventDefault();
    undo();
    return;
  }
  if (e.ctrlKey || e.metaKey || !single()) return;
  const index = task ? state.classes.findIndex((_, i) => keyOf(state.classes, i) === key) : -1;
  if (index >= 0) answer({label: state.classes[index]}, state.classes[index], index);
  else if (key === "s") skip();
  else if (key === "u") unsure();
  else if (key === "z" || key === "backspace") undo();
  else if (key === "?") $("help").showModal();
  else return;
  e.preventDefault();
});
for (const kind of ["pointerdown", "pointermove", "wheel", "touchstart"])
  addEventListener(kind, () => active = Date.now(), {passive: true});
addEventListener("visibilitychange", () => document.hidden || inTurn(look));
addEventListener("online", () => inTurn(look));

const skip = () => answer({status: "skipped"}, "skipped");
const unsure = () => answer({status: "unsure"}, "unsure");
$("skip").addEventListener("click", skip);
$("unsure").addEventListener("click", unsure);
$("undo").addEventListener("click", undo);
$("go-on").addEventListener("click", () => {
  active = Date.now();
  inTurn(() => next("Here is the next one."));
});
$("open-help").addEventListener("click", () => $("help").showModal());
$("close-help").addEventListener("click", () => $("help").close());

/* Whether names or tokens: the first answer says. */
byName = !who() && !!(sessionStorage.getItem(NAME) ?? localStorage.getItem(NAME));
inTurn(() => next());
inTurn(pump);
