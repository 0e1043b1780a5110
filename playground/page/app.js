// The playground's page: what is where, who one is, and what changes.

import { Refused, call, follow } from "./api.js";
import { Composer } from "./composer.js";
import { avatar, element } from "./dom.js";
import { FormDialog } from "./form.js";
import { continues, messageItem } from "./message.js";

const $ = (id) => document.getElementById(id);
const PAGE = 100;
const NEAR_END_PX = 80;
const POLL = 0.3; // seconds
const TRIES = ["roll 2d6", "tell me a story", "what can you do?"];

const app = {
  state: { members: [], channels: [], commands: [], bot: { name: "Everturn", online: true } },
  me: null,
  channel: null,
  messages: new Map(), // of the open channel, by id
  ephemeral: new Map(), // by id: {message, member}
  dismissed: new Set(),
  unread: new Set(),
  typing: new Map(), // channel id -> [{user, until}]
  complete: false, // the first message of the channel is loaded

  post(content, replyTo) {
    return call("POST", "/messages", {
      channel: app.channel.id, member: app.me.id, content, reply_to: replyTo ?? null,
    });
  },

  // The answer itself arrives as a change; this only learns when there is none.
  async command(name, options) {
    const where = { channel: app.channel.id, member: app.me.id };
    await noAnswer(call("POST", "/commands", { ...where, name, options, wait: 4 }), `/${name}`);
  },

  // [{name, value}] that the bot offers for the option being typed.
  async completions(name, options, focused) {
    const where = { channel: app.channel.id, member: app.me.id };
    const answer = await call("POST", "/autocomplete", { ...where, name, options, focused, wait: 3 });
    return answer.choices ?? [];
  },
};
const composer = new Composer(app);
const form = new FormDialog(sendForm);

async function noAnswer(request, what) {
  mustBeOnline();
  const slow = new Promise((resolve) => setTimeout(resolve, 400, null));
  const settle = request.then((answer) => {
    if (answer.status === "unanswered") composer.complain(`${what}: the bot did not respond in time`);
    if (answer.form) form.open(answer);
  });
  await Promise.race([settle, slow]);
  settle.catch((error) => composer.complain(error.message));
}

// Done as soon as the bot has taken it in, whenever its answer comes.
async function sendForm(interaction, values) {
  mustBeOnline();
  let answer = await call("POST", "/forms", { interaction, member: app.me.id, values, wait: POLL });
  while (answer.status === "waiting") {
    answer = await call("GET", `/interactions/${answer.id}?wait=${POLL}`);
  }
  if (answer.status === "unanswered") throw new Refused("The bot did not respond in time: try again.");
}

function mustBeOnline() {
  if (!app.state.bot.online) throw new Refused("the bot is offline");
}

// remembering

const remember = (key, value) => { try { localStorage.setItem(key, value); } catch { /* private */ } };
const recall = (key) => { try { return localStorage.getItem(key); } catch { return null; } };

// who and where

function readState(state) {
  app.state = state;
  app.me = state.members.find((m) => m.id === (app.me?.id ?? recall("member"))) ?? state.members[0];
  $("guild").textContent = state.guild.name;
  $("presence").textContent = state.bot.online ? `${state.bot.name} is online` : `${state.bot.name} is offline`;
  $("presence").classList.toggle("online", state.bot.online);
  $("offline").hidden = state.bot.online;
  $("offline").textContent =
    "The bot is offline: messages sent now are not seen until it is back, and may be missed.";
  $("temporal").hidden = !state.temporal_ui;
  if (state.temporal_ui) $("temporal").href = state.temporal_ui;
  for (const [channel, typing] of Object.entries(state.typing)) app.typing.set(channel, typing);
  drawMembers();
  drawChannels();
}

function drawMembers() {
  const labels = app.state.members.map((member) => element(
    "label", {},
    element("input", {
      type: "radio", name: "member", value: member.id, checked: member.id === app.me.id,
      onchange: () => become(member),
    }),
    element("span", {}, avatar(member), member.name),
  ));
  const focused = document.activeElement?.name === "member";
  $("members").replaceChildren($("members").querySelector("legend"), ...labels);
  if (focused) $("members").querySelector("input:checked").focus();
}

function become(member) {
  app.me = member;
  remember("member", member.id);
  drawChannels();
  if (app.channel?.kind === "dm" && app.channel.member !== member.id) {
    open(app.state.channels.find((c) => c.kind === "dm" && c.member === member.id));
  } else {
    open(app.channel, { keep: true });
  }
}

