// Slash commands: flattened for choosing, and read from what was typed.

const SUB_COMMAND = 1;
const SUB_GROUP = 2;
const USER = 6;
const CHANNEL = 7;

// [{path: "config set", description, options}]
export function flatten(commands) {
  return commands.flatMap((command) => unfold(command, command.name));
}

function unfold(command, path) {
  const inner = command.options.filter((o) => o.type === SUB_COMMAND || o.type === SUB_GROUP);
  if (!inner.length) return [{ path, description: command.description, options: command.options }];
  return inner.flatMap((o) => unfold({ ...o, options: o.options ?? [] }, `${path} ${o.name}`));
}

export function matching(commands, typed) {
  const word = typed.slice(1).toLowerCase();
  return commands.filter(({ path }) => path.startsWith(word) || word.startsWith(`${path} `));
}

// "/add one:41 who:Ada" -> {name, options}; a single option needs no name. Null: no such command.
export function parse(commands, typed, state) {
  const text = typed.slice(1).trim();
  const command = commands
    .filter(({ path }) => text === path || text.startsWith(`${path} `))
    .sort((a, b) => b.path.length - a.path.length)[0];
  if (!command) return null;
  const rest = text.slice(command.path.length).trim();
  const options = {};
  const names = command.options.map((option) => option.name);
  const starts = [...rest.matchAll(/(?:^|\s)([\w-]+):\s?/g)].filter((m) => names.includes(m[1]));
  starts.forEach((match, index) => {
    const end = starts[index + 1]?.index ?? rest.length;
    options[match[1]] = rest.slice(match.index + match[0].length, end).trim();
  });
  if (!starts.length && rest) options[names[0] ?? "option"] = rest;
  for (const option of command.options) {
    if (option.name in options) options[option.name] = resolve(option, options[option.name], state);
  }
  return { name: command.path, options };
}

function resolve(option, value, state) {
  const bare = value.replace(/^[@#]/, "").toLowerCase();
  const people = [...state.members, state.bot];
  const pool = option.type === USER ? people : option.type === CHANNEL ? state.channels : [];
  return pool.find((one) => one.name.toLowerCase() === bare)?.id ?? value;
}
