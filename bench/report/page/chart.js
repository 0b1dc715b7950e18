// SPDX-License-Identifier: Apache-2.0
// Draws the chart: a line per operator against the length, labelled at its end, with its interval as a band.
const $ = id => document.getElementById(id);
function make(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) if (value !== "" && value !== undefined) node.setAttribute(key, value);
  node.append(...children);
  return node;
}
const el = (name, attributes, ...children) => make(document.createElement(name), attributes, children);
const svg = (name, attributes, ...children) => make(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

// ---- formatting of numbers
const digits = (v, n = 3) => (v >= 10 ** n ? Math.round(v).toString() : Number(v.toPrecision(n)).toString());
const scaled = (v, units) => { const [scale, unit] = units.find(([s]) => v >= s) ?? units.at(-1); return `${digits(v / scale)} ${unit}`.trim(); };
const time = s => scaled(s, [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]]);
const bytes = v => scaled(v, [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]]);
const count = v => scaled(v, [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]]);
const times = v => `${v < 9.95 ? v.toFixed(v < 0.995 ? 2 : 1).replace(/\.0$/, v === Math.round(v) ? "" : ".0") : Math.round(v)}×`;
const fine = v => v.toFixed(v < 9.995 ? 2 : v < 99.95 ? 1 : 0);

const METRICS = {
  ratio: { chip: "times as fast", title: "Times as fast as streaming softmax attention", value: "ratio", low: "low", high: "high", format: times, better: "higher is better" },
  seconds: { chip: "time", title: "Time of a call", value: "seconds", low: "seconds_low", high: "seconds_high", format: time, better: "lower is better" },
  peak: { chip: "peak memory", title: "Peak memory of data and call", value: "peak", format: bytes, better: "lower is better" },
  kept: { chip: "kept", title: "Bytes that forward saves for backward", value: "kept", format: bytes, better: "lower is better" },
};
let metric = "ratio";

// Returns up to `limit` round numbers between low and high: steps of 1, 2, 5, or powers of ten, or powers of a hundred.
function ticksOf(low, high, limit, coarse) {
  const sets = [[1, 2, 5], [1, 3], [1]];
  for (const steps of coarse ? [[1]] : sets) {
    const found = [];
    for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); ++e)
      for (const s of steps) { const v = Number(`${s}e${e}`); if (v >= low && v <= high) found.push(v); }
    if (found.length <= limit) return found;
  }
  const tens = [];
  for (let e = Math.ceil(Math.log10(low)); e <= Math.log10(high); e += 2) tens.push(Number(`1e${e}`));
  return tens;
}

// Measures a text in the font of the browser.
function sizeOf(out, text, kind = "") {
  const node = svg("text", { class: kind }, text);
  out.append(node);
  const { width, height } = node.getBBox();
  node.remove();
  return { width, height };
}
const maxWidth = (out, texts, kind) => Math.max(0, ...texts.map(text => sizeOf(out, text, kind).width));

// Shortens a text to at most `limit` pixels.
function shortened(out, text, kind, limit) {
  let short = text;
  for (let end = text.length - 1; end > 0 && sizeOf(out, short, kind).width > limit; --end) short = `${text.slice(0, end).trimEnd()}\u2026`;
  return short;
}

// Moves labels apart as little as possible, until they do not overlap.
function spreadApart(labels, gap, top, bottom) {
  labels.sort((a, b) => a.y - b.y);
  for (let pass = 0; pass < 400; ++pass) {
    let moved = false;
    for (let i = 0; i < labels.length; ++i) {
      labels[i].y = Math.min(Math.max(labels[i].y, top + i * gap), bottom - (labels.length - 1 - i) * gap);
      const lack = i && gap - (labels[i].y - labels[i - 1].y);
      if (lack > 0.01) { labels[i].y += lack / 2; labels[i - 1].y -= lack / 2; moved = true; }
    }
    if (!moved) return;
  }
}

function showTip(text, x = 0, y = 0) {
  const box = $("tip");
  box.hidden = !text;
  box.textContent = text;
  box.style.left = `${Math.max(8, Math.min(x, innerWidth - box.offsetWidth - 8))}px`;
  box.style.top = `${y + box.offsetHeight > innerHeight - 8 ? Math.max(8, y - box.offsetHeight - 40) : y}px`;
}

function lengthName(n) { return n >= 16384 && n % 1024 === 0 ? `${n / 1024}K` : String(n); }