const label = (channel) => (channel.kind === "dm" ? app.state.bot.name : channel.name);
const sign = (channel) => ({ text: "#", thread: "↳", dm: "@" })[channel.kind];

function visible() {
  return app.state.channels.filter((c) => c.kind !== "dm" || c.member === app.me.id);
}

function drawChannels() {
  const all = visible();
  const item = (channel) => element(
    "button",
    {
      type: "button",
      class: `channel ${channel.kind} ${app.unread.has(channel.id) ? "unread" : ""}`,
      "aria-current": channel.id === app.channel?.id ? "page" : null,
      onclick: () => { open(channel); composer.box.focus(); },
    },
    element("span", { class: "sign", "aria-hidden": "true" }, sign(channel)),
    element("span", { class: "name" }, label(channel)),
    channel.bot_may_write ? null : element("span", { title: "The bot may not write here", "aria-label": "the bot may not write here" }, "⊘"),
  );
  const texts = all.filter((c) => c.kind === "text").sort((a, b) => a.position - b.position);
  const threads = (parent) => all.filter((c) => c.kind === "thread" && c.parent === parent.id && !c.archived);
  const focused = document.activeElement?.classList.contains("channel");
  $("channels").replaceChildren(
    element("h3", {}, "Channels"),
    ...texts.flatMap((channel) => [item(channel), ...threads(channel).map(item)]),
    element("h3", {}, "Direct messages"),
    ...all.filter((c) => c.kind === "dm").map(item),
  );
  if (focused) $("channels").querySelector("[aria-current]")?.focus();
}

function fromAddress() {
  const wanted = decodeURIComponent(location.hash.slice(1)) || recall("channel");
  const all = visible();
  return all.find((c) => c.id === wanted || c.name === wanted) ?? all.find((c) => c.kind === "text");
}

const narrow = matchMedia("(max-width: 720px)"); // as in style.css
narrow.addEventListener("change", () => { composer.box.placeholder = placeholder(app.channel); });

function placeholder(channel) {
  const where = `Message ${channel.kind === "text" ? "#" : ""}${label(channel)} as ${app.me.name}`;
  const answered = channel.kind === "dm" || !channel.bot_may_write;
  if (answered) return where;
  const bot = app.state.bot.name;
  if (narrow.matches) return `Name the persona or @${bot}`;
  return `${where}: mention @${bot} or call its persona by name`;
}

async function open(channel, { keep = false } = {}) {
  app.channel = channel;
  menu(false);
  app.unread.delete(channel.id);
  remember("channel", channel.id);
  history.replaceState(null, "", `#${encodeURIComponent(channel.kind === "text" ? channel.name : channel.id)}`);
  $("title").textContent = `${sign(channel)} ${label(channel)}`;
  document.title = `${label(channel)} · Everturn playground`;
  $("topic").textContent = channel.topic ?? "";
  composer.box.placeholder = placeholder(channel);
  composer.answer(null);
  drawChannels();
  if (!keep) {
    app.messages.clear();
    drawLog();
  }
  await load(channel);
}

async function load(channel) {
  const { messages } = await call("GET", `/channels/${channel.id}/messages?limit=${PAGE}`);
  if (app.channel.id !== channel.id) return;
  app.messages = new Map(messages.map((message) => [message.id, message]));
  app.complete = messages.length < PAGE;
  drawLog();
  toEnd();
}

async function loadOlder() {
  if (app.complete || !app.messages.size) return;
  app.loading ??= loadPage().finally(() => { app.loading = null; });
  await app.loading;
}

async function loadPage() {
  const channel = app.channel;
  const path = `/channels/${channel.id}/messages?limit=${PAGE}&before=${oldest()}`;
  const { messages } = await call("GET", path);
  if (app.channel.id !== channel.id) return;
  app.complete = messages.length < PAGE;
  for (const message of messages) app.messages.set(message.id, message);
  const fromEnd = $("scroller").scrollHeight - $("scroller").scrollTop;
  drawLog();
  $("scroller").scrollTop = $("scroller").scrollHeight - fromEnd;
}

const oldest = () => [...app.messages.keys()].reduce(earlier);

async function loadUntil(id) {
  while (!app.messages.has(id) && !app.complete && order(id, oldest()) < 0) await loadOlder();
}

// messages

const order = (a, b) => (a.length - b.length) || (a < b ? -1 : a > b ? 1 : 0);
const earlier = (a, b) => (order(a, b) < 0 ? a : b);

