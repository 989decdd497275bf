// What the examples that talk to `switchboard serve` share: where it is, and a session on it. The address and the token
// (`switchboard token`) are in the environment; the agent and its prompt are the arguments.

const { SWITCHBOARD_URL: url = "http://127.0.0.1:8080", SWITCHBOARD_TOKEN: token = "" } = process.env;
const [agentType, prompt] = process.argv.slice(2);

export const ask = (path: string, init: RequestInit = {}) =>
  fetch(url + path, { ...init, headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` } });

export const socket = (path: string) => {
  const address = new URL(path, url.replace(/^http/, "ws"));
  address.searchParams.set("token", token);
  return new WebSocket(address);
};

/** Starts a session, and gives its id. */
export async function session(more: object = {}): Promise<string> {
  const answer = await ask("/api/sessions", { method: "POST", body: JSON.stringify({ agentType, prompt, ...more }) });
  if (!answer.ok) throw new Error(await answer.text());
  return ((await answer.json()) as { id: string }).id;
}
