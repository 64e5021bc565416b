/* The plots, by Chart.js (a global of its own script). Each has its numbers in a table or a text
 * beside it. */
import {$} from "./dom.js";
import {count, interval, known, metricName, rate} from "./words.js";

const charts = new Map();

function colours() {
  const style = getComputedStyle(document.documentElement);
  const of = name => style.getPropertyValue("--" + name).trim();
  return {
    serving: of("served"),
    served: of("served"),
    rejected: of("rejected"),
    back: of("back"),
    floor: of("floor"),
    ink: of("ink"),
    quiet: of("quiet"),
    grid: of("grid"),
    card: of("card")
  };
}

const POINT = {
  serving: { pointStyle: "circle", radius: 6 },
  served: { pointStyle: "circle", radius: 4.5 },
  rejected: { pointStyle: "crossRot", radius: 5 },
  back: { pointStyle: "triangle", radius: 6, rotation: 180 },
};

function whisker(g, x1, y1, x2, y2) {
  const cap = 3, upright = x1 === x2;
  g.beginPath();
  g.moveTo(x1, y1);
  g.lineTo(x2, y2);
  for (const [x, y] of [[x1, y1], [x2, y2]]) {
    g.moveTo(x - (upright ? cap : 0), y - (upright ? 0 : cap));
    g.lineTo(x + (upright ? cap : 0), y + (upright ? 0 : cap));
  }
  g.stroke();
}

/* Intervals as error bars, under the points; and a ring around what is served, with its number. */
const errorBars = {
  id: "errorBars",
  beforeDatasetsDraw(chart) {
    const { ctx: g, scales: { x: sx, y: sy }, chartArea: a } = chart;
    g.save();
    g.beginPath();
    g.rect(a.left, a.top, a.right - a.left, a.bottom - a.top);
    g.clip();
    g.lineWidth = 1.2;
    for (const p of chart.data.datasets.flatMap(d => d.bars ? d.data : [])) {
      const x = sx.getPixelForValue(p.x), y = sy.getPixelForValue(p.y);
      g.globalAlpha = p.kind === "serving" ? 1 : chart.canvas.dataset.faint ? 0.22 : 0.6;
      g.strokeStyle = p.colour;
      if (p.yBar) whisker(g, x, sy.getPixelForValue(p.yBar[0]), x, sy.getPixelForValue(p.yBar[1]));
      if (p.xBar) whisker(g, sx.getPixelForValue(p.xBar[0]), y, sx.getPixelForValue(p.xBar[1]), y);
    }
    g.restore();
  },
  afterDatasetsDraw(chart) {
    const { ctx: g, scales: { x: sx, y: sy }, chartArea: a } = chart;
    g.save();
    g.font = "12px system-ui, 'DejaVu Sans', sans-serif";
    for (const p of chart.data.datasets.flatMap(d => d.bars ? d.data : [])) {
      const x = sx.getPixelForValue(p.x), y = sy.getPixelForValue(p.y);
      g.strokeStyle = g.fillStyle = p.colour;
      if (p.kind === "serving") {
        g.lineWidth = 2;
        g.beginPath();
        g.arc(x, y, 10, 0, 2 * Math.PI);
        g.stroke();
      }
      if (p.label) {
        const half = g.measureText(p.label).width / 2;
        g.textAlign = "center";
        const at = [p.label, Math.min(x, a.right + 12 - half), y > a.top + 22 ? y - 14 : y + 24];
        g.lineWidth = 4;
        g.strokeStyle = chart.paper; /* legible above a bar */
        g.strokeText(...at);
        g.fillText(...at);
      }
    }
    g.restore();
  },
};

function axis(c, title, more = {}) {
  return {
    title: { display: true, text: title, color: c.quiet },
    grid: { color: c.grid, borderColor: c.quiet },
    ticks: { color: c.quiet, maxRotation: 0, autoSkipPadding: 14 },
    ...more
  };
}

function options(c, x, y, tip) {
  return {
    animation: false,
    responsive: true,
    maintainAspectRatio: false,
    normalized: true,
    layout: { padding: { top: 12, right: 14 } },
    scales: { x, y },
    plugins: {
      legend: { display: false },
      tooltip: {
        callbacks: { title: () => "", label: tip },
        backgroundColor: c.card,
        bodyColor: c.ink,
        borderColor: c.quiet,
        borderWidth: 1,
        displayColors: false
      }
    },
  };
}

