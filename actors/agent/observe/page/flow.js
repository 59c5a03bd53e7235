// Who sends what to whom: senders on the left, receivers on the right, a line for each pair.

import { drawn, element, pressable, table } from "./elements.js";

const ROW = 20, LEFT = 210, RIGHT = 240, WIDTH = 900, TOP = 22;

const words = (rate) => (rate === 0 ? "0" : rate < 0.1 ? "< 0.1" : rate.toFixed(1));

// One for each pair of actors, with the sum over the types.
function pairs(edges) {
  const found = new Map();
  for (const edge of edges) {
    const key = `${edge.sender} ${edge.receiver}`;
    const pair = found.get(key) || { sender: edge.sender, receiver: edge.receiver, count: 0, rate: 0, types: [] };
    found.set(key, { ...pair, count: pair.count + edge.count, rate: pair.rate + edge.rate, types: [...pair.types, edge] });
  }
  return [...found.values()];
}

// The names in the order of the tree, those of no actor behind.
function ordered(names, actors) {
  const place = (name) => (actors.includes(name) ? actors.indexOf(name) : actors.length);
  return [...new Set(names)].sort((one, other) => place(one) - place(other) || one.localeCompare(other));
}

function label(name, x, y, anchor, picked, pick) {
  return drawn("text", { x, y: y + 4, "text-anchor": anchor, class: name === picked ? "end picked" : "end", "data-end": name,
    "data-side": anchor, role: "button", "aria-pressed": String(name === picked), ...pressable(() => pick(name)) }, name);
}

function line(pair, from, to, picked) {
  const x1 = LEFT, x2 = WIDTH - RIGHT, middle = (x1 + x2) / 2;
  const concerned = !picked || pair.sender === picked || pair.receiver === picked;
  const state = !concerned ? "aside" : pair.rate > 0 ? "flows" : "rests";
  const about = pair.types.map((each) => `${each.message}: ${each.count}, ${words(each.rate)}/s`).join("\n");
  return drawn("path", { class: `edge ${state}`, d: `M${x1 + 6},${from} C${middle},${from} ${middle},${to} ${x2 - 6},${to}`,
    "stroke-width": (1 + Math.min(6, 2 * Math.log10(1 + 60 * pair.rate))).toFixed(1), "data-edge": `${pair.sender} ${pair.receiver}` },
    drawn("title", {}, `${pair.sender} to ${pair.receiver}\n${about}`));
}

function picture(found, actors, picked, pick) {
  const senders = ordered(found.map((pair) => pair.sender), actors);
  const receivers = ordered(found.map((pair) => pair.receiver), actors);
  const height = TOP + ROW * Math.max(senders.length, receivers.length) + 4;
  const y = (names, name) => TOP + names.indexOf(name) * ROW + ROW / 2;
  const order = { aside: 0, rests: 1, flows: 2 };
  const lines = found.map((pair) => line(pair, y(senders, pair.sender), y(receivers, pair.receiver), picked))
    .sort((one, other) => order[one.classList[1]] - order[other.classList[1]]);
  return element("div", { class: "scroll" },
    drawn("svg", { width: WIDTH, height, viewBox: `0 0 ${WIDTH} ${height}`, role: "group", "aria-label": "messages between actors" },
      drawn("text", { x: LEFT, y: 12, "text-anchor": "end" }, "sends"),
      drawn("text", { x: WIDTH - RIGHT, y: 12 }, "is sent"),
      ...lines,
      ...senders.map((name) => label(name, LEFT, y(senders, name), "end", picked, pick)),
      ...receivers.map((name) => label(name, WIDTH - RIGHT, y(receivers, name), "start", picked, pick))));
}

const COLUMNS = [["From", ""], ["To", ""], ["Message", ""], ["Count", "number"], ["A second", "number"]];

// `data`: edges, each of one type, and the names of the tree; `picked`: the actor whose messages alone are listed, or "".
export function flowView(data, picked, pick) {
  const notes = data.problems.map((text) => element("p", { class: "degraded" }, text));
  if (!data.edges.length) return [...notes, element("p", { class: "quiet" }, "No messages yet.")];
  const shown = data.edges.filter((edge) => !picked || edge.sender === picked || edge.receiver === picked)
    .sort((one, other) => other.rate - one.rate || other.count - one.count);
  const rows = shown.map((edge) => [
    [edge.sender, edge.receiver, edge.message, String(edge.count), words(edge.rate)], { class: edge.rate > 0 ? null : "quiet" }]);
  const about = "A blue line carried messages in the last ten seconds, a thick one more; grey ones did before. Counts are since the "
    + "receiver's start, answers and orders to the fork server are not counted. A name shows its messages alone.";
  return [...notes, element("p", { class: "quiet" }, about), picture(pairs(data.edges), data.actors, picked, pick),
    element("h2", {}, picked ? `Messages of ${picked}` : "All messages"), table(COLUMNS, rows)];
}
