// Discord's Markdown as DOM nodes. Nothing is ever parsed as HTML, so nothing needs escaping.

import { element } from "./dom.js";

// `names` resolves ids: {user(id), channel(id)} give a name or undefined. Its jump(href) gives
// {text, go} for a link that leads to somewhere in the page, null for any other.

export function markdown(text, names) {
  const root = document.createDocumentFragment();
  root.append(...blocks(text, names));
  return root;
}

// The text alone on one line, without markers; what is behind a spoiler stays there.
export function plain(text, names) {
  const root = markdown(text, names);
  for (const hidden of root.querySelectorAll(".spoiler")) hidden.textContent = "███";
  const words = [...root.childNodes].map((node) => node.textContent).join(" ");
  return words.replace(/\s+/g, " ").trim();
}

const FENCE = /^ {0,3}(`{3,})([^`\n]*)$/;

function blocks(text, names) {
  const nodes = [];
  const lines = text.split("\n");
  let plain = [];
  const flush = () => {
    // A blank line beside a block is the block's own margin.
    if (nodes.length && plain.length > 1 && !plain[0].trim()) plain.shift();
    if (plain.length) nodes.push(element("div", {}, ...inline(plain.join("\n"), names)));
    plain = [];
  };
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at];
    const fence = FENCE.exec(line);
    const close = fence ? closing(lines, at + 1, fence[1].length) : -1;
    if (close > 0) {
      flush();
      nodes.push(codeBlock(lines.slice(at + 1, close).join("\n"), fence[2].trim()));
      at = close;
      continue;
    }
    const heading = /^(#{1,3}) +(.+)$/.exec(line);
    const small = /^-# +(.+)$/.exec(line);
    if (heading) {
      flush();
      nodes.push(element(`h${heading[1].length + 2}`, {}, ...inline(heading[2], names)));
    } else if (small) {
      flush();
      nodes.push(element("small", {}, ...inline(small[1], names)), element("br"));
    } else if (line.startsWith(">>> ")) {
      flush();
      const rest = [line.slice(4), ...lines.slice(at + 1)].join("\n");
      nodes.push(element("blockquote", {}, ...blocks(rest, names)));
      return nodes;
    } else if (/^> ?/.test(line)) {
      flush();
      const quoted = [];
      for (; at < lines.length && /^> ?/.test(lines[at]); at += 1) {
        quoted.push(lines[at].replace(/^> ?/, ""));
      }
      at -= 1;
      nodes.push(element("blockquote", {}, ...blocks(quoted.join("\n"), names)));
    } else if (LIST.test(line)) {
      flush();
      let end = at;
      while (end < lines.length && (LIST.test(lines[end]) || /^ {2,}\S/.test(lines[end]))) end += 1;
      nodes.push(list(lines.slice(at, end), names));
      at = end - 1;
    } else {
      plain.push(line);
    }
  }
  flush();
  return nodes;
}

