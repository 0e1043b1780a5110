// The control interface, and the stream of changes.

export class Refused extends Error {
  // `fields`: of a form, what is wrong by custom id.
  constructor(message, fields) {
    super(message);
    this.fields = fields;
  }
}

export async function call(method, path, body) {
  const response = await fetch(`/control${path}`, {
    method,
    headers: body ? { "Content-Type": "application/json" } : {},
    body: body ? JSON.stringify(body) : undefined,
  });
  const answer = await response.json();
  if (!response.ok) throw new Refused(answer.error ?? `error ${response.status}`, answer.fields);
  return answer;
}

const RETRY_MS = 1000;

// Calls `onChange` for every change and `onLost` when the line breaks; then tries again for ever.
// After each connect the first change is {what: "hello", state}.
export function follow(onChange, onLost) {
  const source = new EventSource("/control/events");
  source.onmessage = (event) => onChange(JSON.parse(event.data));
  source.onerror = () => {
    onLost();
    source.close();
    setTimeout(() => follow(onChange, onLost), RETRY_MS);
  };
}
