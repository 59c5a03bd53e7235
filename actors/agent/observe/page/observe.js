// Asks the server each second for what the shown tab needs, and not at all while nobody looks.

import { duration, element, size } from "./elements.js";
import { incidentsView, rowsView, treeView } from "./views.js";

const SECONDS = 1, KEPT = 120;
const TABS = { tree: "Tree", incidents: "Incidents", pods: "Pods", events: "Events" };
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
const seen = { tree: null, incidents: [], pods: null, events: null };
let tab = "tree", picked = "", notice = "";

async function get(name) {
  const answer = await fetch(`/data/${name}`);
  if (answer.status === 403) throw new Error("the session is over: start `supervise observe` again, and open its new link");
  if (answer.status !== 503 && !answer.ok) throw new Error(`${name}: ${await answer.text()}`);
  const data = await answer.json();
  if (data.error) throw new Error(data.error);
  return data;
}

async function inject(actor, fault, about) {
  if (!confirm(`Inject ${fault} into ${actor}?\n\n${about}`)) return;
  const answer = await fetch("/inject", { method: "POST", headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ name: actor, fault }) });
  const data = await answer.json().catch(() => ({ error: `${answer.status}` }));
  notice = data.done || `not done: ${data.error}`;
  draw();
}

function pick(name) {
  picked = picked === name ? "" : name;
  draw();
}

function content() {
  if (tab === "tree") return seen.tree ? treeView(seen.tree, history, picked, pick, seen.incidents, inject) : [];
  if (tab === "incidents") return incidentsView(seen.incidents);
  if (tab === "pods") return seen.pods ? rowsView(seen.pods, "No pods on this node.") : [];
  return seen.events ? rowsView({ ...seen.events, rows: seen.events.rows.slice().reverse() }, "No events yet.") : [];
}

// Draw the tab anew; what is open, and what has the focus, stays so.
function draw() {
  const view = byId("view");
  const open = new Set([...view.querySelectorAll("details[open]")].map((each) => each.id));
  const focused = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.actor : null;
  view.replaceChildren(element("p", { class: "notice", "aria-live": "polite" }, notice), ...content().filter(Boolean));
  for (const each of view.querySelectorAll("details")) if (open.has(each.id)) each.open = true;
  if (focused) view.querySelector(`[data-actor="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  for (const each of byId("tabs").children) each.setAttribute("aria-selected", String(each.dataset.tab === tab));
}

function headline(data, health) {
  const actors = data.tree.actors, running = actors.filter((actor) => actor.state === "running").length;
  const memory = actors.reduce((sum, actor) => sum + actor.memory_bytes, 0);
  byId("figures").textContent =
    `${running} of ${actors.length} actors in service, ${size(memory)} in all, fork server pid ${data.tree.pid}, up ${duration(data.tree.uptime)}`;
  say(health.state, health.reasons);
}

function say(state, reasons) {
  byId("state").className = `badge ${state}`;
  byId("state").textContent = state;
  byId("reasons").replaceChildren(...reasons.map((text) => element("li", {}, text)));
}

// Text that is being selected is not to be drawn anew under the pointer.
const selecting = () => String(document.getSelection()) !== "";

async function refresh() {
  try {
    const wanted = tab === "tree" ? ["tree", "incidents"] : ["tree", tab];
    const [health, ...answers] = await Promise.all([get("health"), ...wanted.map(get)]);
    wanted.forEach((name, index) => { seen[name] = answers[index]; });
    history.add(seen.tree);
    headline(seen.tree, health);
    if (!selecting()) draw();
  } catch (error) {
    say("down", [error instanceof TypeError ? "`supervise observe` has ended, or the tunnel to it" : error.message]);
  }
}

async function run() {
  if (!document.hidden) await refresh();
  setTimeout(run, SECONDS * 1000);
}

for (const [name, title] of Object.entries(TABS)) {
  byId("tabs").append(element("button", { type: "button", role: "tab", "data-tab": name,
    onclick: () => { tab = name; notice = ""; draw(); refresh(); } }, title));
}
run();
