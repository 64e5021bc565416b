/* Making elements. Texts go in as text, never as markup: an id or a reason can say anything. */

const SVG = "http://www.w3.org/2000/svg";

export const $ = id => document.getElementById(id);

export function h(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {}))
    if (typeof value === "function") e.addEventListener(name, value);
    else if (value === true) e.setAttribute(name, "");
    else if (value !== false && value != null) e.setAttribute(name, value);
  e.append(...children.flat().filter(c => c != null));
  return e;
}

/* Only what changed is touched: else a screen reader repeats the same text. */
export function say(id, text) {
  const e = $(id);
  if (e.textContent !== text) e.textContent = text;
}

export function show(id, on) { $(id).hidden = !on; }

/* Puts `children` in place of what is in it, unless `key` says that they would be the same. The
 * focus stays on the control of the same data-key. */
export function fill(id, key, children) {
  const e = $(id), text = JSON.stringify(key) ?? "";
  if (e.shown === text) return;
  e.shown = text;
  const focused = e.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  e.replaceChildren(...children().filter(c => c != null));
  if (focused) e.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
}

/* columns: {name, cell(row) → text or element(s), number, text, id, head}. On a phone a row is a
 * card; roles are stated, as a table that is not laid out as one loses them. */
export function table(caption, columns, rows, {cards = true, kind = ""} = {}) {
  const head = h("tr", { role: "row" },
    columns.map(
      c => h("th", { scope: "col", role: "columnheader", class: c.number && "number" }, c.name)));
  const body = rows.map(row => h("tr", { role: "row" }, columns.map(c => {
    const content = [c.cell(row)].flat().filter(x => x != null && x !== "");
    const names = ["number", "text", "id"].filter(n => c[n]).join(" ");
    const wrapped = content.length > 1 ? h("div", { class: "cell" }, content) : content;
    return h(c.head ? "th" : "td", {
      scope: c.head && "row",
      role: c.head ? "rowheader" : "cell",
      class: names || null,
      "data-name": c.name
    },
      wrapped);
  })));
  const t =
    h("table", { role: "table", "aria-label": caption, class: `${cards ? "cards" : ""} ${kind}` },
      h("thead", { role: "rowgroup" }, head), h("tbody", { role: "rowgroup" }, body));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, t);
}

/* The marks of the plots, for words that stand elsewhere: shape and colour say the same thing. */
const SHAPES = {
  serving:
    [["circle", { cx: 8, cy: 8, r: 3.6 }], ["circle", { cx: 8, cy: 8, r: 6.6, fill: "none" }]],
  served: [["circle", { cx: 8, cy: 8, r: 4.5 }]],
  rejected: [["path", { d: "M3.5 3.5 12.5 12.5 M12.5 3.5 3.5 12.5" }]],
  back: [["path", { d: "M2 3.5H14L8 13.5Z" }]],
  floor: [["path", { d: "M2 8H14", "stroke-width": 3 }]],
  target: [["path", { d: "M0 8H16", "stroke-dasharray": "3 2.5" }]],
};
export function draw(tag, attributes, ...children) {
  const e = document.createElementNS(SVG, tag);
  for (const [n, v] of Object.entries(attributes)) e.setAttribute(n, v);
  e.append(...children);
  return e;
}

export const mark = kind => draw("svg", {
  viewBox: "0 0 16 16",
  class: `m-${kind}`,
  "stroke-width": 1.8,
  "aria-hidden": "true"
},
  ...SHAPES[kind].map(([tag, attributes]) => draw(tag, attributes)));