function closing(lines, from, length) {
  for (let at = from; at < lines.length; at += 1) {
    const match = /^ {0,3}(`{3,})\s*$/.exec(lines[at]);
    if (match && match[1].length >= length) return at;
  }
  return -1;
}

function codeBlock(text, language) {
  const pre = element("pre", { tabIndex: 0 }, element("code", {}, text));
  if (language) pre.dataset.language = language;
  return pre;
}

const LIST = /^( *)([-*]|\d{1,3}\.) +(.*)$/;

function list(lines, names) {
  const first = LIST.exec(lines[0]);
  const ordered = /\d/.test(first[2]);
  const node = element(ordered ? "ol" : "ul");
  if (ordered) node.start = parseInt(first[2], 10);
  const depth = first[1].length;
  let item = null;
  for (let at = 0; at < lines.length; at += 1) {
    const match = LIST.exec(lines[at]);
    if (match && match[1].length > depth && item) {
      let end = at;
      while (end < lines.length && (LIST.exec(lines[end])?.[1].length ?? depth + 1) > depth) end += 1;
      item.append(list(lines.slice(at, end), names));
      at = end - 1;
    } else if (match) {
      item = element("li", {}, ...inline(match[3], names));
      node.append(item);
    } else {
      item.append("\n", ...inline(lines[at].trim(), names));
    }
  }
  return node;
}

// `children`: what it shows; null where it is the bare address.
export function link(href, children, names) {
  const jump = names.jump(href);
  if (!jump) {
    return element("a", { href, target: "_blank", rel: "noreferrer noopener" }, ...(children ?? [href]));
  }
  const look = children ? "link" : "mention";
  return element("button", { type: "button", class: look, onclick: jump.go }, ...(children ?? [jump.text]));
}

const wrap = (tag) => (match, names) => element(tag, {}, ...inline(match[1], names));
const mention = (text) => element("span", { class: "mention" }, text);

// Tried in this order at each place; the first that matches there wins.
const RULES = [
  [/\\([^\p{L}\p{N}\s])/uy, (match) => match[1]],
  [/(`+)([^]*?[^`])\1(?!`)/y, (match) => element("code", {}, match[2])],
  [/\[([^[\]\n]+)\]\(<?(https?:\/\/[^\s()<>]+(?:\([^\s()<>]*\)[^\s()<>]*)*)>?\)/y,
    (match, names) => link(match[2], inline(match[1], names), names)],
  [/<(https?:\/\/[^\s<>]+)>/y, (match, names) => link(match[1], null, names)],
  [/https?:\/\/[^\s<]*[^\s<.,:;"'!?)\]*_~|]/y, (match, names) => link(match[0], null, names)],
  [/<@!?(\d+)>/y, (match, names) => mention(`@${names.user(match[1]) ?? "unknown"}`)],
  [/<#(\d+)>/y, (match, names) => mention(`#${names.channel(match[1]) ?? "unknown"}`)],
  [/<@&(\d+)>/y, () => mention("@role")],
  [/@(?:everyone|here)\b/y, (match) => mention(match[0])],
  [/<t:(\d{1,11})(?::[tTdDfFR])?>/y, (match) => mention(new Date(match[1] * 1000).toLocaleString())],
  [/<a?(:\w+:)\d+>/y, (match) => match[1]],
  [/\*\*\*(?=\S)([^]+?)\*\*\*(?!\*)/y, (match, names) => element("strong", {}, wrap("em")(match, names))],
  [/\*\*(?=\S)([^]+?)\*\*(?!\*)/y, wrap("strong")],
  [/__(?=\S)([^]+?)__(?!_)/y, wrap("u")],
  [/~~(?=\S)([^]+?)~~/y, wrap("s")],
  [/\|\|([^]+?)\|\|/y, (match, names) =>
    element("span", { class: "spoiler", tabIndex: 0 }, ...inline(match[1], names))],
  [/\*(?=[^\s*])((?:\*\*[^]+?\*\*|[^*])+?)\*(?!\*)/y, wrap("em")],
  [/(?<![\p{L}\p{N}_])_(?=[^\s_])([^_]+?)_(?![\p{L}\p{N}_])/uy, wrap("em")],
];
const STARTERS = /[\\`[<h@*_~|]/g;

function inline(text, names) {
  const nodes = [];
  let done = 0;
  STARTERS.lastIndex = 0;
  let at = next(text, 0);
  while (at < text.length) {
    const found = matchAt(text, at);
    if (found === null) {
      at = next(text, at + 1);
      continue;
    }
    const [match, make] = found;
    if (at > done) nodes.push(text.slice(done, at));
    nodes.push(make(match, names));
    done = at + match[0].length;
    at = next(text, done);
  }
  if (done < text.length) nodes.push(text.slice(done));
  return nodes;
}

function next(text, from) {
  STARTERS.lastIndex = from;
  return STARTERS.exec(text)?.index ?? text.length;
}

function matchAt(text, at) {
  for (const [pattern, make] of RULES) {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match) return [match, make];
  }
  return null;
}
