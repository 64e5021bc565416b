/* Numbers and names, as people read them. */
import {h} from "./dom.js";

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/* What could not be measured is shown as such; it is never 0. */
export function none(why = "not estimable: there are no rows that it could be computed from") {
  return h("abbr", { title: why }, "n/e");
}
export const known = x => typeof x === "number" && Number.isFinite(x);
export const count = n => known(n) ? grouped.format(n) : "–";
export const rate = (x, digits = 3) => known(x) ? x.toFixed(digits) : "n/e";
export const rateOf = (x, digits) => known(x) ? rate(x, digits) : none();
/* Never less than it is. */
export const epsilonText = x => !known(x) ? "∞" :
  x < 100                                 ? (Math.ceil(100 * x) / 100).toFixed(2) :
                                            count(Math.ceil(x));
export const plural = (n, one, many = one + "s") => `${count(n)} ${n === 1 ? one : many}`;

export function interval(i) {
  return i && known(i.low) && known(i.high) ? `[${rate(i.low)}, ${rate(i.high)}]` : "";
}
export function signed(x, digits = 3) {
  return known(x) ? (x < 0 ? "−" : "+") + Math.abs(x).toFixed(digits) : "n/e";
}

export function span(ms) {
  if (!known(ms)) return "–";
  const s = ms / 1000;
  if (s < 1) return `${Math.round(ms)} ms`;
  if (s < 90) return `${Math.round(s)} s`;
  if (s < 5400) return `${Math.round(s / 60)} min`;
  if (s < 172800) return `${Math.round(s / 3600)} h`;
  return `${Math.round(s / 86400)} days`;
}

export function time(ms) {
  if (!ms) return "–";
  const at = new Date(ms), today = new Date().toDateString() === at.toDateString();
  const text = at.toLocaleString(
    undefined, today ? { timeStyle: "medium" } : { dateStyle: "medium", timeStyle: "short" });
  return h(
    "time", { datetime: at.toISOString(), title: at.toISOString(), class: today && "today" }, text);
}

export const METRICS = {
  demographic_parity: "Demographic parity gap",
  equal_opportunity: "Equal opportunity gap",
  equalized_odds: "Equalized odds gap",
  equalized_odds_max: "Equalized odds gap, the larger of the two",
  risk_disparity: "Risk disparity",
};
export const metricName = m => METRICS[m] ?? m ?? "Violation";

/* fis.error.code; docs/operations.md says what to do about each. */
const DEAD = {
  malformed: "malformed: does not decode",
  too_long: "too long",
  no_value: "null, where a value is required",
  bad_id: "no id, or an invalid one",
  unknown_column: "a column that is not configured",
  wrong_type: "a value of the wrong type",
  wrong_width: "wrong number of features",
  not_finite: "a number that is not finite",
  unknown_class: "an unknown class",
  contradiction: "contradicts itself, or an earlier answer",
  not_asked: "a label that was not requested",
  bad_image: "an image that cannot be read",
  bad_field: "a field that is missing or out of range",
  unknown_schema: "a schema that is unknown or not supported",
};
export const deadReason = code => DEAD[code] ?? code;

const REASONS = {
  first: "the first model",
  fairer: "fairer",
  served_aged: "what was served had fallen behind the newest model",
  more_accurate: "more accurate than what was served",
  accuracy_kept: "accuracy is kept",
  rolled_back: "rolled back by the operator",
  promoted: "promoted by the operator",
  not_fairer: "not fairer",
  below_floor: "accuracy below the floor",
  not_finite: "not finite",
  few_rows: "too few validation rows",
  cell_too_small: "a cell is too small",
  constant: "a constant predictor",
  pinned: "pinned by the operator",
};
export const reasonName = r => REASONS[r] ?? String(r ?? "").replaceAll("_", " ");

/* The gate's text begins with the verdict, which is shown already. */
export const figures = text => String(text ?? "").replace(/^(published|rejected): \w+: /, "");

/* What a criterion looks at: why a record was picked. */
const CRITERIA = {
  ekg: [
    "Fairness",
    "Expected kept gain: how much unfairness its label is expected to remove, over the " +
    "labels that would not cost accuracy."
  ],
  entropy: [
    "Accuracy",
    "Entropy: how uncertain the model is about it. A label carries most where the model is least certain."
  ],
  influence: [
    "Influence",
    "Influence at its proxy label: how much unfairness training on it would remove, with " +
    "the loss not growing."
  ],
  product: [
    "Both",
    "Expected kept gain times entropy: uncertain, and its label is expected to remove " +
    "unfairness."
  ],
  random: ["Chance", "Drawn by chance, for comparison."],
};
export const criterionName = c => CRITERIA[c] ? `${CRITERIA[c][0]} (${c})` : c;
export const criterionText = c => CRITERIA[c]?.[1] ?? "";
export const criterionReason = (c, rank) => ({
  ekg: "label expected to lower unfairness",
  entropy: "model is uncertain",
  influence: "lowers unfairness at its proxy label",
  product: "uncertain, and expected to lower unfairness",
  random: "drawn by chance"
}[c] ?? c) +
  (rank === 1 ? "; requested next" : "");