function shown() {
  const private_ = [...app.ephemeral.values()]
    .filter(({ message, member }) => message.channel === app.channel?.id && member === app.me.id)
    .map(({ message }) => message);
  const all = [...app.messages.values(), ...private_].filter((m) => !m.deleted);
  return all.sort((a, b) => order(a.id, b.id));
}

const act = {
  reply: (message) => composer.answer(message),
  react: (message, emoji, remove) => attempt(call("POST", "/reactions", {
    channel: app.channel.id, member: app.me.id, message: message.id, emoji, remove,
  })),
  remove: (message) => attempt(call("DELETE", "/messages", {
    channel: app.channel.id, member: app.me.id, message: message.id,
  })),
  press: (message, customId) => attempt(noAnswer(call("POST", "/components", {
    channel: app.channel.id, member: app.me.id, message: message.id, custom_id: customId, wait: 4,
  }), "The button")),
  dismiss: (message) => { app.ephemeral.delete(message.id); drawLog(); },
  goTo: (channelId, id) => attempt(goTo(channelId, id)),
};

async function goTo(channelId, id) {
  const channel = visible().find((c) => c.id === channelId);
  if (!channel) throw new Refused(`${app.me.name} does not see that channel.`);
  if (channel.id !== app.channel.id) await open(channel);
  if (!id) return;
  await loadUntil(id);
  const item = $("log").querySelector(`[data-id="${CSS.escape(id)}"]`);
  if (!item) throw new Refused("That message is not there any more.");
  item.scrollIntoView({ block: "center" });
  item.classList.add("flash");
  setTimeout(() => item.classList.remove("flash"), 1600);
}

// A link into this guild leads there inside the page: {text, go}. Null for any other.
const LINK = /^https:\/\/(?:www\.|ptb\.|canary\.)?discord(?:app)?\.com\/channels\/(\d+|@me)\/(\d+)(?:\/(\d+))?\/?$/;

function jump(href) {
  const [, guild, channelId, id] = LINK.exec(href) ?? [];
  const channel = app.state.channels.find((c) => c.id === channelId);
  if (!channel || guild !== (channel.kind === "dm" ? "@me" : app.state.guild.id)) return null;
  const text = `${channel.kind === "dm" ? "@" : "#"}${label(channel)}${id ? " › 💬" : ""}`;
  return { text, go: () => act.goTo(channelId, id) };
}

async function attempt(request) {
  try { await request; } catch (error) { composer.complain(error.message); }
}

const names = {
  user: (id) => [...app.state.members, app.state.bot].find((u) => u.id === id)?.name,
  channel: (id) => app.state.channels.find((c) => c.id === id)?.name,
  jump,
};

const stickers = (id) => app.state.stickers?.find((sticker) => sticker.id === id);

const drawn = new Map(); // id -> {key, item}: what has not changed is not drawn again

function drawLog() {
  const list = shown();
  const context = { me: app.me, names, stickers, act };
  const items = [];
  let before = null;
  let day = null;
  for (const message of list) {
    const date = new Date(message.created_at).toDateString();
    const newDay = date !== day;
    if (newDay) items.push(dayItem(date));
    const first = newDay || !continues(message, before);
    const key = JSON.stringify([message, first, app.me.id]);
    const known = drawn.get(message.id);
    const item = known?.key === key ? known.item : messageItem(message, first, context);
    drawn.set(message.id, { key, item });
    items.push(item);
    [before, day] = [message, date];
  }
  for (const id of drawn.keys()) if (!list.some((m) => m.id === id)) drawn.delete(id);
  place($("log"), items);
  drawEmpty(list.length === 0);
}

// Puts `items` in order with as few moves as possible, so that focus and screen readers stay put.
function place(parent, items) {
  const wanted = new Set(items);
  for (const child of [...parent.children]) if (!wanted.has(child)) child.remove();
  items.forEach((item, index) => {
    if (parent.children[index] !== item) parent.insertBefore(item, parent.children[index] ?? null);
  });
}

const days = new Map();

function dayItem(date) {
  if (!days.has(date)) {
    const text = new Date(date).toLocaleDateString([], { dateStyle: "long" });
    days.set(date, element("li", { class: "day" }, text));
  }
  return days.get(date);
}

