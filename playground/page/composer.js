// The box to type in: messages, replies, mentions, slash commands.

import { Refused } from "./api.js";
import { filling, flatten, matching, offers, parse, within } from "./commands.js";
import { avatar, element } from "./dom.js";
import { begun, withMentions } from "./mentions.js";

function unknown(commands, typed) {
  const word = typed.split(/\s/)[0];
  const inner = within(commands, typed).map((path) => path.slice(word.length));
  if (!inner.length) return `there is no command ${word}`;
  return `${word} needs one of its subcommands: ${inner.join(", ")}`;
}

const $ = (id) => document.getElementById(id);

export class Composer {
  // `app`: {state, channel, me, post(content, replyTo), command(name, options),
  // completions(name, options, focused)}
  constructor(app) {
    this.app = app;
    this.replyTo = null;
    this.chosen = 0;
    this.offered = [];
    this.box = $("text");
    this.list = $("suggestions");
    $("composer").addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
    this.box.addEventListener("input", () => this.refresh());
    this.box.addEventListener("keydown", (event) => this.key(event));
    this.box.addEventListener("blur", () => setTimeout(() => this.offer([]), 150));
    $("answering").querySelector("button").addEventListener("click", () => this.answer(null));
    this.refresh();
  }

  fill(text) {
    this.box.value = text;
    this.refresh();
    this.box.focus();
  }

  answer(message) {
    this.replyTo = message;
    $("answering").hidden = !message;
    if (message) {
      $("answering").querySelector("span").textContent = `Replying to ${message.author.name}`;
      this.box.focus();
    }
  }

  complain(text) {
    $("problem").hidden = !text;
    $("problem").textContent = text ?? "";
  }

  refresh() {
    this.complain(null);
    this.grow();
    $("send").disabled = !this.box.value.trim();
    this.chosen = 0;
    this.offer(this.suggestions());
  }

  // As high as its text. The frame is held meanwhile, or the log above would lose its place.
  grow() {
    const frame = this.box.parentElement;
    frame.style.minHeight = `${frame.offsetHeight}px`;
    this.box.style.height = "auto";
    this.box.style.height = `${this.box.scrollHeight}px`;
    frame.style.minHeight = "";
  }

  get people() {
    return [this.app.state.bot, ...this.app.state.members];
  }

  // Each {show: what the list has, from, to, text: what it puts in there, complete: nothing to add}.
  suggestions() {
    const typed = this.box.value;
    if (typed.startsWith("/")) return typed.includes("\n") ? [] : this.slash(typed);
    const caret = this.box.selectionEnd;
    const mention = begun(typed, caret, this.people);
    return (mention?.people ?? []).map((person) => ({
      show: [avatar(person), element("b", {}, person.name)],
      from: mention.from,
      to: caret,
      text: `@${person.name} `,
      complete: typed.slice(mention.from, caret).toLowerCase() === `@${person.name.toLowerCase()}`,
    }));
  }

  slash(typed) {
    const at = filling(flatten(this.app.state.commands), typed);
    if (!at || !at.command.options.length) return this.commands(typed);
    const wanted = at.text.trim().toLowerCase();
    const labels = at.option && offers(at.option, this.app.state);
    const done = labels ? labels.some((label) => label.toLowerCase() === wanted) : Boolean(wanted);
    if (at.option && !(done && /\s$/.test(typed))) {
      if (at.option.autocomplete) this.ask(typed, at);
      return (labels ?? [])
        .filter((label) => label.toLowerCase().includes(wanted))
        .map((label) => this.value(typed, at, label, label));
    }
    const enough = !at.open.some((option) => option.required);
    return at.open.map((option) => ({
      show: [element("b", {}, `${option.name}:`), element("span", {}, option.description)],
      from: typed.length,
      to: typed.length,
      text: `${option.name}:`,
      complete: enough,
    }));
  }

  value(typed, { from, text }, label, put) {
    const given = text.trim().toLowerCase();
    return {
      show: [element("b", {}, label)], from, to: typed.length, text: `${put} `,
      complete: [label.toLowerCase(), put.toLowerCase()].includes(given),
    };
  }

  // The bot's own completions, shown if they come while the same is still typed.
  async ask(typed, at) {
    const options = Object.fromEntries(at.values.map(({ option, text }) => [option, text.trim()]));
    try {
      const found = await this.app.completions(at.command.path, options, at.option.name);
      if (this.box.value !== typed) return;
      this.offer(found.map(({ name, value }) => this.value(typed, at, name, String(value))));
    } catch { /* it stays without completions */ }
  }

  commands(typed) {
    return matching(flatten(this.app.state.commands), typed).map((command) => ({
      show: [
        element("b", {}, `/${command.path}`),
        ...command.options.map((o) => element("code", {}, o.required ? `${o.name}:` : `[${o.name}:]`)),
        element("span", {}, command.description),
      ],
      from: 0,
      to: typed.length,
      text: `/${command.path} ${command.options.length ? `${command.options[0].name}:` : ""}`,
      complete: `${typed.trim()} `.startsWith(`/${command.path} `),
    }));
  }

  offer(suggestions) {
    this.offered = suggestions;
    this.list.hidden = !suggestions.length;
    this.list.replaceChildren(...suggestions.map((suggestion, index) => element(
      "li",
      {
        id: `suggestion-${index}`,
        role: "option",
        "aria-selected": String(index === this.chosen),
        onmousedown: (event) => { event.preventDefault(); this.take(suggestion); },
      },
      ...suggestion.show,
    )));
    this.box.setAttribute("aria-expanded", String(suggestions.length > 0));
    if (suggestions.length) {
      this.box.setAttribute("aria-activedescendant", `suggestion-${this.chosen}`);
      this.list.children[this.chosen].scrollIntoView({ block: "nearest" });
    } else {
      this.box.removeAttribute("aria-activedescendant");
    }
  }

  take({ from, to, text }) {
    this.box.setRangeText(text, from, to, "end");
    this.refresh();
    this.box.focus();
  }

  key(event) {
    if (event.isComposing) return;
    const choosing = this.offered.length > 0;
    if (choosing && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : this.offered.length - 1;
      this.chosen = (this.chosen + step) % this.offered.length;
      this.offer(this.offered);
    } else if (event.key === "Escape") {
      if (choosing) this.offer([]);
      else this.answer(null);
    } else if (choosing && event.key === "Tab") {
      event.preventDefault();
      this.take(this.offered[this.chosen]);
    } else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      const suggestion = this.offered[this.chosen];
      if (choosing && !suggestion.complete) this.take(suggestion);
      else this.submit();
    }
  }

  async submit() {
    const typed = this.box.value.trim();
    if (!typed) return;
    this.offer([]);
    try {
      if (typed.startsWith("/")) await this.submitCommand(typed);
      else await this.app.post(withMentions(typed, this.people), this.replyTo?.id);
    } catch (error) {
      const reason = error instanceof Refused ? error.message : "the playground does not answer";
      this.complain(`Not sent: ${reason}`);
      return;
    }
    this.box.value = "";
    this.answer(null);
    this.refresh();
  }

  async submitCommand(typed) {
    const { state } = this.app;
    const command = parse(flatten(state.commands), typed, state);
    if (!command) throw new Refused(unknown(flatten(state.commands), typed));
    await this.app.command(command.name, command.options);
  }
}
