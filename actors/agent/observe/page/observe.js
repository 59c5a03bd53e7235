// Asks the server for what the shown tab needs, and not at all while nobody looks: the tree each second, as the fork
// server answers it; what actors must answer less often, and apart, as one of them may hang.

import { duration, element, size } from "./elements.js";
import { flowView } from "./flow.js";
import { incidentsView, matching, rowsView, treeView } from "./views.js";

const SECONDS = 1, KEPT = 120;
const EVERY = { tree: 1, incidents: 1, health: 5, messages: 2, pods: 2, events: 2 };  // seconds
const TABS = { tree: "Tree", messages: "Messages", incidents: "Incidents", pods: "Pods", events: "Events" };
const byId = (id) => document.getElementById(id);

class History {
  constructor() { this.actors = new Map(); }

  of(name) {
    if (!this.actors.has(name)) this.actors.set(name, { cpu: [], messages: [], memory: [], mailbox: [] });
    return this.actors.get(name);
  }

  add(data) {
    for (const actor of data.tree.actors) {
      const past = this.of(actor.name), rate = data.rates[actor.name];
      const now = { cpu: rate.cpu, messages: rate.messages, memory: actor.memory_bytes, mailbox: actor.mailbox };
      for (const [name, value] of Object.entries(now)) {
        past[name].push(value);
        if (past[name].length > KEPT) past[name].shift();
      }
    }
  }
}

const history = new History();
const seen = { tree: null, messages: null, incidents: [], pods: null, events: null, health: null };
const asked = {}, failed = {};  // by name: when it was asked last (Infinity: it is being asked), why it did not answer
let tab = "tree", drawn = "", picked = "", notice = "";
let held = false;  // a button of the pointer: what is under it stays until it is let go, or the click would be lost

// The link leads here with the session's key as fragment. It is kept for this origin: other ports get the cookie, too.
if (location.hash) {
  localStorage.setItem("key", location.hash.slice(1));
  window.history.replaceState(null, "", "/");
}
const headers = { "X-Observe-Key": localStorage.getItem("key") || "" };

async function get(name) {
  const answer = await fetch(`/data/${name}`, { headers });
  if (answer.status === 403) throw new Error("the session is over: start `supervise observe` again, and open its new link");
  if (answer.status !== 503 && !answer.ok) throw new Error(`${name}: ${await answer.text()}`);
  const data = await answer.json();
  if (data.error) throw new Error(data.error);
  return data;
}

async function inject(actor, fault, about) {
  if (!confirm(`Inject ${fault} into ${actor}?\n\n${about}`)) return;
  const answer = await fetch("/inject", { method: "POST", headers: { ...headers, "Content-Type": "application/json" },
    body: JSON.stringify({ name: actor, fault }) });
  const data = await answer.json().catch(() => ({ error: `${answer.status}` }));
  notice = data.done || `not done: ${data.error}`;
  draw();
}

function pick(name) {
  picked = picked === name ? "" : name;
  draw();
  byId("actor")?.scrollIntoView({ block: "nearest" });
}

function content() {
  if (tab === "tree") return seen.tree ? treeView(seen.tree, history, picked, pick, seen.incidents, inject) : [];
  if (tab === "messages") return seen.messages ? flowView(seen.messages, picked, pick) : [];
  if (tab === "incidents") return incidentsView(seen.incidents);
  const text = byId("filter").value;
  if (tab === "pods") return seen.pods ? rowsView(seen.pods, "No pods on this node.", text) : [];
  return seen.events ? rowsView({ ...seen.events, rows: seen.events.rows.slice().reverse() }, "No events yet.", text) : [];
}

// The field for a text, where there are rows, and how many have it.
function search() {
  const rows = (tab === "pods" || tab === "events") && seen[tab] ? seen[tab].rows : [];
  const found = matching(rows, byId("filter").value).length;
  const count = found === rows.length ? `${found}` : `${found} of ${rows.length}`;
  byId("search").hidden = !rows.length;
  if (byId("count").textContent !== count) byId("count").textContent = count;
}

// A selector that finds an element that can have the focus again; "" for another one.
function place(node) {
  const names = ["actor", "end", "side", "fault", "dot"].filter((name) => node?.dataset?.[name]);
  const found = names.map((name) => `[data-${name}="${CSS.escape(node.dataset[name])}"]`).join("");
  const summary = node?.closest?.("summary")?.parentElement.id;
  return summary ? `#${CSS.escape(summary)} > summary` : found;
}

// What scrolls by itself, by its name: the text of an incident, and the others in their order.
function scrollers(view) {
  const texts = [...view.querySelectorAll("pre")].map((each) => [each.parentElement.id, each]);
  return new Map([...texts, ...view.querySelectorAll(".scroll").entries()]);
}

