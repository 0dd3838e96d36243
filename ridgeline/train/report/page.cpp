#include "ridgeline/train/report/page.h"

namespace ridgeline::train {

const char* const kPageStyle = R"css(
:root { color-scheme: light dark; --back: #fff; --text: #1b1f24; --faint: #6a737d; --line: #d8dee4; --card: #f6f8fa; }
@media (prefers-color-scheme: dark) {
  :root { --back: #14171c; --text: #e4e8ee; --faint: #98a2ae; --line: #333a44; --card: #1c2128; }
}
body { margin: 0; background: var(--back); color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1200px; margin: 0 auto; padding: 16px; }
h1 { font-size: 1.5rem; margin: 0.5rem 0 1rem; overflow-wrap: anywhere; }
h2, summary { font-size: 1.1rem; font-weight: 600; margin: 1.2rem 0 0.4rem; }
summary { cursor: pointer; }
p { color: var(--faint); margin: 0.2rem 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 4px 12px 4px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--faint); font-weight: 500; white-space: nowrap; }
td:first-child { font-weight: 500; }
#controls { display: flex; flex-wrap: wrap; gap: 8px 20px; align-items: center; margin: 0.8rem 0; }
#controls label { display: flex; gap: 6px; align-items: center; }
select, input { font: inherit; }
#names { display: flex; flex-wrap: wrap; gap: 4px 14px; }
#names label { cursor: pointer; overflow-wrap: anywhere; }
#names i { width: 14px; height: 4px; border-radius: 2px; display: inline-block; }
#charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 460px), 1fr)); gap: 14px; }
figure { margin: 0; padding: 10px; background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
figcaption { font-weight: 600; display: flex; justify-content: space-between; }
figcaption span { color: var(--faint); font-weight: 400; font-variant-numeric: tabular-nums; }
svg { display: block; width: 100%; touch-action: pan-y; }
svg text { fill: var(--faint); font-size: 12px; }
)css";

const char* const kPageCurves = R"html(<section><h2>Curves</h2>
<div id="controls">
<label>over <select id="over"><option value="step">steps</option><option value="epoch">epochs</option>
<option value="since">time since the start</option><option value="time">date and time</option></select></label>
<label>smoothing <input id="smooth" type="range" min="0" max="0.98" step="0.02" value="0.6"></label>
<label><input id="log" type="checkbox"> loss on a logarithmic scale</label>
<span id="names"></span></div>
<div id="charts"></div><noscript><p>The curves need JavaScript.</p></noscript></section>
)html";

const char* const kPageScript = R"js(
'use strict';
const runs = JSON.parse(document.getElementById('runs').textContent);
const colours = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#8c6bb1', '#7f7f7f'];
const charts = [
  {title: 'Loss', of: 'steps', field: 'loss', smooth: true, log: true},
  {title: 'Top-1 accuracy of the validation, %', of: 'evaluations', field: 'top1', dots: true},
  {title: 'Loss of the validation', of: 'evaluations', field: 'loss', dots: true, log: true},
  {title: 'Learning rate', of: 'steps', field: 'lr'},
  {title: 'Images per second', of: 'steps', field: 'rate', smooth: true, zero: true}];
const shown = runs.map(() => true);
const by = id => document.getElementById(id);
const make = (name, attributes, parent) => {
  const e = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const k in attributes) e.setAttribute(k, attributes[k]);
  if (parent) parent.appendChild(e);
  return e;
};

// Points [x, y] of one run in one chart; y null where there is none.
function points(run, chart) {
  const t = run[chart.of], over = by('over').value;
  const times = run.steps.time.concat(run.evaluations.time).filter(v => v !== null);
  const start = times.reduce((a, b) => Math.min(a, b), Infinity);
  const x = over === 'since' ? t.time.map(v => v === null ? null : (v - start) / 60) : t[over];
  return t[chart.field].map((y, i) => [x[i], y]).filter(p => p[0] !== null);
}

// Exponential moving average, corrected for its start, so that the first point counts fully.
function smoothed(list, weight) {
  let sum = 0, norm = 0;
  return list.map(([x, y]) => {
    if (y === null) return [x, null];
    sum = weight * sum + (1 - weight) * y;
    norm = weight * norm + (1 - weight);
    return [x, sum / norm];
  });
}

function ticks(low, high, count) {
  const raw = (high - low) / count, power = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].map(m => m * power).find(s => s >= raw);
  const list = [];
  for (let v = Math.ceil(low / step) * step; v <= high + step * 1e-9; v += step) list.push(v);
  return list;
}

function short(v) {
  if (v === 0) return '0';
  const a = Math.abs(v);
  return a >= 1e5 || a < 1e-3 ? v.toExponential(1) : String(+v.toPrecision(4));
}

