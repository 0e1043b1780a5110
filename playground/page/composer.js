// The box to type in: messages, replies, slash commands.

import { Refused } from "./api.js";
import { flatten, matching, parse } from "./commands.js";
import { element } from "./dom.js";

const $ = (id) => document.getElementById(id);

export class Composer {
  // `app`: {state, channel, me, post(content, replyTo), command(name, options)}
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
    this.box.style.height = "auto";
    this.box.style.height = `${this.box.scrollHeight}px`;
    $("send").disabled = !this.box.value.trim();
    const typed = this.box.value;
    const slash = typed.startsWith("/") && !typed.includes("\n");
    this.offer(slash ? matching(flatten(this.app.state.commands), typed) : []);
  }

  offer(commands) {
    this.offered = commands;
    this.chosen = Math.min(this.chosen, Math.max(commands.length - 1, 0));
    this.list.hidden = !commands.length;
    this.list.replaceChildren(...commands.map((command, index) => element(
      "li",
      {
        id: `suggestion-${index}`,
        role: "option",
        "aria-selected": String(index === this.chosen),
        onmousedown: (event) => { event.preventDefault(); this.take(index); },
      },
      element("b", {}, `/${command.path}`),
      ...command.options.map((o) => element("code", {}, o.required ? `${o.name}:` : `[${o.name}:]`)),
      element("span", {}, command.description),
    )));
    this.box.setAttribute("aria-expanded", String(commands.length > 0));
    if (commands.length) {
      this.box.setAttribute("aria-activedescendant", `suggestion-${this.chosen}`);
      this.list.children[this.chosen].scrollIntoView({ block: "nearest" });
    } else {
      this.box.removeAttribute("aria-activedescendant");
    }
  }

  take(index) {
    const command = this.offered[index];
    const first = command.options[0];
    this.fill(`/${command.path}${first ? ` ${first.name}:` : " "}`);
  }

  key(event) {
    if (event.isComposing) return;
    const typed = this.box.value.trim();
    const choosing = this.offered.length > 0;
    if (choosing && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : this.offered.length - 1;
      this.chosen = (this.chosen + step) % this.offered.length;
      this.offer(this.offered);
    } else if (event.key === "Escape") {
      this.offer([]);
      this.answer(null);
    } else if (choosing && event.key === "Tab") {
      event.preventDefault();
      this.take(this.chosen);
    } else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      const command = this.offered[this.chosen];
      const complete = !command || typed === `/${command.path}` || typed.startsWith(`/${command.path} `);
      if (choosing && !complete) this.take(this.chosen);
      else this.submit();
    }
  }

  async submit() {
    const typed = this.box.value.trim();
    if (!typed) return;
    this.offer([]);
    try {
      if (typed.startsWith("/")) await this.submitCommand(typed);
      else await this.app.post(typed, this.replyTo?.id);
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
    if (!command) throw new Refused(`there is no command ${typed.split(" ")[0]}`);
    await this.app.command(command.name, command.options);
  }
}