// Draw the tab again; what is open, what has the focus, and how far things are scrolled, stays so.
function draw() {
  const view = byId("view"), again = drawn === tab;
  const open = new Set([...view.querySelectorAll("details[open]")].map((each) => each.id));
  const focused = view.contains(document.activeElement) ? place(document.activeElement) : "";
  const scrolled = [...(again ? scrollers(view) : [])].map(([name, each]) => [name, each.scrollLeft, each.scrollTop]);
  view.replaceChildren(...content().filter(Boolean));
  search();
  for (const each of view.querySelectorAll("details")) if (open.has(each.id)) each.open = true;
  if (focused) view.querySelector(focused)?.focus({ preventScroll: true });
  const now = scrollers(view);
  for (const [name, left, top] of scrolled) now.get(name)?.scrollTo(left, top);
  if (byId("notice").textContent !== notice) byId("notice").textContent = notice;
  for (const each of byId("tabs").children) each.setAttribute("aria-selected", String(each.dataset.tab === tab));
  drawn = tab;
}

function headline() {
  const data = seen.tree, health = seen.health;
  byId("view").classList.toggle("old", Boolean(failed.tree));
  if (failed.tree) {
    byId("figures").textContent = "";
    return say("down", [{ text: failed.tree }]);
  }
  if (!data) return;
  const actors = data.tree.actors, running = actors.filter((actor) => actor.state === "running").length;
  const memory = actors.reduce((sum, actor) => sum + actor.memory_bytes, 0);
  byId("figures").textContent =
    `${running} of ${actors.length} actors in service, ${size(memory)} in all, fork server pid ${data.tree.pid}, up ${duration(data.tree.uptime)}`;
  const others = Object.entries(failed).filter(([name, error]) => error && (name === tab || name === "health"));
  const reasons = [...(health ? health.reasons : []), ...others.map(([, error]) => ({ text: error }))];
  say(health ? health.state : data.tree.state, reasons);
}

function say(state, reasons) {
  byId("state").className = `badge ${state}`;
  if (byId("state").textContent !== state) byId("state").textContent = state;
  document.title = `${state} - Troupelet`;
  byId("reasons").replaceChildren(...reasons.map(({ text, remedy }) =>
    element("li", {}, text, remedy ? element("div", { class: "quiet" }, `→ ${remedy}`) : null)));
}

// Do not redraw text while it is selected, nor what is being clicked.
const touched = () => held || String(document.getSelection()) !== "";

async function ask(name) {
  asked[name] = Infinity;
  try {
    seen[name] = await get(name);
    failed[name] = "";
    if (name === "tree") history.add(seen.tree);
  } catch (error) {
    failed[name] = error instanceof TypeError ? "`supervise observe` has ended, or the tunnel to it" : error.message;
  }
  asked[name] = Date.now();
  headline();
  if (!touched()) draw();
}

// Ask for all that is due; `all`: for what the tab needs, due or not.
function refresh(all = false) {
  const wanted = new Set(["health", "tree", tab === "tree" ? "incidents" : tab]);
  for (const name of wanted) {
    const since = Date.now() - (asked[name] ?? 0);
    if (since >= 0 && (all || since > EVERY[name] * 1000 - 100)) ask(name);
  }
}

function run() {
  if (!document.hidden) refresh();
  setTimeout(run, SECONDS * 1000);
}

// Left and right: the next tab. Up and down: the next actor or incident, as Tab would.
function move(event) {
  if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest("input, select")) return;
  const along = { ArrowLeft: -1, ArrowRight: 1 }[event.key], across = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (along) {
    const names = Object.keys(TABS);
    show(names[(names.indexOf(tab) + along + names.length) % names.length]);
    byId("tabs").querySelector(`[data-tab=${tab}]`).focus();
  } else if (across) {
    const stops = [...byId("view").querySelectorAll("tr[tabindex], summary, [data-end]")], at = stops.indexOf(document.activeElement);
    const next = stops[at < 0 ? 0 : at + across];
    if (!next) return;
    next.focus();
  } else return;
  event.preventDefault();
}

function show(name) {
  tab = name;
  notice = "";
  draw();
  refresh(true);
}

document.addEventListener("keydown", move);
byId("filter").addEventListener("input", draw);
document.addEventListener("pointerdown", () => { held = true; });
for (const name of ["pointerup", "pointercancel"]) {
  document.addEventListener(name, () => setTimeout(() => { held = false; }, 0));  // after the click
}
// A scrollbar does not say when it is let go.
document.addEventListener("pointermove", (event) => { held &&= event.buttons !== 0; });
window.addEventListener("blur", () => { held = false; });
for (const [name, title] of Object.entries(TABS)) {
  byId("tabs").append(element("button", { type: "button", role: "tab", "data-tab": name, "aria-controls": "view",
    onclick: () => show(name) }, title));
}
run();
