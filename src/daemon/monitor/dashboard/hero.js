/* The top of the page: the three questions, the alarms, the figures of the moment. */
import {$, draw, fill, h, say, show} from "./dom.js";
import {headline, shownAlarms, SIGNS, tiles} from "./state.js";
import {accuracy, fairness, newest, percent} from "./verdicts.js";
import {known, plural, time} from "./words.js";

/* A line with what is served and its interval, version 1, and target or floor. */
function scaleLine({ now, range, first, line, name, zero }, text) {
  const all = [now, first, line, range?.low, range?.high, zero ? 0 : null].filter(known);
  const low = Math.min(...all), high = Math.max(...all), room = (high - low || 0.01) * 0.08;
  const from = zero ? 0 : low - room, to = high + room, left = 14, width = 292;
  const x = v => left + width * (v - from) / (to - from);
  const parts = [draw("path", { d: `M${left} 24H${left + width}`, class: "axis" })];
  const label = (v, y, t, c) => {
    const near = x(v) < 60 ? "start" : x(v) > 260 ? "end" : "middle", shift = near === "start" ? -8 : near === "end" ? 8 : 0;
    const at = draw("text", { x: x(v) + shift, y, class: c, "text-anchor": near });
    at.textContent = t;
    return at;
  };
  if (known(line))
    parts.push(draw("path", { d: `M${x(line)} 12V36`, class: "limit" }), label(line, 47, `${name} ${text(line)}`, "limit"));
  if (range && known(range.low))
    parts.push(draw("path", { d: `M${x(range.low)} 20V28M${x(range.low)} 24H${x(range.high)}M${x(range.high)} 20V28`, class: "range" }));
  if (known(first) && Math.abs(x(first) - x(now)) > 1)
    parts.push(draw("circle", { cx: x(first), cy: 24, r: 4.5, class: "first" }));
  if (known(first) && Math.abs(x(first) - x(now)) > 44) parts.push(label(first, 10, "first", "was"));
  parts.push(draw("circle", { cx: x(now), cy: 24, r: 6, class: "now" }), label(now, 10, "now", "now"));
  return draw("svg", { viewBox: "0 0 320 50", class: "scale", "aria-hidden": "true" }, ...parts);
}

function card(id, v, text, more) {
  const e = $(id);
  e.dataset.level = v.level;
  fill(`${id}-body`, v,
    () => [h("p", { class: "answer" }, h("span", { class: "sign", "aria-hidden": "true" }, SIGNS[v.level]), " ", v.answer),
      v.figure ? h("p", { class: "figure" }, v.figure) : null,
      v.scale ? scaleLine(v.scale, text) : null,
      ...v.lines.map(line => h("p", {}, line)), more ? h("p", {}, more) : null]);
}

export function renderHead(d) {
  const { level, text, more } = headline(d);
  $("headline").dataset.level = level;
  say("mark", SIGNS[level]);
  say("head-text", text);
  say("head-more", more);
  document.title = `${SIGNS[level]} ${d.status?.pipeline ?? "fisd"}`;
  document.body.classList.toggle("old", !!(d.lost || d.locked) && !!d.status);
  show("answers", !!d.status);
}

export function renderAnswers(d) {
  const without = d.status.started ? "The first version appears when warm-up is over." :
                                     "Nothing is read before a broker answers.";
  card("fair", fairness(d, without), x => String(x), newest(d.versions));
  card("accurate", accuracy(d, without), percent);
}

const ALARMS = 2; /* that are not folded; the critical ones come first */

const severity = a => a.severity === "critical" ? "✗ Critical" : "! Warning";

/* Groups have numbers in texts, which may be logged; here their names may be known. */
function named(text, groups) {
  return text.replace(/\bgroup (\d+)\b/g, (all, n) => {
    const name = groups?.named && groups.served?.groups[Number(n)]?.group;
    return name ? `${all} (${name})` : all;
  });
}

export function renderAlarms(d) {
  const alarms = shownAlarms(d), rest = alarms.slice(ALARMS);
  const one = a => h("li", { "data-level": a.severity },
    h("strong", {}, `${severity(a)}: ${a.name.replaceAll("_", " ")}. `), `${named(a.text, d.groups)}. ${a.advice} `,
    a.since_ms ? h("span", { class: "quiet" }, "since ", time(a.since_ms)) : null);
  show("alarms", alarms.length > 0);
  fill("alarms", alarms.map(a => [a.name, a.severity, a.text, d.groups?.named]),
    () => [h("ul", {}, alarms.slice(0, ALARMS).map(one)),
      rest.length ? h("details", {}, h("summary", {}, `${plural(rest.length, "more alarm")}: `,
        h("span", { class: "quiet" }, rest.map(a => a.name.replaceAll("_", " ")).join(", "))), h("ul", {}, rest.map(one))) : null]);
}

const tile = ({ name, big, small }) => h("div", {}, h("dt", {}, name), h("dd", { class: "big" }, big),
  h("dd", { class: "small" }, small));

export function renderTiles(d) {
  const list = tiles(d);
  fill("tiles", list, () => list.map(tile));
}
