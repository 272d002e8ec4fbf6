"""Style sheets, script and templates of the HTML page, and of sections in notebooks."""

from __future__ import annotations

STYLE = """
:root {
  color-scheme: light dark;
  --page: #ffffff; --card: #f6f7f9; --text: #1c2024; --muted: #5b6470; --line: #dfe3e8; --accent: #1f6fa5;
  --warn: #fff3d6; --warn-text: #5c4300;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171a; --card: #1d2125; --text: #e8eaed; --muted: #a0a8b2; --line: #343a41; --accent: #6cb4e4;
    --warn: #3a2f12; --warn-text: #f2d58b;
  }
}
* { box-sizing: border-box; }
html { scroll-behavior: smooth; -webkit-text-size-adjust: 100%; }
body {
  margin: 0; background: var(--page); color: var(--text);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
header, main, footer { max-width: 1080px; margin: 0 auto; padding: 0 24px; }
header { padding-top: 40px; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 6px; letter-spacing: -0.01em; }
h2 { font-size: 1.3rem; line-height: 1.3; margin: 48px 0 12px; overflow-wrap: anywhere; }
h3 { font-size: 1.02rem; margin: 0; }
p { margin: 10px 0; overflow-wrap: anywhere; }
a { color: var(--accent); }
.about, .note, caption, footer, .card .what { color: var(--muted); }
.about { margin: 0; overflow-wrap: anywhere; }
.note { font-size: 0.9rem; }
.warning { background: var(--warn); color: var(--warn-text); border-radius: 8px; padding: 10px 14px; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(160px, 1fr)); gap: 14px; margin: 28px 0 18px; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 16px 18px; }
.card .name { font-size: 0.9rem; font-weight: 600; }
.card .number { font-size: 2rem; line-height: 1.25; font-variant-numeric: tabular-nums; }
.card .interval { font-size: 0.95rem; color: var(--muted); white-space: nowrap; font-variant-numeric: tabular-nums; }
.card .what { font-size: 0.85rem; line-height: 1.4; margin-top: 6px; }
.finding { font-size: 1.1rem; }
nav { border-top: 1px solid var(--line); border-bottom: 1px solid var(--line); padding: 10px 0; margin: 26px 0 0;
  font-size: 0.92rem; line-height: 2; }
nav a { text-decoration: none; margin-right: 18px; white-space: nowrap; }
nav a:hover { text-decoration: underline; }
.answer { border-left: 3px solid var(--accent); padding: 2px 0 2px 16px; margin: 18px 0; }
.answer .numbers { margin: 2px 0; font-weight: 600; font-variant-numeric: tabular-nums; }
.answer p { margin: 4px 0; }
dl { display: grid; grid-template-columns: minmax(110px, max-content) 1fr; gap: 6px 20px; margin: 12px 0; }
dt { color: var(--muted); }
dd { margin: 0; overflow-wrap: anywhere; }
.scroll { overflow: auto; margin: 14px 0; border: 1px solid var(--line); border-radius: 10px; }
.scroll.tall { max-height: 32rem; }
table { border-collapse: separate; border-spacing: 0; width: 100%; font-size: 0.9rem; line-height: 1.4; }
caption { text-align: left; padding: 10px 14px 4px; font-size: 0.9rem; }
th, td { padding: 7px 14px; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
tbody tr:last-child td { border-bottom: 0; }
th { background: var(--card); font-weight: 600; white-space: nowrap; position: sticky; top: 0; }
td { font-variant-numeric: tabular-nums; min-width: 6rem; max-width: 24rem; overflow-wrap: break-word; }
td.numeric { min-width: 0; }
.numeric { text-align: right; white-space: nowrap; }
figure { margin: 18px 0; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 440px), 1fr)); gap: 8px 28px; }
.plots figure { min-width: 0; margin: 8px 0; }
.plot { width: 100%; }
figcaption { font-weight: 600; font-size: 0.98rem; line-height: 1.4; overflow-wrap: anywhere; }
.plot .infolayer text, .plot .xtick text, .plot .ytick text, .plot .y2tick text, .plot .bartext {
  fill: var(--text) !important;
}
.part { margin-top: 72px; padding-top: 28px; border-top: 2px solid var(--line); font-size: 1.5rem; }
footer { margin-top: 64px; padding-top: 18px; padding-bottom: 48px; border-top: 1px solid var(--line);
  font-size: 0.85rem; }
@media (max-width: 640px) {
  header, main, footer { padding-left: 16px; padding-right: 16px; }
  header { padding-top: 24px; }
  h1 { font-size: 1.5rem; }
  h2 { margin-top: 36px; }
  .cards { grid-template-columns: repeat(auto-fit, minmax(140px, 1fr)); gap: 10px; }
  .card { padding: 12px 14px; }
  .card .number { font-size: 1.6rem; }
  dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: 8px; }
  th, td { padding: 6px 10px; }
}
@media print {
  :root {
    color-scheme: light;
    --page: #ffffff; --card: #f6f7f9; --text: #000000; --muted: #444c55; --line: #c9ced4; --accent: #1f6fa5;
    --warn: #fff3d6; --warn-text: #5c4300;
  }
  @page { margin: 16mm 14mm; }
  body { font-size: 10.5pt; -webkit-print-color-adjust: exact; print-color-adjust: exact; }
  header, main, footer { max-width: none; padding: 0; }
  nav { display: none; }
  .scroll, .scroll.tall { max-height: none; overflow: visible; }
  table { font-size: 7.5pt; }
  th, td { padding: 3px 5px; }
  td { min-width: 0; }
  th { position: static; white-space: normal; }
  .numeric { white-space: normal; }
  .plots { display: block; }
  .card, .answer, figure, tr, dl { break-inside: avoid; }
  h2, h3, caption { break-after: avoid; }
}
"""

