// SPDX-License-Identifier: Apache-2.0
// Draws chips, table and downloads. Data of the results becomes text, never markup.
"use strict";
const results = JSON.parse($("results").textContent);
const { series, machines } = results, rows = results.rows.map((row, id) => ({ ...row, id, entry: series[row.series] }));

// ---- selection: one value per parameter; a chip per value if there are several
const PARAMETERS = [
  { key: "machine", name: "machine", format: v => machines[v].name }, { key: "direction", name: "pass" }, { key: "dtype", name: "type" },
  { key: "input", name: "input" }, { key: "b", name: "batch" }, { key: "c", name: "channels" }, { key: "h", name: "heads" },
  { key: "t", name: "threads" }, { key: "n", name: "N =" }];
const shown = {};
const has = (row, key, value) => row[key] === value || row[key] === null; // operators without heads match any number
const values = key => [...new Set(rows.map(row => row[key]).filter(v => v !== null))].sort((a, b) => (typeof a === "number" ? a - b : 0));
const matchingRows = (sides = PARAMETERS) => rows.filter(row => sides.every(({ key }) => shown[key] === undefined || has(row, key, shown[key])));

// Selects a value, and changes other values only if no row would be left.
function choose(key, value) {
  const requested = { ...shown, [key]: value };
  for (const { key: other } of PARAMETERS) delete shown[other];
  for (const side of [PARAMETERS.find(s => s.key === key), ...PARAMETERS.filter(s => s.key !== key)]) {
    shown[side.key] = requested[side.key];
    if (!matchingRows().length) {
      delete shown[side.key];
      shown[side.key] = [...values(side.key)].reverse().find(v => { shown[side.key] = v; return matchingRows().length; });
    }
  }
  draw();
}

function makeRadios(name, label, choices, current, format, pick) {
  const set = el("fieldset", { "data-side": name }, el("legend", {}, label));
  for (const value of choices) {
    const input = el("input", { type: "radio", name, value: String(value) });
    input.checked = value === current;
    input.onchange = () => { pick(value); document.querySelector(`input[name="${name}"]:checked`)?.focus(); };
    set.append(el("label", { class: "chip" }, input, el("span", {}, format(value))));
  }
  return set;
}

function drawChips() {
  const boxes = { chips: [], lengths: [] };
  for (const { key, name, format } of PARAMETERS) {
    const choices = values(key);
    if (choices.length > 1) boxes[key === "n" ? "lengths" : "chips"].push(makeRadios(key, name, choices, shown[key], format ?? String, v => choose(key, v)));
  }
  for (const id in boxes) $(id).replaceChildren(...boxes[id]);
  $("metrics").replaceChildren(makeRadios("metric", "picture", Object.keys(METRICS).filter(k => rows.some(r => r[METRICS[k].value] > 0)), metric, k => METRICS[k].chip, k => { metric = k; draw(); }));
}

// ---- the table
const bar = (row, at) => {
  const track = el("span", { class: "track" }, ...at.ticks.map(t => el("i", { class: t === 1 ? "one" : "", style: `left:${at(t)}%` })));
  if (row.ratio) {
    if (row.low !== null) track.append(el("u", { style: `left:${at(row.low)}%;width:${at(row.high) - at(row.low)}%` }));
    track.append(el("s", { style: `left:${at(row.ratio)}%` }));
  }
  return track;
};
// The interval, with the outcome if it is not obvious.
function intervalCell(row) {
  if (row.failed || row.reference) return [row.reference ? "reference" : ""];
  if (row.low === null) return [row.ratio === null ? "no reference" : "too few rounds"];
  return [`${fine(row.low)} – ${fine(row.high)}${row.outcome === "same" || row.outcome === "ambiguous" ? `, ${row.outcome}` : ""}`];
}
const COLUMNS = [
  { key: "label", title: "operator" },
  { key: "ratio", title: "times as fast", strong: true, cell: r => [r.failed || r.ratio === null ? "" : times(r.ratio)] },
  { bar: true },
  { key: "low", title: "95 % interval", left: true, cell: intervalCell },
  { key: "wins", title: "wins from", cell: r => [r.wins_from] },
  { key: "seconds", title: "time", cell: r => [r.failed ? (r.failed === "out of memory" ? "OOM" : "failed") : time(r.seconds)] },
  { key: "tokens", title: "tokens/s", format: count }, { key: "kept", title: "kept", format: bytes }, { key: "peak", title: "peak", format: bytes },
  { key: "error", title: "max error", cell: r => [r.failed ? "" : r.error === null ? "unchecked" : r.error === 0 ? "0" : r.error.toExponential(1)] },
  { key: "share", title: "of roof", cell: r => (r.share === null ? [] : [`${Math.round(r.share * 100)} %`, el("span", { class: "unit" }, r.roof)]) }]
  .filter(column => column.key !== "wins" || rows.some(row => row.wins_from)); // only if several lengths were measured