function draw(id, config) {
  const chart = charts.get(id) ?? new window.Chart($(id), {...config, plugins: [errorBars] });
  charts.set(id, chart);
  chart.paper = colours().card;
  chart.data = config.data;
  chart.options = config.options;
  chart.update("none");
}

/* ---- versions -------------------------------------------------------------------------------- */

const bar = i => i && known(i.low) && known(i.high) ? [i.low, i.high] : null;
const tip = item => item.raw.tip ?? "";

function dots(points, c) {
  const each = f => points.map(p => f(POINT[p.kind], p));
  return {
    type: "scatter",
    bars: true,
    clip: 14,
    data: points.map(p => ({...p, colour: c[p.kind] })),
    pointStyle: each(s => s.pointStyle),
    pointRadius: each(s => s.radius),
    pointHoverRadius: each(s => s.radius + 2),
    pointRotation: each(s => s.rotation ?? 0),
    pointBorderWidth: 2,
    pointHitRadius: 8,
    pointBorderColor: each((_, p) => c[p.kind]),
    pointBackgroundColor:
      each((_, p) => p.kind === "back" || p.kind === "rejected" ? "transparent" : c[p.kind])
  };
}

function line(data, colour, more) {
  return {
    type: "line",
    data,
    borderColor: colour,
    borderWidth: 2,
    pointRadius: 0,
    pointHitRadius: 0,
    ...more
  };
}

/* Each version has its own: a short line there. */
function floors(points, colour) {
  return {
    type: "line",
    data: points,
    showLine: false,
    borderColor: colour,
    pointStyle: "line",
    pointRadius: 8,
    pointBorderWidth: 2.5,
    pointBorderColor: colour,
    pointHitRadius: 0
  };
}

/* Ends of an axis that shows all of them, on round numbers. */
function limits(values) {
  const good = values.filter(known);
  if (!good.length) return {};
  const low = Math.min(...good), high = Math.max(...good), room = Math.max(high - low, 0.01);
  const step = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2].find(s => room / s <= 6) ?? 0.5;
  const min = Math.max(0, Math.floor((low - room * 0.04) / step) * step);
  return { min, max: Math.ceil((high + room * 0.04) / step) * step, ticks: { stepSize: step } };
}

const tickRate = {
  callback: v => Number(v.toFixed(4)).toString()
};
const withTicks = (a, more) => ({...a, ticks: {...a.ticks, ...more } });
const scale = (c, title, { min, max, ticks }) =>
  withTicks(axis(c, title, { type: "linear", min, max }), {...ticks, ...tickRate });

const TICK_ROOM = 32; /* px */

/* Ticks at whole numbers from first to last, at each where there is room (px): what the library
 * chooses depends on the bounds, and on how wide the other axis' numbers are. */
function whole(first, last, room) {
  const most = Math.max(2, room / TICK_ROOM);
  let step = 1;
  while ((last - first) / step + 1 > most) step *= String(step)[0] === "2" ? 2.5 : 2;
  const from = Math.ceil(first / step) * step;
  const n = Math.floor((last - from) / step) + 1;
  return Array.from({ length: n }, (_, i) => ({ value: from + i * step }));
}

function byVersion(id, points, extra, title) {
  const c = colours(), last = points.at(-1);
  const all =
    points.flatMap(p => [p.y, ...(p.yBar ?? [])]).concat(extra.flatMap(e => e.data.map(d => d.y)));
  const x = axis(c, "version", {
    type: "linear",
    min: points[0].x - 0.5,
    max: last.x + 0.5,
    afterBuildTicks: a => { a.ticks = whole(points[0].x, last.x, a.width); }
  });
  const y = scale(c, title, limits(all));
  draw(id, { data: { datasets: [dots(points, c), ...extra] }, options: options(c, x, y, tip) });
}

/* What was served from version to version; to the newest. */
function steps(versions, of) {
  const served =
    versions.filter(v => v.published && known(of(v))).map(v => ({ x: v.version, y: of(v) }));
  const end = versions.at(-1).version;
  return served.length && served.at(-1).x < end ? [...served, { x: end, y: served.at(-1).y }] :
                                                  served;
}