#: draws the figures that the page holds as JSON; for printing they get a width that fits the paper
SCRIPT = """
const figures = JSON.parse(document.getElementById("figures").textContent);
const settings = { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["select2d", "lasso2d"] };
for (const [name, figure] of Object.entries(figures)) {
  Plotly.newPlot("figure-" + name, figure.data, figure.layout, settings);
}
const plots = () => document.querySelectorAll(".plot");
window.addEventListener("beforeprint", () => plots().forEach((plot) => Plotly.relayout(plot, { width: 640 })));
window.addEventListener("afterprint", () => plots().forEach((plot) => Plotly.relayout(plot, { width: null })));
"""

#: macros for a part and for a section; all values are escaped, except styles, scripts and figures, which we create
_MACROS = """
{%- macro show(part) -%}
{%- set kind = part | kind -%}
{%- if kind == "Table" -%}
{%- if part.rows -%}
<div class="scroll{{ " tall" if part.rows | length > 14 }}"><table>
{%- if part.title %}<caption>{{ part.title }}</caption>{% endif %}<thead><tr>
{%- for name in part.header %}<th{{ numeric(part, loop.index0) }}>{{ name }}</th>{% endfor %}</tr></thead><tbody>
{%- for row in part.rows -%}
<tr>{% for cell in row %}<td{{ numeric(part, loop.index0) }}>{{ cell.text }}</td>{% endfor %}</tr>
{%- endfor %}</tbody></table></div>
{%- endif -%}
{%- elif kind == "Facts" -%}
<dl>{% for name, text in part.rows %}<dt>{{ name }}</dt><dd>{{ text }}</dd>{% endfor %}</dl>
{%- elif kind == "NumberRow" -%}
<div class="cards">
{%- for entry in part.entries -%}
<div class="card"><div class="name">{{ entry.title }}</div><div class="number">{{ entry.value }}</div>
{%- if entry.interval %}<div class="interval">{{ entry.interval }}</div>{% endif -%}
<div class="what">{{ entry.meaning }}</div></div>
{%- endfor %}</div>
{%- elif kind == "Answer" -%}
<div class="answer"><h3>{{ part.question }}</h3><p class="numbers">{{ part.shown_numbers }}</p>
{%- if part.meaning %}<p>{{ part.meaning }}</p>{% endif %}</div>
{%- elif kind == "Note" -%}
<p class="{{ "warning" if part.is_warning else "note" }}">{{ part.text }}</p>
{%- else -%}
<p>{{ part }}</p>
{%- endif -%}
{%- endmacro -%}
{%- macro numeric(table, column) -%}
{%- if table.numeric[column] %} class="numeric"{% endif -%}
{%- endmacro -%}
{%- macro show_section(section) -%}
<section id="{{ section | anchor }}"><h2>{{ section.title }}</h2>
{%- if section.note %}<p class="note">{{ section.note[:1] | upper }}{{ section.note[1:] }}.</p>{% endif -%}
{%- for part in section.parts %}{{ show(part) }}{% endfor -%}
{%- set shown = section.figures | select("in", findings) | list -%}
{%- if shown -%}
<div class="plots">
{%- for name in shown -%}
<figure><figcaption>{{ findings[name] }}</figcaption>
<div class="plot" id="figure-{{ name }}" role="img" aria-label="{{ findings[name] }}"></div></figure>
{%- endfor %}</div>
{%- endif %}</section>
{% endmacro -%}
"""

TEMPLATE = (
    _MACROS
    + """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Annotator agreement: {{ dataset_name or run_key }}</title>
<style>{{ style }}</style>
<script>{{ plotly }}</script>
</head>
<body>
<header><h1>Annotator agreement{{ ": " ~ dataset_name if dataset_name }}</h1>
<p class="about">Run {{ run_key }}{{ " · computed on " ~ date if date }}</p></header>
<main>
{% for part in first.parts %}{{ show(part) }}{% endfor %}
<nav>
{%- for section in short %}<a href="#{{ section | anchor }}">{{ section.title }}</a> {% endfor -%}
{%- if details %}<a href="#in-detail">In detail</a>{% endif -%}
</nav>
{% for section in short %}{{ show_section(section) }}{% endfor %}
{%- if details %}<h2 class="part" id="in-detail">In detail</h2>{% endif %}
{%- for section in details %}{{ show_section(section) }}{% endfor -%}
</main>
<footer><p>Computed{{ " on " ~ date if date }} by {{ plugin }}{{ " with " ~ versions if versions }}.
An undefined number is shown as “-”.</p></footer>
<script type="application/json" id="figures">{{ figures }}</script>
<script>{{ script }}</script>
</body>
</html>
"""
)

#: style sheet for sections in a notebook, without colours, which the notebook sets
NOTEBOOK_STYLE = """
.annotator-agreement .cards { display: flex; flex-wrap: wrap; gap: 8px 32px; margin: 8px 0; }
.annotator-agreement .card { max-width: 15em; }
.annotator-agreement .number { font-size: 1.6em; }
.annotator-agreement .what, .annotator-agreement .interval, .annotator-agreement .note { opacity: 0.75; }
.annotator-agreement h2, .annotator-agreement h3 { font-size: 1.05em; margin: 0.8em 0 0.2em; }
.annotator-agreement .warning { font-weight: bold; }
"""

#: template of sections with code and a note in a notebook
NOTEBOOK = (
    _MACROS
    + """<div class="annotator-agreement"><style>{{ style }}</style>
{% for section in sections %}{{ show_section(section) }}{% endfor %}
{% if code %}<pre>{{ code }}</pre>{% endif %}
{% if note %}<p class="note">{{ note }}</p>{% endif %}</div>"""
)