const kindOf = column => (column.bar ? "bar" : column.left ? "left" : column.strong ? "number" : "");
let sorted = { column: 1, way: -1 };
const families = [...new Set(series.map(entry => entry.family))];
const sortKey = (row, key) => (key === "label" ? row.entry.label : row[key]);

function makeScale(list) {
  const found = list.flatMap(r => [r.low ?? r.ratio, r.high ?? r.ratio]).filter(v => v > 0);
  const low = Math.min(0.7, ...found) / 1.15, high = Math.max(1.5, ...found) * 1.15;
  const at = v => 100 * Math.log(v / low) / Math.log(high / low);
  at.ticks = ticksOf(low, high, 4, 10);
  return at;
}

function drawTable() {
  const list = matchingRows(), at = makeScale(list), { key } = COLUMNS[sorted.column];
  list.sort((a, b) => {
    if (a.entry.family !== b.entry.family) return families.indexOf(a.entry.family) - families.indexOf(b.entry.family);
    const x = sortKey(a, key), y = sortKey(b, key);
    if (x === null || y === null) return (x === null) - (y === null); // missing values last
    return sorted.way * (typeof x === "string" ? x.localeCompare(y) : x - y) || a.id - b.id;
  });
  const head = el("tr", {}, ...COLUMNS.map((column, i) => {
    if (column.bar) return el("td", { class: "bar", "aria-hidden": "true" }, el("span", { class: "axis" }, ...at.ticks.map(t => el("span", { style: `left:${at(t)}%` }, times(t)))));
    const button = el("button", { type: "button", "aria-describedby": `about-${column.key === "low" ? "ratio" : column.key}` }, column.title);
    button.onclick = () => {
      sorted = { column: i, way: sorted.column === i ? -sorted.way : column.key === "label" || column.key === "seconds" ? 1 : -1 };
      drawTable();
      $("table").tHead.rows[0].cells[i].querySelector("button").focus();
    };
    return el("th", { scope: "col", class: kindOf(column), ...(sorted.column === i && { "aria-sort": sorted.way > 0 ? "ascending" : "descending" }) }, button);
  }));
  const body = list.flatMap((row, i) => {
    const kind = [row.reference && "reference", row.entry.custom && "custom", row.entry.strong && "strong", row.failed && "failed"].filter(Boolean).join(" ");
    const heading = row.entry.family === list[i - 1]?.entry.family ? [] :
      [el("tr", { class: "family" }, el("th", { scope: "rowgroup" }, row.entry.family), el("td", { colspan: COLUMNS.length - 1 }))];
    return [...heading, el("tr", { class: kind, style: `--series:var(--s${row.series})`, "data-id": row.id }, ...COLUMNS.map((c, i) => {
      if (i === 0) return el("th", { scope: "row" }, el("span", { class: row.entry.dashed ? "dot dashed" : "dot" }), row.entry.label, row.entry.custom ? el("span", { class: "badge" }, "custom") : "");
      if (c.bar) return el("td", { class: "bar", "aria-hidden": "true" }, bar(row, at));
      return el("td", { class: kindOf(c) }, ...(c.cell ? c.cell(row) : [row[c.key] === null ? "" : c.format(row[c.key])]));
    }))];
  });
  const first = list[0];
  $("table-title").textContent = `Every operator at N = ${shown.n}`;
  $("table-sub").textContent = `${describeSelection()}, [${first.b}, ${first.n}, ${first.c}]; ${list.length} rows, by family. A heading sorts each family.`;
  $("table").replaceChildren(el("thead", {}, head), el("tbody", {}, ...body));
  $("slower").replaceChildren(...list.filter(r => r.slower_because).map(r => el("p", { class: "sub" }, el("b", {}, r.entry.label), ` is slower: ${r.slower_because}.`)));
  fitTable();
}

// Adapts to the drawn sizes: a table that is too wide scrolls in a box; axis numbers without room are hidden.
function fitTable() {
  const box = $("scroll"), taken = [];
  box.classList.remove("boxed");
  box.classList.toggle("boxed", box.scrollWidth > box.clientWidth);
  for (const number of [...$("table").querySelectorAll(".axis span")].sort((a, b) => (b.textContent === "1×") - (a.textContent === "1×"))) {
    number.hidden = false;
    const { left, right } = number.getBoundingClientRect();
    number.hidden = taken.some(other => left < other.right + 3 && other.left < right + 3);
    if (!number.hidden) taken.push({ left, right });
  }
}