/* versions: oldest first, with kind and words. */
export function drawVersions(versions, metric, target) {
  const c = colours();
  const value = v => v.metrics?.[metric], range = v => v.intervals?.[metric];
  const accuracy = v => v.metrics?.accuracy, accuracyRange = v => v.intervals?.accuracy;
  const point = (v, x, y, more) => ({
    kind: v.kind,
    x,
    y,
    ...more,
    label: v.kind === "serving" ? `v${v.version}` : "",
    tip: [
      `version ${v.version}: ${v.word}`,
      `accuracy ${rate(accuracy(v))} ${interval(accuracyRange(v))}`,
      `${metricName(metric)} ${rate(value(v))} ${interval(range(v))}`
    ]
  });
  const a = versions.filter(v => known(accuracy(v))), b = versions.filter(v => known(value(v)));
  const floor = versions.filter(v => known(v.floor)).map(v => ({ x: v.version, y: v.floor }));
  const dashed = { borderDash: [5, 4], borderWidth: 1.5 };
  const ends = [b[0]?.version, b.at(-1)?.version];
  if (a.length)
    byVersion("p-accuracy",
      a.map(v => point(v, v.version, accuracy(v), { yBar: bar(accuracyRange(v)) })),
      [
        line(steps(a, accuracy), c.served, { stepped: true, borderWidth: 1 }),
        floors(floor, c.floor)
      ],
      "accuracy");
  if (b.length)
    byVersion("p-violation", b.map(v => point(v, v.version, value(v), { yBar: bar(range(v)) })),
      [
        line(steps(b, value), c.served, { stepped: true, borderWidth: 1 }),
        ...known(target) ? [line([{ x: ends[0] - 0.5, y: target }, { x: ends[1] + 0.5, y: target }], c.floor, dashed)] : []
      ],
      "violation");
  const both = a.filter(v => known(value(v)));
  if (both.length)
    drawPlane(both, value, accuracy,
      v => point(v, value(v), accuracy(v), { xBar: bar(range(v)), yBar: bar(accuracyRange(v)) }),
      metric, floor.at(-1)?.y);
}

function drawPlane(versions, value, accuracy, point, metric, floor) {
  const c = colours();
  const points = versions.map(point), served = versions.filter(v => v.published);
  const first = served.find(v => v.kind !== "serving");
  for (const p of points)
    if (first && p.x === value(first) && p.y === accuracy(first) && !p.label)
      p.label = `v${first.version}`;
  const xs = limits(points.flatMap(p => [p.x, ...(p.kind === "serving" ? p.xBar ?? [] : [])]));
  const ys =
    limits([...points.flatMap(p => [p.y, ...(p.kind === "serving" ? p.yBar ?? [] : [])]), floor]);
  const x = scale(c, metricName(metric).toLowerCase(), xs);
  const y = scale(c, "accuracy", ys);
  const sets = [
    dots(points, c),
    line(served.map(v => ({ x: value(v), y: accuracy(v) })), c.served, { borderWidth: 1.5 })
  ];
  if (known(floor))
    sets.push(line([{ x: xs.min, y: floor }, { x: xs.max, y: floor }], c.floor,
      { borderDash: [5, 4], borderWidth: 1.5 }));
  $("p-plane").dataset.faint = "1";
  draw("p-plane", { data: { datasets: sets }, options: options(c, x, y, tip) });
}

/* ---- throughput ------------------------------------------------------------------------------ */

/* points: {x: seconds before now (<= 0), y} */
export function drawTime(id, points, unit) {
  const c = colours(), top = Math.max(1, ...points.map(p => p.y).filter(known));
  const x = withTicks(axis(c, "minutes ago", { type: "linear", min: -600, max: 0 }),
    { stepSize: 120, callback: v => v === 0 ? "now" : Math.round(-v / 60) });
  const y = withTicks(axis(c, unit, { type: "linear", min: 0, suggestedMax: top * 1.1 }),
    { precision: 0, callback: v => count(v) });
  const one = line(points, c.served,
    { spanGaps: false, pointRadius: points.length < 3 ? 3 : 0, pointBackgroundColor: c.served });
  draw(id, {
    data: { datasets: [one] },
    options:
      options(c, x, y, item => `${count(item.raw.y)} ${unit}, ${Math.round(-item.raw.x)} s ago`)
  });
}
