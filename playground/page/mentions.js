// People, written as @Name: found in what was typed, and offered while it is typed.

const LETTER = "\\p{L}\\p{N}_";
const CODE = "(`+)[^]*?[^`]\\1(?!`)";
const escaped = (name) => name.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");

// `text` with <@id> for each @Name of `people` ([{id, name}]), as Discord's own clients send it.
export function withMentions(text, people) {
  const ids = new Map(people.map(({ id, name }) => [name.toLowerCase(), id]));
  const names = people.map(({ name }) => escaped(name)).sort((a, b) => b.length - a.length);
  // Code is matched first, and stays as it is. Neither ada@ben.example nor a link is a mention.
  const pattern = `${CODE}|(?<![${LETTER}@</])@(${names.join("|")})(?![${LETTER}])`;
  return text.replace(new RegExp(pattern, "giu"), (whole, _, name) => {
    const id = name && ids.get(name.toLowerCase());
    return id ? `<@${id}>` : whole;
  });
}

const BEGUN = new RegExp(`(?<![${LETTER}@</])@([^@\\n]*)$`, "u");

// Whom the "@…" before the caret may mean: {from, people}, or null where there is none.
export function begun(text, caret, people) {
  const match = BEGUN.exec(text.slice(0, caret));
  if (!match) return null;
  const word = match[1].toLowerCase();
  const found = people.filter(({ name }) => name.toLowerCase().startsWith(word));
  return found.length ? { from: match.index, people: found } : null;
}
