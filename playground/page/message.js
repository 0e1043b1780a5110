// One message as a list item.

import { avatar, element } from "./dom.js";
import { link, markdown, plain } from "./markdown.js";

const GROUP_MS = 7 * 60 * 1000;

// Whether `message` stands under `before` without a head of its own.
export function continues(message, before) {
  return (
    before &&
    before.author.id === message.author.id &&
    before.author.name === message.author.name &&
    !message.reply_to &&
    !message.interaction &&
    !isSystem(before) &&
    before.ephemeral === message.ephemeral &&
    ofTheSameTurn(message, before) &&
    new Date(message.created_at) - new Date(before.created_at) < GROUP_MS
  );
}

// The head has the link to the turn, so a new turn has a new head. Notices are of no turn.
const ofTheSameTurn = (message, before) =>
  !message.turn || message.turn.workflow_id === before.turn?.workflow_id;

export const isSystem = (message) => ["pinned", "thread_created"].includes(message.type);

// `context`: {me, names, stickers, act} where `act` has reply, react, remove, press, dismiss, goTo.
export function messageItem(message, first, context) {
  if (isSystem(message)) return systemItem(message);
  const classes = ["message", first && "first", message.ephemeral && "ephemeral"];
  const time = new Date(message.created_at);
  const short = time.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  return element(
    "li",
    { class: classes.filter(Boolean).join(" "), data: { id: message.id } },
    first ? avatar(message.author) : element("span", { class: "when" }, short),
    element(
      "div",
      { class: "column" },
      replyLine(message, context),
      head(message, time, short),
      body(message, context),
      ...message.embeds.map((embed) => embedBox(embed, context)),
      ...message.stickers.map((sticker) => stickerTile(sticker, context)),
      ...message.attachments.map(attachment),
      ...message.components.map((row) => componentRow(row, message, context)),
      reactions(message, context),
      message.ephemeral ? onlyYou(message, context) : null,
    ),
    actions(message, context, first ? null : turnLink(message)),
  );
}

function systemItem(message) {
  const text =
    message.type === "pinned"
      ? `${message.author.name} pinned a message.`
      : `${message.author.name} started a thread: ${message.content}`;
  return element("li", { class: "system", data: { id: message.id } }, text);
}

function replyLine(message, context) {
  if (message.interaction) {
    const { member, name, pressed } = message.interaction;
    return element("div", { class: "reply" }, element("b", {}, member),
      element("span", {}, pressed ? "pressed a button" : `used /${name}`));
  }
  const target = message.reply_to;
  if (!target || message.type !== "reply") return null;
  if (target.deleted) {
    return element("div", { class: "reply" }, element("span", {}, "The message was deleted"));
  }
  const show = () => context.act.goTo(message.channel, target.id);
  return element("button", { type: "button", class: "reply", onclick: show },
    element("b", {}, target.author.name), element("span", {}, preview(target, context) || "…"));
}

const preview = (target, { names }) => [...plain(target.content, names)].slice(0, 200).join("");

function head(message, time, short) {
  return element(
    "div",
    { class: "head" },
    element("span", { class: "author" }, message.author.name),
    message.author.bot ? element("span", { class: "tag" }, "BOT") : null,
    element("time", { dateTime: message.created_at, title: time.toLocaleString() }, short),
    message.pinned ? element("span", { class: "note" }, "pinned") : null,
    turnLink(message),
  );
}

function turnLink(message) {
  if (!message.turn?.url) return null;
  return element("a", {
    class: "turn",
    href: message.turn.url,
    target: "_blank",
    rel: "noreferrer",
    title: `${message.turn.workflow_id ?? "The turn that was open here then"}, in the Temporal UI`,
  }, "turn ↗");
}

function body(message, context) {
  if (message.thinking) {
    return element("div", { class: "thinking" }, `${message.author.name} is thinking …`);
  }
  if (!message.content) return null;
  const edited = message.edited_at
    ? element("span", { class: "edited", title: new Date(message.edited_at).toLocaleString() },
        " (edited)")
    : null;
  const content = element("div", { class: "content" }, markdown(message.content, context.names));
  if (edited) (content.lastElementChild?.tagName === "DIV" ? content.lastElementChild : content).append(edited);
  return content;
}

