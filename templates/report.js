"use strict";
// What the page cannot do by itself: filters, and keys in the panel that shows where a number comes from.
// Opening and closing that panel are plain links.

const panel = () => document.querySelector(".source:target");
const number = (open) => document.querySelector(`${open.querySelector(".close").hash} > a`);

// --- filters

const filters = document.getElementById("filters");
const [target, operation, status] = ["target", "operation", "status"].map((name) => document.getElementById(`f-${name}`));
const titles = operation ? [...operation.options].slice(1).map((option) => option.value) : [];
const chosen = (select) => (select ? select.value : "");

function fits(cell, column) {
  return (!chosen(status) || cell.classList.contains(chosen(status))) &&
    (!chosen(operation) || column === titles.indexOf(chosen(operation)));
}

// A line of a table is shown with its number, a heading with any line below it.
function filterTable(table) {
  const column = titles.indexOf(chosen(operation));
  const needed = [false, false, false];
  let shown = 0;
  for (const row of [...table.rows].reverse()) {
    const level = Number(row.dataset.level ?? -1);
    let any = false;
    for (const cell of row.cells) {
      const place = cell.cellIndex - 1;
      if (level !== 0 && place >= 0 && place < titles.length) cell.hidden = column >= 0 && place !== column;
      if (!cell.id) continue;
      const fit = fits(cell, place);
      cell.classList.toggle("out", !fit);
      shown += fit;
      any ||= fit;
    }
    if (level < 0) continue;
    row.hidden = !(any || needed[level]);
    needed.fill(false, level);
    if (!row.hidden) needed.fill(true, 0, level);
  }
  return shown;
}

function filter() {
  const active = [target, operation, status].filter((select) => chosen(select));
  let shown = 0;
  for (const section of document.querySelectorAll(".target")) {
    section.hidden = Boolean(chosen(target)) && section.dataset.target !== chosen(target);
    const own = filterTable(section.querySelector("table.numbers"));
    if (!section.hidden) shown += own;
  }
  const overview = document.getElementById("overview"); // of all targets and all results
  if (overview) overview.parentElement.hidden = active.length > 0;
  for (const row of document.querySelectorAll("#origins tr[data-target]")) {
    row.hidden = (Boolean(chosen(target)) && row.dataset.target !== chosen(target)) ||
      (Boolean(chosen(operation)) && row.dataset.operation !== chosen(operation)) ||
      (Boolean(chosen(status)) && row.dataset.status !== chosen(status));
  }
  const words = active.map((select) => `${select.id.slice(2)} ${select.value}`).join(", ");
  const all = document.querySelectorAll("td[id]").length;
  document.getElementById("f-count").textContent = active.length ? `${shown} of ${all} results shown: ${words}` : "";
  document.getElementById("f-all").hidden = !active.length;
  filters.classList.toggle("active", active.length > 0);
}

for (const select of filters.querySelectorAll("select")) {
  select.value = "";
  select.addEventListener("change", filter);
}
document.getElementById("f-all").addEventListener("click", () => {
  for (const select of filters.querySelectorAll("select")) select.value = "";
  filter();
  filters.querySelector("select")?.focus();
});
filters.hidden = false;

// --- the panel

function follow() {
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
