// Asking the server. Every refusal becomes a `Problem` with words for people.

export class Problem extends Error {
  constructor(status, { detail, title, hint, code } = {}) {
    const words = detail ?? title ?? 'the server did not answer';
    super(words.charAt(0).toUpperCase() + words.slice(1));
    this.status = status;
    this.hint = hint;
    this.code = code;
  }
}

// A path with its query; what is empty is left out.
export function path(address, query = {}) {
  const said = Object.entries(query).filter(([, value]) => value != null && value !== '');
  return said.length ? `${address}?${new URLSearchParams(said)}` : address;
}

async function answer(response) {
  if (response.ok) return response;
  const body = await response.json().catch(() => ({}));
  throw new Problem(response.status, body);
}

async function send(method, address, body, signal) {
  const headers = body === undefined ? {} : { 'content-type': 'application/json' };
  const json = body === undefined ? undefined : JSON.stringify(body);
  try {
    return await answer(await fetch(address, { method, headers, body: json, signal }));
  } catch (error) {
    if (error instanceof Problem || error.name === 'AbortError') throw error;
    throw new Problem(0, { detail: 'The server cannot be reached', hint: 'Is `switchboard serve` still running?' });
  }
}

export async function get(address, query, signal) {
  return (await send('GET', path(address, query), undefined, signal)).json();
}

export async function getText(address, query) {
  return (await send('GET', path(address, query))).text();
}

export async function post(address, body) {
  const response = await send('POST', address, body);
  return response.status === 204 ? null : response.json();
}

export const remove = (address) => send('DELETE', address);

export const part = (words) => encodeURIComponent(words);

// Something that is asked for once and then remembered, unless it fails.
export function once(make) {
  let kept;
  return () =>
    (kept ??= make().catch((error) => {
      kept = undefined;
      throw error;
    }));
}

export const agents = once(async () => {
  const { agents } = await get('/api/agents');
  return new Map(agents.map((agent) => [agent.id, agent]));
});
