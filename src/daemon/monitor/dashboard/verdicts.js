/* The questions that people come with, answered from the versions: is it fairer, is it no less
 * accurate. Numbers and words only; hero.js shows them. */
import {interval, known, metricName, rate, reasonName} from "./words.js";

const NORMAL = 1.96; /* of a 95 % interval, from a standard error */

/* "0.043", and accuracies as "83.8 %": what a person says. */
export const percent = x => known(x) ? `${(100 * x).toFixed(1)}\u00a0%` : "n/e";
const points = x => `${Math.abs(100 * x).toFixed(1)} points`;

/* From version `a` to a later `b`: how much less, with its interval. The standard error is that of
 * the difference on the same rows where the gate measured it; else that of two independent
 * estimates, which is no smaller. */
function change(a, b, metric) {
  const by = a.metrics?.[metric] - b.metrics?.[metric];
  if (!known(by)) return null;
  if (b.parent === a.version && b.metric === metric && known(b.difference_se))
    return within(b.difference, b.difference_se);
  const { se: x } = a.intervals?.[metric] ?? {}, { se: y } = b.intervals?.[metric] ?? {};
  return within(by, known(x) && known(y) ? Math.hypot(x, y) : null);
}
const within = (by, se) =>
  ({ by, low: known(se) ? by - NORMAL * se : null, high: known(se) ? by + NORMAL * se : null });

/* "by 0.136 (0.079 to 0.194)". A gain may be less than nothing at one end. */
function fairerBy({ by, low, high }) {
  const word = by < 0 ? "less fair" : "fairer", sign = by < 0 ? -1 : 1;
  const ends = [sign * low, sign * high].sort((x, y) => x - y);
  const range = known(low) && known(high) ?
    ` (95\u00a0% interval ${ends.map(x => rate(x).replace("-", "−")).join(" to ")})` :
    "";
  return `${word} by ${rate(Math.abs(by))}${range}`;
}

const chance = c => known(c.low) && known(c.high) && c.low <= 0 && c.high >= 0;

/* The served version, the first one that was served, and the one served before. */
function three(versions) {
  const now = versions.find(v => v.kind === "serving"), served = versions.filter(v => v.published);
  const first = served.at(-1);
  return { now, first, last: versions.find(v => v.version === now?.parent) };
}

function against(target, value, i) {
  if (!known(target) || !known(value)) return null;
  if (value > target) return `Above the target of ${target} by ${rate(value - target)}.`;
  return known(i?.high) && i.high > target ?
    `The target of ${target} is met, but the interval reaches above it.` :
    `The target of ${target} is met.`;
}

const unknown = (name, text) => ({ level: "wait", answer: name, lines: [text] });

/* {level, answer, figure, lines, scale}: scale has the marks of a line from better to worse. */
export function fairness({ versions, target }, without) {
  const { now, first, last } = three(versions), metric = now?.metric;
  const value = now?.metrics?.[metric], range = now?.intervals?.[metric];
  if (!now) return unknown("Not known yet", without);
  if (!known(value))
    return unknown("Not measured", "The validation rows do not suffice for this version.");
  const c = first !== now && change(first, now, metric), was = first.metrics?.[metric];
  const level = known(target) && value > target ? "warn" : "ok";
  const gap = `${metricName(metric)} ${rate(value)}`;
  const lines = [`${gap} ${interval(range)}; 0 is fair.`];
  const scale = { now: value, range, first: first !== now ? was : null, line: target,
                  name: "target", zero: true };
  const answer = !c ? "Nothing to compare with yet" :
    chance(c)       ? c.by > 0 ? "Probably; it may be chance" : "No difference beyond chance" :
    c.by > 0        ? `Yes: the gap is ${Math.round(100 * c.by / was)}\u00a0% smaller` :
                      "No: it is less fair";
  if (c) lines.push(`Since version ${first.version} (${rate(was)}): ${fairerBy(c)}.`);
  const step = c && last && last !== first && change(last, now, metric);
  if (step) lines.push(`Since version ${last.version}, served before it: ${fairerBy(step)}.`);
  if (!c) lines.push("The next version is compared with this one.");
  lines.push(against(target, value, range));
  return {
    level: c && c.by < 0 && !chance(c) ? "trouble" : c && chance(c) ? "warn" : level,
    answer,
    figure: c ? `${rate(was)} → ${rate(value)}` : rate(value),
    lines: lines.filter(Boolean),
    scale
  };
}

export function accuracy({ versions }, without) {
  const { now, first } = three(versions);
  const value = now?.metrics?.accuracy, range = now?.intervals?.accuracy;
  if (!now) return unknown("Not known yet", without);
  if (!known(value)) return unknown("Not measured", "This version has no validation rows.");
  const was = first.metrics?.accuracy, by = value - was, floor = now.floor;
  const se = Math.hypot(range?.se, first.intervals?.accuracy?.se);
  const below = known(floor) && value < floor, chancy = known(se) && by > -NORMAL * se;
  const lines = [`${percent(value)} of the validation rows are right` +
    (range && known(range.low) ? ` (95\u00a0% interval ${percent(range.low)} to ${percent(range.high)}).` : ".")];
  if (first !== now)
    lines.push(`Version ${first.version} had ${percent(was)}: ` +
      (Math.abs(by) < 5e-4 ? "no change." :
         `${points(by)} ${by > 0 ? "more" : "less"}${by < 0 && chancy ? ", which is within chance" : ""}.`));
  if (known(floor))
    lines.push(below ? `It is below the floor of ${percent(floor)}.` :
                       `The gate's floor for this version was ${percent(floor)}.`);
  const fine = by >= 0 || first === now, much = Math.abs(by) >= 5e-4;
  return {
    level: below || !(fine || chancy) ? "trouble" : "ok",
    answer: below   ? "No: it is below the floor" :
      first === now ? "Nothing to compare with yet" :
      fine          ? much ? `Yes: ${points(by)} more` : "Yes: the same" :
      chancy        ? "Yes, within chance" :
                      "No: it is less accurate",
    figure: first === now ? percent(value) : `${percent(was)} → ${percent(value)}`,
    lines,
    scale: { now: value, range, first: first === now ? null : was, line: floor, name: "floor" }
  };
}

/* The newest verdict of the gate, when it is not what is served. */
export function newest(versions) {
  const v = versions[0];
  return v && v.kind !== "serving" ?
    `Version ${v.version}, the newest, was ${v.published ? "published" : "rejected"}: ${reasonName(v.reason)}.` :
    null;
}
