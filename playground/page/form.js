// The form (Discord's modal) that the bot shows in answer to a command or a press.

import { Refused } from "./api.js";
import { element } from "./dom.js";

const ids = { dialog: "form", title: "form-title", fields: "form-fields", problem: "form-problem" };

export class FormDialog {
  // `send(interaction, values)`: sends it, and is rejected where it is not taken.
  constructor(send) {
    this.send = send;
    this.inputs = new Map(); // custom id -> {box, problem}
    for (const [name, id] of Object.entries(ids)) this[name] = document.getElementById(id);
    this.form = this.dialog.querySelector("form");
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
    this.form.querySelector("[type=button]").addEventListener("click", () => this.dialog.close());
  }

  // `interaction`: {id, form: {title, fields}}. Focus goes back to where it was at the end.
  open(interaction) {
    if (this.dialog.open) this.dialog.close();
    this.interaction = interaction.id;
    this.inputs.clear();
    this.title.textContent = interaction.form.title;
    this.complain(null);
    this.fields.replaceChildren(...interaction.form.fields.map((field) => this.field(field)));
    this.dialog.showModal();
    const first = this.fields.querySelector("input, textarea");
    first.focus();
    first.select();
  }

  field(field) {
    const id = `form-field-${this.inputs.size}`;
    const box = element(field.paragraph ? "textarea" : "input", {
      id,
      rows: field.paragraph ? 6 : null,
      value: field.value,
      placeholder: field.placeholder,
      "aria-required": String(field.required),
      "aria-describedby": `${id}-problem`,
    });
    const count = element("span", { class: "count", "aria-hidden": "true" });
    const problem = element("p", { class: "problem", id: `${id}-problem`, hidden: true });
    const tell = () => {
      const length = [...box.value].length;
      count.textContent = `${length} / ${field.max_length}`;
      count.classList.toggle("over", length > field.max_length);
    };
    box.addEventListener("input", () => { tell(); this.blame(field.custom_id, null); });
    tell();
    this.inputs.set(field.custom_id, { box, problem });
    return element("div", { class: "field" },
      element("label", { htmlFor: id }, field.label,
        element("span", { class: "note" }, field.required ? " required" : "")),
      count,
      field.description ? element("p", { class: "note" }, field.description) : null,
      box, problem);
  }

  complain(text) {
    this.problem.hidden = !text;
    this.problem.textContent = text ?? "";
  }

  blame(customId, text) {
    const { box, problem } = this.inputs.get(customId) ?? {};
    if (!box) return;
    problem.hidden = !text;
    problem.textContent = text ? `This ${text}.` : "";
    if (text) box.setAttribute("aria-invalid", "true");
    else box.removeAttribute("aria-invalid");
  }

  async submit() {
    const button = this.form.querySelector("[type=submit]");
    if (button.disabled) return;
    const sent = this.interaction;
    const values = {};
    for (const [customId, { box }] of this.inputs) {
      values[customId] = box.value;
      this.blame(customId, null);
    }
    this.complain(null);
    button.disabled = true;
    try {
      await this.send(sent, values);
      if (this.interaction === sent) this.dialog.close();
    } catch (error) {
      if (this.interaction === sent) this.refused(error);
    } finally {
      button.disabled = false;
    }
  }

  refused(error) {
    const problems = Object.entries(error.fields ?? {});
    for (const [customId, text] of problems) this.blame(customId, text);
    const first = [...this.inputs.values()].find(({ problem }) => !problem.hidden);
    first?.box.focus();
    if (first) return;
    this.complain(error instanceof Refused ? error.message : "The playground does not answer.");
  }
}