function at(v, over) {
  if (over === 'time') return new Date(v * 1000).toLocaleString([], {month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit'});
  return over === 'since' ? short(v) + ' min' : short(v);
}

function draw(chart) {
  const over = by('over').value, weight = chart.smooth ? +by('smooth').value : 0;
  const logarithmic = chart.log && by('log').checked;
  const series = [];
  runs.forEach((run, i) => {
    if (!shown[i]) return;
    let raw = points(run, chart);
    if (logarithmic) raw = raw.map(([x, y]) => [x, y > 0 ? y : null]);
    if (raw.some(p => p[1] !== null)) series.push({run, colour: colours[i % colours.length], raw, line: smoothed(raw, weight)});
  });
  chart.svg.replaceChildren();
  chart.read.textContent = '';
  const width = Math.max(280, chart.svg.clientWidth), height = 260, left = 58, right = 12, top = 10, bottom = 28;
  chart.svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
  chart.svg.setAttribute('height', height);
  chart.figure.hidden = series.length === 0;
  if (series.length === 0) return;
  const all = series.flatMap(s => s.raw).filter(p => p[1] !== null);
  const range = k => [all.reduce((m, p) => Math.min(m, p[k]), Infinity), all.reduce((m, p) => Math.max(m, p[k]), -Infinity)];
  let [x0, x1] = range(0), [y0, y1] = range(1);
  if (chart.zero) y0 = Math.min(0, y0);
  if (x0 === x1) { x0 -= 0.5; x1 += 0.5; }
  if (y0 === y1) { const pad = Math.abs(y0) * 0.1 || 1; y0 -= logarithmic ? y0 / 2 : pad; y1 += pad; }
  const scale = logarithmic ? Math.log10 : v => v;
  const px = x => left + (x - x0) / (x1 - x0) * (width - left - right);
  const py = y => height - bottom - (scale(y) - scale(y0)) / (scale(y1) - scale(y0)) * (height - top - bottom);
  const marks = logarithmic ? ticks(scale(y0), scale(y1), 5).map(v => Math.pow(10, v)) : ticks(y0, y1, 5);
  for (const v of marks) {
    make('line', {x1: left, x2: width - right, y1: py(v), y2: py(v), stroke: 'var(--line)'}, chart.svg);
    make('text', {x: left - 6, y: py(v) + 4, 'text-anchor': 'end'}, chart.svg).textContent = short(v);
  }
  for (const v of ticks(x0, x1, over === 'time' ? 2 : Math.max(2, Math.floor(width / 110))))
    make('text', {x: px(v), y: height - 8, 'text-anchor': 'middle'}, chart.svg).textContent = at(v, over);
  const path = list => {
    let d = '', pen = false;
    for (const [x, y] of list) {
      if (y === null) { pen = false; continue; }
      d += (pen ? 'L' : 'M') + px(x).toFixed(1) + ' ' + py(y).toFixed(1);
      pen = true;
    }
    return d;
  };
  for (const s of series) {
    if (weight > 0) make('path', {d: path(s.raw), fill: 'none', stroke: s.colour, 'stroke-opacity': 0.28}, chart.svg);
    make('path', {class: 'curve', d: path(s.line), fill: 'none', stroke: s.colour, 'stroke-width': 2, 'stroke-linejoin': 'round'}, chart.svg);
    const there = p => p !== undefined && p[1] !== null;
    s.line.forEach((p, i, line) => {  // a point between none would be no line
      const alone = !there(line[i - 1]) && !there(line[i + 1]);
      if (there(p) && (chart.dots || alone)) make('circle', {cx: px(p[0]), cy: py(p[1]), r: 3, fill: s.colour}, chart.svg);
    });
  }
  const cursor = make('line', {y1: top, y2: height - bottom, stroke: 'var(--faint)', visibility: 'hidden'}, chart.svg);
  chart.svg.onpointermove = event => {
    const box = chart.svg.getBoundingClientRect();
    const x = x0 + ((event.clientX - box.left) / box.width * width - left) / (width - left - right) * (x1 - x0);
    const near = series.map(s => s.line.filter(p => p[1] !== null).reduce((a, b) => Math.abs(b[0] - x) < Math.abs(a[0] - x) ? b : a));
    const point = near.reduce((a, b) => Math.abs(b[0] - x) < Math.abs(a[0] - x) ? b : a);
    cursor.setAttribute('x1', px(point[0]));
    cursor.setAttribute('x2', px(point[0]));
    cursor.setAttribute('visibility', 'visible');
    chart.read.textContent = at(point[0], over) + ': ' + near.map(p => short(p[1])).join('  ');
  };
  chart.svg.onpointerleave = () => { cursor.setAttribute('visibility', 'hidden'); chart.read.textContent = ''; };
}

for (const chart of charts) {
  chart.figure = document.createElement('figure');
  const caption = document.createElement('figcaption');
  caption.textContent = chart.title;
  chart.read = document.createElement('span');
  caption.appendChild(chart.read);
  chart.figure.appendChild(caption);
  chart.svg = make('svg', {role: 'img', 'aria-label': chart.title}, chart.figure);
  by('charts').appendChild(chart.figure);
}
runs.forEach((run, i) => {
  const label = document.createElement('label'), box = document.createElement('input'), line = document.createElement('i');
  box.type = 'checkbox';
  box.checked = true;
  box.onchange = () => { shown[i] = box.checked; charts.forEach(draw); };
  line.style.background = colours[i % colours.length];
  label.append(box, line, run.name);
  by('names').appendChild(label);
});
for (const id of ['over', 'smooth', 'log']) by(id).oninput = () => charts.forEach(draw);
window.onresize = () => charts.forEach(draw);
charts.forEach(draw);
)js";

}  // namespace ridgeline::train
