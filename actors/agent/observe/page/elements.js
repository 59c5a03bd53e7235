// Makes elements, and words for figures. Text is always set as text: what pods are called is not ours.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

export const element = (tag, attributes = {}, ...children) =>
  fill(document.createElement(tag), attributes, children);

export const drawn = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

// Attributes of what is no button and acts like one: by a click, Enter or Space.
export const pressable = (act) => ({ tabindex: 0, onclick: act, onkeydown: (event) => {
  if (event.key !== "Enter" && event.key !== " ") return;
  event.preventDefault();
  act();
} });

export function duration(seconds) {
  if (seconds < 1) return `${Math.round(seconds * 1000)}ms`;
  if (seconds < 10) return `${seconds.toFixed(1)}s`;
  const units = [["d", 86400], ["h", 3600], ["m", 60], ["s", 1]];
  const at = units.findIndex(([, length]) => seconds >= length);
  const [unit, length] = units[at];
  const next = units[at + 1];
  const rest = next ? Math.floor((seconds % length) / next[1]) : 0;
  return `${Math.floor(seconds / length)}${unit}${rest ? rest + next[0] : ""}`;
}

export const size = (bytes) => (bytes ? `${(bytes / 1048576).toFixed(1)} MiB` : "-");

// A table; `columns`: [title, "number", "word" (never broken), "text" or ""], `rows`: [cells, attributes of the row], `attributes`: of the table.
export function table(columns, rows, attributes = {}) {
  const head = element("tr", {}, ...columns.map(([title, kind]) => element("th", { class: kind || null, scope: "col" }, title)));
  const body = rows.map(([cells, attributes]) =>
    element("tr", attributes, ...cells.map((cell, at) => element("td", { class: columns[at][1] || null }, cell))));
  return element("div", { class: "scroll" },
    element("table", attributes, element("thead", {}, head), element("tbody", {}, ...body)));
}