// ---- text
const describeSelection = () => `${shown.direction}, ${shown.dtype}` + (rows.some(r => r.h !== null) ? `, ${shown.h} heads` : "");
function drawText() {
  const machine = machines[shown.machine], list = matchingRows().filter(r => r.ratio && !r.reference);
  const best = list.find(r => r.entry.custom) ?? list.find(r => r.entry.strong) ?? [...list].sort((a, b) => b.ratio - a.ratio)[0];
  $("lead").replaceChildren(...(best ? ["At a length of ", el("b", {}, String(shown.n)), `, ${describeSelection()}, `, el("b", {}, best.entry.label), " is ", el("b", {}, times(best.ratio)),
    best.low === null ? "" : ` (${fine(best.low)} to ${fine(best.high)})`, ` as fast as streaming softmax attention, on ${machine.name}${machine.processor && `, ${machine.processor}`}.`] : ["These rows have no reference."]));
  $("noise").replaceChildren(...(machine.noise.length ? [el("p", { class: "noise", role: "note" }, el("b", {}, "Noise. "), machine.noise.join(" "))] : []));
  $("facts").replaceChildren(...machine.facts.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, name === "command" || name === "flags" ? el("code", {}, value) : value)]));
}

// ---- downloads of the data
function download(name, type, text) {
  const link = el("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
function csv() {
  const keys = Object.keys(results.rows[0]).filter(key => key !== "series" && key !== "machine");
  const quoted = v => (v === null ? "" : /[",\n]/.test(String(v)) ? `"${String(v).replaceAll('"', '""')}"` : String(v));
  return [["machine", "operator", ...keys], ...rows.map(r => [machines[r.machine].name, r.entry.label, ...keys.map(k => r[k])])]
    .map(line => line.map(quoted).join(",")).join("\n") + "\n";
}
$("csv").onclick = () => download("arena.csv", "text/csv", csv());
$("json").onclick = () => download("arena-page.json", "application/json", JSON.stringify(results, null, 1));
$("files").append("Every round: ", ...results.files.flatMap((file, i) => [i ? ", " : "", el("a", { href: file }, file)]), ", next to this page.");

// ---- light and dark: the system's theme until the button is used
const system = matchMedia("(prefers-color-scheme: dark)"), remembered = () => { try { return localStorage.getItem("theme"); } catch { return null; } };
function setTheme(name) {
  document.documentElement.dataset.theme = name;
  $("theme").textContent = name === "dark" ? "Light" : "Dark";
  $("theme").setAttribute("aria-label", name === "dark" ? "Light colors" : "Dark colors");
  series.forEach((entry, i) => document.documentElement.style.setProperty(`--s${i}`, entry[name]));
}
const applyTheme = () => setTheme(remembered() ?? (system.matches ? "dark" : "light"));
system.addEventListener("change", applyTheme);
addEventListener("beforeprint", () => setTheme("light"));
addEventListener("afterprint", applyTheme);
$("theme").onclick = () => {
  const name = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  try { localStorage.setItem("theme", name); } catch { /* a local page may have no storage */ }
  setTheme(name);
};

// ---- explanations of headings, by mouse or keyboard
function explain(event) {
  const button = event.target.closest?.("th button");
  if (!button) return;
  const box = button.getBoundingClientRect();
  showTip($(button.getAttribute("aria-describedby")).textContent.replace(/\s+/g, " "), box.left, box.bottom + 6);
}
$("table").addEventListener("mouseover", explain);
$("table").addEventListener("focusin", event => event.target.matches(":focus-visible") && explain(event));
for (const end of ["mouseout", "focusout"]) $("table").addEventListener(end, () => showTip(""));
addEventListener("keydown", event => event.key === "Escape" && showTip(""));

function draw() { drawChips(); drawText(); drawChart(); drawTable(); }
applyTheme();
for (const { key } of PARAMETERS) {
  const preferred = { direction: "forward + backward", dtype: "float" }[key], choices = values(key);
  if (choices.length) shown[key] = choices.includes(preferred) ? preferred : key === "n" ? choices.at(-1) : choices[0];
}
if (!rows.some(row => row.ratio > 0)) metric = "seconds"; // no reference
choose("machine", shown.machine);
new ResizeObserver(() => { drawChart(); fitTable(); }).observe($("chart"));
