"use strict";
// What the page cannot do by itself: filters, order, and keys in the panel that shows where a number comes from.
// Opening and closing that panel are plain links.

const panel = () => document.querySelector(".source:target");
const number = (open) => document.querySelector(`${open.querySelector(".close").hash} > a`);

// --- filters

const filters = document.getElementById("filters");
const selects = [...filters.querySelectorAll("select")];
const name = (select) => select.id.slice(2);
const operation = selects.find((select) => name(select) === "operation");
const titles = operation ? [...operation.options].slice(1).map((option) => option.value) : [];
const listed = [...document.querySelectorAll("#origins tbody tr")]; // in the order of the numbers of the tables

function fits(row) {
  return selects.every((select) => {
    const found = row.dataset[name(select)];
    return !select.value || (name(select) === "finding" ? found.split(" ") : [found]).includes(select.value);
  });
}

// A line of a table is shown with its number, a heading with any line below it.
function filterTable(table, left) {
  const column = titles.indexOf(operation?.value);
  const needed = [false, false, false];
  for (const row of [...table.rows].reverse()) {
    const level = Number(row.dataset.level ?? -1);
    let any = false;
    for (const cell of row.cells) {
      const place = cell.cellIndex - 1;
      if (level !== 0 && place >= 0 && place < titles.length) cell.hidden = column >= 0 && place !== column;
      cell.classList.toggle("out", Boolean(cell.id) && !left.has(cell.id));
      any ||= left.has(cell.id);
    }
    if (level < 0) continue;
    row.hidden = !(any || needed[level]);
    needed.fill(false, level);
    if (!row.hidden) needed.fill(true, 0, level);
  }
}

function filter() {
  const active = selects.filter((select) => select.value);
  const left = new Set();
  listed.forEach((row, place) => {
    row.hidden = !fits(row);
    if (!row.hidden) left.add(`c${place + 1}`);
  });
  for (const section of document.querySelectorAll(".target")) {
    filterTable(section.querySelector("table.numbers"), left);
    section.hidden = ![...section.querySelectorAll("td[id]")].some((cell) => left.has(cell.id));
  }
  const overview = document.querySelector(".overview"); // of all results
  if (overview) overview.hidden = active.length > 0;
  const words = active.map((select) => `${name(select)} ${select.value}`).join(", ");
  document.getElementById("f-count").textContent =
    active.length ? `${left.size} of ${listed.length} results shown: ${words}` : "";
  document.getElementById("f-all").hidden = !active.length;
  filters.classList.toggle("active", active.length > 0);
  measure();
}

for (const select of selects) {
  select.value = "";
  select.addEventListener("change", filter);
}
document.getElementById("f-all").addEventListener("click", () => {
  for (const select of selects) select.value = "";
  filter();
  selects[0]?.focus();
});
filters.hidden = false;

// --- filters of the findings

const findingFilters = document.getElementById("finding-filters");
const findingSelects = [...(findingFilters?.querySelectorAll("select") ?? [])];

function filterFindings() {
  const active = findingSelects.filter((select) => select.value);
  const rows = [...document.querySelectorAll(".group tbody tr")];
  for (const row of rows) row.hidden = !active.every((select) => row.dataset[select.dataset.name] === select.value);
  for (const group of document.querySelectorAll(".group")) {
    group.hidden = !group.querySelector("tbody tr:not([hidden])");
  }
  const shown = rows.filter((row) => !row.hidden).length;
  const words = active.map((select) => `${select.dataset.name} ${select.value}`).join(", ");
  findingFilters.querySelector("output").textContent = active.length ? `${shown} of ${rows.length} findings shown: ${words}` : "";
  findingFilters.classList.toggle("active", active.length > 0);
}

for (const select of findingSelects) {
  select.value = "";
  select.addEventListener("change", filterFindings);
}
if (findingSelects.length) findingFilters.hidden = false;

// --- order

const NEXT = { none: "ascending", ascending: "descending", descending: "none" };

function key(row, column) {
  const cell = row.cells[column];
  return (cell?.querySelector("a") ?? cell)?.textContent.trim() ?? "";
}

// Numbers by their size come before words.
function compare(one, other) {
  const [a, b] = [one, other].map((text) => parseFloat(text.replaceAll(",", "")));
  return (isNaN(a) - isNaN(b)) || (a - b) || one.localeCompare(other, "en", { numeric: true });
}

// Lines below one heading are ordered among themselves. The third click gives the order of the rules back.
function sortable(table) {
  const groups = [];
  for (const row of table.tBodies[0].rows) {
    if (!groups.length || row.dataset.level !== groups.at(-1)[0].dataset.level) groups.push([]);
    groups.at(-1).push(row);
  }
  const headings = [...table.tHead.rows[0].cells];
  for (const heading of headings.filter((one) => one.textContent)) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const order = NEXT[heading.getAttribute("aria-sort") ?? "none"];
      for (const each of headings) each.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", order);
      const [column, sign] = [heading.cellIndex, order === "descending" ? -1 : 1];
      const by = (one, other) => sign * compare(key(one, column), key(other, column));
      for (const group of groups) table.tBodies[0].append(...(order === "none" ? group : group.toSorted(by)));
    });
  }
  table.classList.add("sortable");
}

document.querySelectorAll("table.numbers, table.list").forEach((table) => table.tHead && sortable(table));

// --- tables wider than the window

function measure() {
  for (const hint of document.querySelectorAll(".more")) {
    const wide = hint.nextElementSibling;
    hint.classList.toggle("needed", wide.scrollWidth > wide.clientWidth);
  }
}

addEventListener("resize", measure);
measure();

// --- the panel

function follow() {
  document.querySelector("details:has(:target)")?.setAttribute("open", "");
  const open = panel();
  document.querySelector(".chosen")?.classList.remove("chosen");
  if (!open) {
    if (/^#c\d+$/.test(location.hash)) document.querySelector(`${location.hash} > a`)?.focus({ preventScroll: true });
    return;
  }
  if (!open.contains(document.activeElement)) open.focus({ preventScroll: true });
  number(open)?.classList.add("chosen");
  // The number is not to lie behind its panel.
  const hidden = (number(open)?.getBoundingClientRect().bottom ?? 0) - open.getBoundingClientRect().top;
  if (hidden > 0) scrollBy(0, hidden + 24);
}

function step(open, by) {
  const links = [...document.querySelectorAll(".target table.numbers td:not(.out) > a")].filter((link) => link.offsetParent);
  const next = links[links.indexOf(number(open)) + by];
  if (next) location.replace(next.hash);
}

addEventListener("hashchange", follow);
addEventListener("keydown", (event) => {
  const open = panel();
  if (!open || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (event.target.matches("select, pre")) return;
  if (event.key === "Escape") location.replace(open.querySelector(".close").hash);
  else if (event.key === "ArrowRight") step(open, 1);
  else if (event.key === "ArrowLeft") step(open, -1);
});
follow();