function drawChart() {
  const m = METRICS[metric], list = matchingRows(PARAMETERS.filter(({ key }) => key !== "n"));
  const lengths = [...new Set(list.map(r => r.n))].sort((a, b) => a - b);
  const points = list.filter(r => r[m.value] > 0 && !(m.value === "ratio" && r.reference));
  $("chart-title").textContent = m.title;
  $("chart-sub").textContent = `${m.better} · ${describeSelection()}, [${list[0].b}, N, ${list[0].c}]` + (m.low ? " · band: 95 % interval" : "") + " · both axes logarithmic";
  if (!points.length) { $("chart").replaceChildren(el("p", { class: "sub" }, "Nothing to draw here.")); return; }

  const narrow = $("chart").clientWidth < 640, width = Math.max(300, $("chart").clientWidth);
  const out = svg("svg", { role: "img", "aria-label": `${m.title} against length; the table below has the numbers` });
  $("chart").replaceChildren(out); // texts have sizes only in the document
  const ends = points.flatMap(r => [r[m.low] ?? r[m.value], r[m.high] ?? r[m.value]]);
  const low = Math.min(...ends, m.value === "ratio" ? 0.8 : Infinity) / 1.06, high = Math.max(...ends, m.value === "ratio" ? 1.2 : 0) * 1.06;
  const lines = results.series.map((entry, i) => ({ entry, i, points: points.filter(r => r.series === i).sort((a, b) => a.n - b.n) })).filter(s => s.points.length);
  for (const s of lines) {
    s.end = s.points.at(-1);
    s.kind = s.entry.strong || (s.entry.reference && m.value !== "ratio") ? "ink strong" : "ink";
    s.valueText = list.some(r => r.series === s.i && r.failed && r.n > s.end.n) ? "OOM" : m.format(s.end[m.value]);
  }

  // Columns from right to left: values, names, leader lines, and the plot, with at least two fifths of the width.
  const ticks = ticksOf(low, high, narrow ? 8 : 11).map(v => [v, m.value === "ratio" ? `${digits(v)}×` : m.format(v)]);
  const left = 14 + Math.ceil(maxWidth(out, ticks.map(([, text]) => text)));
  const heading = narrow ? "" : `at ${lengthName(lengths.at(-1))}`, leader = narrow ? 8 : 26;
  const values = Math.max(maxWidth(out, [heading]), maxWidth(out, lines.map(s => s.valueText), "ink strong"));
  const room = width - leader - (narrow ? 8 : 16) - values - 1;
  for (const s of lines) s.name = shortened(out, s.entry.short, s.kind, room - left - 0.4 * width);
  const right = room - Math.ceil(Math.max(...lines.map(s => sizeOf(out, s.name, s.kind).width)));
  const gap = Math.max(narrow ? 15 : 18, Math.ceil(sizeOf(out, "Ag", "ink strong").height));
  const top = narrow ? 14 : 24, height = Math.max(narrow ? 330 : 400, gap * (lines.length + 1));
  out.setAttribute("viewBox", `0 0 ${width} ${top + height + 42}`);
  const X = n => (lengths.length < 2 ? (left + right) / 2 : left + 14 + (right - left - 28) * Math.log(n / lengths[0]) / Math.log(lengths.at(-1) / lengths[0]));
  // With a single length, places the points side by side, the highest first.
  const order = [...points].sort((a, b) => b[m.value] - a[m.value]);
  const at = r => (lengths.length < 2 ? left + (right - left) * (order.indexOf(r) + 0.5) / order.length : X(r.n));
  const Y = v => top + height - height * Math.log(v / low) / Math.log(high / low);

  for (const [v, text] of ticks)
    out.append(svg("line", { class: "grid", x1: left, x2: right, y1: Y(v), y2: Y(v) }), svg("text", { x: left - 9, y: Y(v) + 4, "text-anchor": "end" }, text));
  const named = [shown.n].filter(n => lengths.includes(n)); // the length of the table first, then those that fit
  const half = n => sizeOf(out, lengthName(n), "ink strong").width / 2;
  for (const n of lengths) if (named.every(other => Math.abs(X(n) - X(other)) > half(n) + half(other) + 6)) named.push(n);
  for (const n of lengths) {
    const selected = n === shown.n;
    if (lengths.length > 1) out.append(svg("line", { class: selected ? "selected" : "grid", x1: X(n), x2: X(n), y1: top, y2: top + height }));
    if (named.includes(n)) out.append(svg("text", { class: selected ? "ink strong" : "", x: X(n), y: top + height + 19, "text-anchor": "middle" }, lengthName(n)));
  }
  out.append(svg("text", { x: (left + right) / 2, y: top + height + 38, "text-anchor": "middle" }, "length N"));
  if (m.value === "ratio") {
    const captions = ["streaming softmax attention = 1", "streaming softmax = 1", "softmax = 1"];
    out.append(svg("line", { class: "one", x1: left, x2: right, y1: Y(1), y2: Y(1) }),
      svg("text", { class: "ink halo", x: left + 6, y: Y(1) - 6 }, captions.find(text => sizeOf(out, text, "ink").width < right - left - 12) ?? ""));
  }

  if (heading) out.append(svg("text", { x: width - 1, y: 2, "text-anchor": "end" }, heading));
  const labels = lines.map(s => ({ ...s, y: Y(s.end[m.value]) }));
  spreadApart(labels, gap, top + 6, top + height - 2);
  // Draws emphasized lines last, on top.
  for (const s of labels.sort((a, b) => a.entry.strong - b.entry.strong || b.i - a.i)) {
    const color = `var(--s${s.i})`, strong = s.kind !== "ink";
    const path = (list, y) => list.map(r => `${at(r).toFixed(1)} ${Y(y(r)).toFixed(1)}`).join("L");
    const group = svg("g", { class: "series", "data-series": s.i });
    const banded = s.points.filter(r => m.low && r[m.low] !== null && r[m.low] > 0);
    if (banded.length > 1) group.append(svg("path", { d: `M${path(banded, r => r[m.high])}L${path([...banded].reverse(), r => r[m.low])}Z`, fill: color, opacity: 0.15 }));
    if (banded.length === 1) group.append(svg("line", { x1: at(banded[0]), x2: at(banded[0]), y1: Y(banded[0][m.high]), y2: Y(banded[0][m.low]), stroke: color, "stroke-width": 5, opacity: 0.25 }));
    group.append(svg("path", { d: `M${path(s.points, r => r[m.value])}`, fill: "none", stroke: color, "stroke-width": strong ? 3.2 : 1.8, "stroke-linejoin": "round", "stroke-dasharray": s.entry.dashed ? "6 4" : "" }));
    for (const r of s.points) group.append(svg("circle", { cx: at(r), cy: Y(r[m.value]), r: strong ? 4.6 : 3.4, fill: color }));
    const y = Y(s.end[m.value]), x = right + leader;
    group.append(svg("path", { d: `M${at(s.end) + 6} ${y}L${narrow ? x - 3 : right + 4} ${narrow ? s.y : y}L${x - 4} ${s.y}`, fill: "none", stroke: color, opacity: 0.65 }),
      svg("text", { class: s.kind, x, y: s.y + 4 }, s.name, ...(s.name === s.entry.short ? [] : [svg("title", {}, s.entry.short)])),
      svg("text", { class: strong ? s.kind : "", x: width - 1, y: s.y + 4, "text-anchor": "end" }, s.valueText));
    group.addEventListener("mouseenter", () => { out.classList.add("has-highlight"); group.classList.add("highlight"); });
    group.addEventListener("mouseleave", () => { out.classList.remove("has-highlight"); group.classList.remove("highlight"); });
    out.append(group);
  }
  showNearestPoint(out, points, at, Y, m, right);
}

