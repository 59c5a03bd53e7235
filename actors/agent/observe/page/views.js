// One function for each tab: what the server said, as elements.

import { chart, curve, incidentId, timeline } from "./charts.js";
import { duration, element, pressable, size, table } from "./elements.js";

const shortName = (message) => message.split(".").pop();

// The actors, parents before their children, with the branches that lead to them.
function branches(actors, parent = "fork_server", indent = "") {
  const own = actors.filter((actor) => actor.parent === parent);
  return own.flatMap((actor, index) => {
    const last = index === own.length - 1, top = parent === "fork_server";
    const name = actor.name.startsWith(parent + "/") ? actor.name.slice(parent.length + 1) : actor.name;
    const below = top ? indent : indent + (last ? "   " : "│  ");
    return [[indent + (top ? "" : last ? "└─ " : "├─ ") + name, actor], ...branches(actors, actor.name, below)];
  });
}

const COLUMNS = [["Actor", ""], ["State", ""], ["CPU", "number"], ["", ""], ["Messages/s", "number"], ["", ""],
  ["Memory", "number"], ["Queue in", "number"], ["Queue out", "number"], ["Uptime", "number"], ["Restarts", "number"],
  ["Handles now", ""]];

// The tree; `history`: figures of each actor, `picked`: the name that is shown below, `pick`: called with a name.
export function treeView(data, history, picked, pick, incidents, inject) {
  const rows = branches(data.tree.actors).map(([drawnName, actor]) => {
    const past = history.of(actor.name), rate = data.rates[actor.name];
    const busy = [actor.message ? `${shortName(actor.message)} ${duration(actor.busy_seconds)}` : "",
      ...actor.injected.map((each) => `${each.fault} injected`)].filter(Boolean).join(", ");
    const cells = [
      element("span", { class: `name ${actor.kind}` }, drawnName),
      element("span", { class: actor.state }, actor.state),
      `${rate.cpu.toFixed(1)} %`, curve(past.cpu), rate.messages.toFixed(1), curve(past.messages),
      size(actor.memory_bytes), String(actor.mailbox), String(actor.outgoing),
      actor.pid ? duration(actor.uptime) : "-", String(actor.restarts), busy];
    return [cells, { class: "pick", "data-actor": actor.name, "aria-selected": String(actor.name === picked),
      ...pressable(() => pick(actor.name)) }];
  });
  const actor = data.tree.actors.find((each) => each.name === picked);
  return [table(COLUMNS, rows, { role: "grid", "aria-label": "actors" }), actor ? actorPanel(actor, history, data.faults, incidents, inject) : null];
}

function actorPanel(actor, history, faults, incidents, inject) {
  const past = history.of(actor.name);
  const facts = [["class", actor.actor], ["supervisor", actor.parent], ["pid", actor.pid || "-"],
    ["incarnation", actor.incarnation], ["last heartbeat", actor.pid ? `${duration(actor.heartbeat_age)} ago` : "-"],
    ["messages handled", actor.handled], ["dropped", actor.dropped], ["dead letters", actor.dead_letters],
    ["coroutines", actor.tasks], ["last incident", actor.last_incident || "none"]];
  const mine = incidents.filter((each) => each.actor === actor.name).slice(-5).reverse();
  return element("section", { class: "panel", id: "actor", "aria-label": actor.name },
    element("h2", {}, actor.name),
    element("div", { class: "charts" },
      chart("CPU", past.cpu, (value) => `${value.toFixed(1)} %`),
      chart("Messages/s", past.messages, (value) => value.toFixed(1)),
      chart("Memory", past.memory, size),
      chart("Queue in", past.mailbox, String)),
    element("dl", {}, ...facts.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, String(value))])),
    Object.keys(faults).length && actor.pid ? faultButtons(actor, faults, inject) : null,
    ...mine.map(incidentDetails));
}

function faultButtons(actor, faults, inject) {
  const program = actor.kind === "program";
  const usable = Object.entries(faults).filter(([fault]) => !program || fault === "crash" || fault === "stop");
  return element("div", {}, element("h2", {}, "Inject a fault"),
    element("div", { class: "faults" }, ...usable.map(([fault, about]) =>
      element("button", { type: "button", title: about, "data-fault": fault, onclick: () => inject(actor.name, fault, about) }, fault))));
}

function incidentDetails(each) {
  const back = each.restart === null ? "not back yet" : `back after ${duration(each.restart)}`;
  return element("details", { id: incidentId(each) },
    element("summary", {}, `${each.time}  ${each.actor}#${each.incarnation}  ${each.summary}  (${back})`),
    each.message ? element("p", { class: "quiet" }, `handled ${each.message}, up ${duration(each.uptime)}`) : null,
    each.detail ? element("pre", {}, each.detail) : element("p", { class: "quiet" }, "no traceback or stacks: it had no time to leave any"));
}

// The record of faults, newest first, under a line of time.
export function incidentsView(incidents) {
  if (!incidents.length) return [element("p", { class: "quiet" }, "No incidents: nothing has failed yet.")];
  const list = incidents.map(incidentDetails);
  const open = (index) => {
    list[index].open = true;
    list[index].scrollIntoView({ block: "center" });
    list[index].querySelector("summary").focus();
  };
  return [timeline(incidents, Date.now(), open), ...list.slice().reverse()];
}

// The rows that have the text, in any case of letters.
export const matching = (rows, text) =>
  rows.filter((row) => row.join("  ").toLowerCase().includes(text.trim().toLowerCase()));

const WELL = ["Running", "Completed", "Succeeded"];

// A pod's status, and the type of an event that is a warning, are seen among many rows. So is a pod that runs and is
// not ready.
function coloured(cell, header, row) {
  if (header === "READY") return row.includes("Running") && !isWhole(cell) ? element("span", { class: "degraded" }, cell) : cell;
  if (header === "STATUS") return element("span", { class: WELL.includes(cell) ? "running" : "degraded" }, cell);
  return header === "TYPE" && cell === "Warning" ? element("span", { class: "degraded" }, cell) : cell;
}

// Whether all of them are: "2/2".
const isWhole = (cell) => cell.split("/")[0] === cell.split("/")[1];

// Rows as the command of the same name shows them, with remarks above; `text`: only those that have it.
export function rowsView(data, empty, text) {
  const columns = data.header.map((title) => [title, title === "MESSAGE" ? "text" : "word"]);
  const notes = [...(data.problems || []), ...(data.refused || []).map((text) => `refused: ${text}`)];
  return [...notes.map((text) => element("p", { class: "degraded" }, text)),
    data.rows.length ? table(columns, matching(data.rows, text).map((row) => [row.map((cell, at) => coloured(cell, data.header[at], row)), {}]))
      : element("p", { class: "quiet" }, empty)];
}
