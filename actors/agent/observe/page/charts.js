// Curves of the last minutes, and the incidents on a line of time.

import { drawn, element, pressable } from "./elements.js";

function points(values, width, height, top) {
  const step = values.length > 1 ? width / (values.length - 1) : 0;
  return values.map((value, at) => `${(at * step).toFixed(1)},${(height - 1 - (value / top) * (height - 2)).toFixed(1)}`);
}

// The values as a curve; the scale goes from zero to the largest.
export function curve(values, width = 90, height = 20) {
  const shown = values.length > 1 ? values : [...values, ...values];
  const line = points(shown, width, height, Math.max(...shown, 1e-9)).join(" ");
  return drawn("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
    drawn("polygon", { class: "area", points: `0,${height} ${line} ${width},${height}` }),
    drawn("polyline", { class: "curve", points: line }));
}

// A curve with its name, its newest value and its largest.
export function chart(title, values, words) {
  const newest = values.length ? words(values[values.length - 1]) : "-";
  const largest = values.length ? words(Math.max(...values)) : "-";
  const picture = curve(values, 300, 60);
  picture.setAttribute("preserveAspectRatio", "none");
  picture.setAttribute("width", "100%");
  return element("figure", {},
    element("figcaption", {}, element("span", {}, `${title}: ${newest}`), element("span", {}, `max ${largest}`)), picture);
}

// Two actors may have ended in the same millisecond.
export const incidentId = (one) => `incident-${one.time}-${one.actor}-${one.incarnation}`;

// A dot for each incident, in a row for each actor, over the time that they span.
export function timeline(incidents, now, pick) {
  const names = [...new Set(incidents.map((each) => each.actor))].sort();
  const times = incidents.map((each) => Date.parse(each.time));
  const from = Math.min(...times), span = Math.max(now - from, 60000);
  const left = 200, width = 900, row = 18, height = names.length * row + 22;
  const at = (time) => left + ((time - from) / span) * (width - left - 12);
  const rows = names.map((name, index) => drawn("g", {},
    drawn("text", { x: 0, y: index * row + 13 }, name),
    drawn("line", { class: "axis", x1: left, x2: width, y1: index * row + 9, y2: index * row + 9 })));
  const dots = incidents.map((each, index) => drawn("circle",
    { class: "fault", r: 5, cx: at(times[index]), cy: names.indexOf(each.actor) * row + 9, role: "button",
      "data-dot": incidentId(each), ...pressable(() => pick(index)) },
    drawn("title", {}, `${each.time} ${each.actor}: ${each.summary}`)));
  const ends = [[left, "start", new Date(from)], [width, "end", new Date(from + span)]].map(([x, anchor, when]) =>
    drawn("text", { x, y: height - 4, "text-anchor": anchor }, when.toISOString().slice(0, 19).replace("T", " ") + " UTC"));
  return element("div", { class: "scroll" },
    drawn("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "incidents over time" },
      ...rows, ...dots, ...ends));
}
