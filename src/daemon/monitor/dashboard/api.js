/* What is asked of /api/v1, and the token. It stays in this tab's session storage, and goes nowhere
 * but into the header of requests to where the page came from. */

const TOKEN = "fisd-token";
const PATIENCE_MS = 8000;

export const token = {
  get: () => sessionStorage.getItem(TOKEN) ?? "",
  set: text => sessionStorage.setItem(TOKEN, text),
  forget: () => sessionStorage.removeItem(TOKEN),
};

export class Refused extends Error {
  constructor(status, text, token) {
    super(text);
    this.status = status;
    this.token = token; /* the one that was sent */
  }
}

async function ask(path, more = {}) {
  const headers = { Accept: "application/json", ...more.headers }, mine = token.get();
  if (mine) headers.Authorization = `Bearer ${mine}`;
  const answer = await fetch(`/api/v1/${path}`, {
    ...more,
    headers,
    cache: "no-store",
    credentials: "omit",
    signal: AbortSignal.timeout(PATIENCE_MS)
  });
  if (answer.ok) return await answer.json(); /* one that was cut short is no answer */
  const body = await answer.json().catch(() => null);
  throw new Refused(answer.status, body?.detail ?? `HTTP status ${answer.status}`, mine);
}

/* null: this fisd has no such page. */
export async function read(path) {
  try {
    return await ask(path);
  } catch (e) {
    if (e instanceof Refused && e.status === 404) return null;
    throw e;
  }
}

export const command = (name, body = {}) => ask(name,
  {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body)});
