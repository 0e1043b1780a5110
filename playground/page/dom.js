// Elements without HTML strings: text stays text, whoever wrote it.

export function element(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") node.className = value;
    else if (name === "data") Object.assign(node.dataset, value);
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name in node && !name.startsWith("aria-")) node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

const HUES = 6;

export function avatar(user) {
  let sum = 0;
  for (const letter of user.name) sum = (sum * 31 + letter.codePointAt(0)) >>> 0;
  const initial = [...user.name][0] ?? "?";
  const kind = `avatar hue${sum % HUES}`;
  return element("i", { class: kind, "aria-hidden": "true" }, initial.toUpperCase());
}
