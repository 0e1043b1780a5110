// Slash commands: flattened for choosing, filled in while typed, and read from what was typed.

const SUB_COMMAND = 1;
const SUB_GROUP = 2;
const BOOLEAN = 5;
const USER = 6;
const CHANNEL = 7;
const ROLE = 8;
const MENTIONABLE = 9;
const KINDS = { text: 0, thread: 11 }; // of channels, as an option's channel_types name them

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
  const found = read(commands, typed.trimEnd());
  if (!found) return null;
  const { command, values } = found;
  const options = {};
  for (const { option, text } of values) options[option] = text.trim();
  for (const option of command.options) {
    if (option.name in options) options[option.name] = resolve(option, options[option.name], state);
  }
  return { name: command.path, options };
}

// What the caret at the end of `typed` is in: {command, option, text, from, values, open}, where
// `open` are the options that have no value yet. Null before a command is complete.
export function filling(commands, typed) {
  const found = read(commands, typed);
  if (!found || !typed.startsWith(`/${found.command.path} `)) return null;
  const { command, values } = found;
  const last = values.at(-1);
  const given = values.map((value) => value.option);
  return {
    command,
    values,
    option: last && command.options.find((option) => option.name === last.option),
    text: last?.text ?? "",
    from: last?.from ?? typed.length,
    open: command.options.filter((option) => !given.includes(option.name)),
  };
}

// {command, values: [{option: name, text, from: where it begins in `typed`}]}
function read(commands, typed) {
  const text = typed.slice(1);
  const command = commands
    .filter(({ path }) => text === path || text.startsWith(`${path} `))
    .sort((a, b) => b.path.length - a.path.length)[0];
  if (!command) return null;
  const names = command.options.map((option) => option.name);
  const begin = command.path.length + 1;
  const rest = typed.slice(begin);
  const starts = [...rest.matchAll(/(?:^|\s)([\w-]+):\s?/g)].filter((m) => names.includes(m[1]));
  if (!starts.length && rest.trim()) {
    const from = begin + rest.length - rest.trimStart().length;
    return { command, values: [{ option: names[0] ?? "option", text: rest.trimStart(), from }] };
  }
  const values = starts.map((match, index) => {
    const from = match.index + match[0].length;
    const end = starts[index + 1]?.index ?? rest.length;
    return { option: match[1], text: rest.slice(from, end), from: begin + from };
  });
  return { command, values };
}

// What an option may be, as labels: null where it may be anything.
export function offers(option, state) {
  if (option.choices?.length) return option.choices.map(({ name }) => name);
  if (option.type === BOOLEAN) return ["True", "False"];
  const sign = option.type === CHANNEL ? "#" : "@";
  return pool(option, state)?.map(({ name }) => sign + bare(name)) ?? null;
}

// Whom or what an option's value may name: null where it names nothing.
function pool(option, state) {
  const people = [...state.members, state.bot];
  switch (option.type) {
    case USER: return people;
    case ROLE: return state.roles;
    case MENTIONABLE: return [...people, ...state.roles];
    case CHANNEL: return state.channels.filter(({ kind }) =>
      kind !== "dm" && (option.channel_types ?? [KINDS[kind]]).includes(KINDS[kind]));
    default: return null;
  }
}

const bare = (name) => name.replace(/^[@#]/, "");

// What one may do after "/name" where that is no command yet: the paths that begin with it.
export function within(commands, typed) {
  const name = typed.slice(1).split(/\s/)[0];
  return commands.map(({ path }) => path).filter((path) => path.startsWith(`${name} `));
}

function resolve(option, value, state) {
  const choice = option.choices?.find(({ name }) => name.toLowerCase() === value.toLowerCase());
  if (choice) return choice.value;
  const wanted = bare(value).toLowerCase();
  const found = pool(option, state)?.find(({ name }) => bare(name).toLowerCase() === wanted);
  return found?.id ?? value;
}
