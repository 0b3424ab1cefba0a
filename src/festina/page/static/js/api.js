/** The server's answers: JSON for questions, streams of events for what takes time. */

/** What the server, or the way to it, had to say about a request that failed. */
export class ApiError extends Error {
  constructor(status, message, field = null, confirm = null) {
    super(message);
    this.status = status;
    this.field = field;
    this.confirm = confirm;
  }
}

export const listExperiments = () => request("GET", "/api/experiments");

export const describeExperiment = (name) => request("GET", `/api/experiments/${name}`);

/** What theory says, or null if the experiment has none. */
export const askTheory = (question) => request("POST", "/api/theory", question);

export const listStories = () => request("GET", "/api/stories");

export const tellStory = (name) => request("GET", `/api/stories/${encodeURIComponent(name)}`);

/** What lies in the reader's own folder, and one of it. */
export const listOwn = () => request("GET", "/api/own");

export const openOwn = (id) => request("GET", `/api/own/${id}`);

/** A map of a sweep: {variable, x, y, at}. */
export const sliceOwn = (id, asked) => request("POST", `/api/own/${id}/slice`, asked);

export const startRun = (question) => request("POST", "/api/runs", question);

export const startMap = (question) => request("POST", "/api/maps", question);

/** Cancel a run (`runs`) or a map (`maps`). It may be over already, which is as good. */
export function cancel(kind, id) {
  fetch(`/api/${kind}/${id}`, { method: "DELETE", keepalive: true }).catch(() => undefined);
}

/** Where a finished run's figure or data is. */
export const downloadAddress = (id, file) => `/api/runs/${id}/${file}`;

/** Why an address does not give what was hoped for, in a sentence. */
export async function reasonOf(address) {
  try {
    await request("GET", address);
    return "the browser could not show it.";
  } catch (error) {
    return error.message;
  }
}

/**
 * Listen to the events of a run or a map. `listeners` has one function per event, and `lost` for a broken connection.
 * Gives the function that stops listening.
 */
export function listen(kind, id, listeners) {
  const source = new EventSource(`/api/${kind}/${id}/events`);
  for (const [name, hear] of Object.entries(listeners)) {
    if (name !== "lost") source.addEventListener(name, (event) => hear(JSON.parse(event.data)));
  }
  source.addEventListener("error", () => {
    source.close(); // a run without listeners is cancelled, so there is nothing to come back to
    listeners.lost?.();
  });
  return () => source.close();
}

async function request(method, address, body) {
  const options = { method, headers: { Accept: "application/json" } };
  if (body !== undefined) {
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  const answer = await reach(address, options);
  if (answer.status === 204) return null;
  const content = await answer.json().catch(() => null);
  if (answer.ok) return content;
  const { message = `The server answered with status ${answer.status}.`, field = null } = content?.error ?? {};
  throw new ApiError(answer.status, message, field, content?.confirm ?? null);
}

async function reach(address, options) {
  try {
    return await fetch(address, options);
  } catch {
    throw new ApiError(0, "The server does not answer. Is `festina explore` still running?");
  }
}