function drawEmpty(empty) {
  $("empty").hidden = !empty;
  if (!empty || !app.channel) return;
  const silent = !app.channel.bot_may_write;
  const direct = app.channel.kind === "dm";
  const hint = silent
    ? "The bot reads this channel and has no permission to answer in it."
    : direct
      ? "What you write here is answered: no name and no mention is needed."
      : `Call the persona by name, mention @${app.state.bot.name}, or reply to one of its messages.`;
  const tries = silent ? [] : TRIES.map((text) => (direct ? text : `Nova, ${text}`));
  $("empty").replaceChildren(
    element("h3", {}, `${sign(app.channel)} ${label(app.channel)}`),
    element("p", {}, hint),
    element("div", { class: "tries" }, ...tries.map((text) =>
      element("button", { type: "button", onclick: () => composer.fill(text) }, text))),
  );
}

// scrolling

let atEnd = true; // where the reader was, before the room or the log changed its height

function toEnd() {
  $("scroller").scrollTop = $("scroller").scrollHeight;
  $("jump").hidden = true;
  atEnd = true;
}

const heights = new ResizeObserver(() => { if (atEnd) toEnd(); });
heights.observe($("scroller"));
heights.observe($("log"));

$("jump").addEventListener("click", toEnd);
$("scroller").addEventListener("scroll", () => {
  const { scrollHeight, scrollTop, clientHeight } = $("scroller");
  atEnd = scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
  if (atEnd) $("jump").hidden = true;
  if (scrollTop < NEAR_END_PX) loadOlder();
});

// changes

function onMessage({ message, only_for: member, typing }) {
  if (typing) app.typing.set(message.channel, typing);
  const here = message.channel === app.channel?.id;
  if (member) {
    if (message.deleted) app.ephemeral.delete(message.id);
    else app.ephemeral.set(message.id, { message, member });
  } else if (here) {
    app.messages.set(message.id, message);
  } else if (visible().some((c) => c.id === message.channel)) {
    app.unread.add(message.channel);
    drawChannels();
  }
  if (here) redraw(message);
  drawTyping();
}

function redraw(message) {
  const isMine = message.author.id === app.me.id;
  const isNew = !drawn.has(message.id);
  drawLog();
  if (atEnd || (isNew && isMine)) toEnd();
  else if (isNew) $("jump").hidden = false;
}

function onDeleted({ channel, messages }) {
  if (channel !== app.channel?.id) return;
  for (const id of messages) app.messages.delete(id);
  drawLog();
}

function drawTyping() {
  const now = Date.now() / 1000;
  const users = (app.typing.get(app.channel?.id) ?? [])
    .filter(({ user, until }) => until > now && user.id !== app.me.id)
    .map(({ user }) => user.name);
  const line = $("typing");
  const text = users.length ? `${users.join(" and ")} ${users.length > 1 ? "are" : "is"} typing …` : "";
  if (line.dataset.text === text) return;
  line.dataset.text = text;
  const dots = element("i", { "aria-hidden": "true" }, element("b"), element("b"), element("b"));
  line.replaceChildren(...(text ? [dots, text] : []));
}

setInterval(drawTyping, 500);

async function onChange(change) {
  switch (change.what) {
    case "hello":
      $("unreachable").hidden = true;
      readState(change.state);
      app.channel = app.state.channels.find((c) => c.id === app.channel?.id) ?? fromAddress();
      await open(app.channel, { keep: app.messages.size > 0 });
      break;
    case "state":
      readState(change.state);
      app.channel = app.state.channels.find((c) => c.id === app.channel?.id) ?? fromAddress();
      composer.box.placeholder = placeholder(app.channel);
      drawLog();
      break;
    case "message": onMessage(change); break;
    case "deleted": onDeleted(change); break;
    case "typing":
      app.typing.set(change.channel, change.typing);
      drawTyping();
      break;
  }
}

// the channel list on a narrow screen

function menu(openIt) {
  document.body.classList.toggle("menu-open", openIt);
  $("scrim").hidden = !openIt;
  $("menu").setAttribute("aria-expanded", String(openIt));
}

$("menu").addEventListener("click", () => {
  menu(true);
  $("channels").querySelector("[aria-current]")?.focus();
});
$("scrim").addEventListener("click", () => menu(false));
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && document.body.classList.contains("menu-open")) {
    menu(false);
    $("menu").focus();
  }
});
addEventListener("hashchange", () => {
  const channel = fromAddress();
  if (channel && channel.id !== app.channel?.id) open(channel);
});

follow(onChange, () => { $("unreachable").hidden = false; });