// Shows a tooltip for the nearest point; a click selects its length for the table.
function showNearestPoint(out, points, at, Y, m, right) {
  const find = event => {
    const box = out.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    const far = r => Math.hypot(at(r) - x, Y(r[m.value]) - y), best = points.reduce((a, b) => (far(b) < far(a) ? b : a));
    return x < right + 8 && far(best) < 40 ? best : null;
  };
  out.addEventListener("mousemove", event => {
    const r = find(event);
    for (const group of out.querySelectorAll(".series")) group.classList.toggle("highlight", r !== null && group.dataset.series === String(r.series) || group.matches(":hover"));
    out.classList.toggle("has-highlight", out.querySelector(".highlight") !== null);
    out.style.cursor = r ? "pointer" : "";
    if (!r) { showTip(""); return; }
    const ratio = r.ratio && !r.reference ? `\n${times(r.ratio)}${r.low === null ? "" : ` (${fine(r.low)} to ${fine(r.high)})`} ${r.ratio > 0 ? "as fast" : ""}, ${r.outcome}` : "";
    showTip(`${r.entry.label}, N = ${r.n}${ratio}\n${time(r.seconds)}${r.peak === null ? "" : `, peak ${bytes(r.peak)}`}`, event.clientX + 14, event.clientY + 14);
  });
  out.addEventListener("mouseleave", () => { showTip(""); out.classList.remove("has-highlight"); });
  out.addEventListener("click", event => { const r = find(event); if (r) choose("n", r.n); });
}