function embedBox(embed, context) {
  const box = element("div", { class: "embed" });
  if (embed.color) box.style.borderColor = `#${embed.color.toString(16).padStart(6, "0")}`;
  const rich = (text) => element("div", { class: "content" }, markdown(text, context.names));
  if (embed.author?.name) {
    box.append(element("div", { class: "footer" }, linked(embed.author.name, embed.author.url, context)));
  }
  if (embed.title) {
    box.append(element("div", { class: "title" }, linked(embed.title, embed.url, context)));
  }
  if (embed.description) box.append(rich(embed.description));
  if (embed.fields?.length) {
    const fields = embed.fields.map((field) =>
      element("div", { class: field.inline ? "inline" : "" },
        element("div", { class: "title" }, field.name), rich(field.value)));
    box.append(element("div", { class: "fields" }, ...fields));
  }
  if (embed.footer?.text) box.append(element("div", { class: "footer" }, embed.footer.text));
  return box;
}

function linked(text, url, context) {
  if (!/^https?:\/\//.test(url ?? "")) return text;
  return link(url, [text], context.names);
}

function stickerTile(sticker, context) {
  const emoji = context.stickers(sticker.id)?.emoji || "🏷️";
  return element("div", { class: "sticker", title: `Sticker: ${sticker.name}` },
    element("span", { "aria-hidden": "true" }, emoji),
    element("b", {}, sticker.deleted ? "deleted sticker" : sticker.name));
}

const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

function attachment(file) {
  if (!file.url.startsWith("/attachments/")) return null;
  const inner = IMAGES.includes(file.content_type)
    ? element("img", { src: file.url, alt: file.filename, loading: "lazy" })
    : `${file.filename} (${file.size} bytes)`;
  return element("a", { class: "attachment", href: file.url, target: "_blank" }, inner);
}

const BUTTON = 2;
const LINK_STYLE = 5;

function componentRow(row, message, context) {
  const buttons = (row.components ?? [row]).filter((part) => part.type === BUTTON);
  return element("div", { class: "row" }, ...buttons.map((part) => {
    const label = [part.emoji?.name, part.label].filter(Boolean).join(" ");
    if (part.style === LINK_STYLE) {
      const href = /^https?:/.test(part.url ?? "") ? part.url : "about:blank";
      return element("a", { class: "press", href, target: "_blank", rel: "noreferrer" }, label);
    }
    return element("button", {
      type: "button",
      class: `press style${part.style}`,
      disabled: Boolean(part.disabled),
      onclick: () => context.act.press(message, part.custom_id),
    }, label);
  }));
}

function reactions(message, context) {
  if (!message.reactions.length) return null;
  return element("div", { class: "row" }, ...message.reactions.map(({ emoji, members }) => {
    const mine = members.includes(context.me.name);
    return element("button", {
      type: "button",
      class: "reaction",
      title: members.join(", "),
      "aria-pressed": String(mine),
      "aria-label": `${emoji}, ${members.length}, ${mine ? "take yours away" : "react too"}`,
      onclick: () => context.act.react(message, emoji, mine),
    }, `${emoji} ${members.length}`);
  }));
}

function onlyYou(message, context) {
  const dismiss = () => context.act.dismiss(message);
  return element("p", { class: "note" }, `Only ${context.me.name} can see this. `,
    element("button", { type: "button", class: "note", onclick: dismiss },
      element("u", {}, "Dismiss")));
}

const QUICK = ["👍", "❤️", "😂"];

// `turn`: the link of a message that has no head to hold it.
function actions(message, context, turn) {
  if (message.ephemeral || message.thinking) return null;
  const { act, me } = context;
  const button = (label, text, onclick) =>
    element("button", { type: "button", "aria-label": label, title: label, onclick }, text);
  return element(
    "div",
    { class: "actions" },
    turn,
    ...QUICK.map((emoji) => button(`React with ${emoji}`, emoji, () => act.react(message, emoji, false))),
    button("Reply", "Reply", () => act.reply(message)),
    message.author.id === me.id ? button("Delete", "Delete", () => act.remove(message)) : null,
  );
}
