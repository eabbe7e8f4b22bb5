/**
 * `fetch` for calls that may take hours (a model that is fetched, a ring that is loaded): the platform's own gives up when no
 * headers came for five minutes, whatever its caller's signal says. Only the signal ends these.
 */

export type FetchOptions = { readonly method: string; readonly signal: AbortSignal; readonly headers: Record<string, string>; readonly body?: string };

/** Rejects as `fetch` does. */
export async function patientFetch(url: URL, options: FetchOptions): Promise<Response> {
  // Few commands need it, and loading it takes longer than most of them.
  const { Agent, fetch } = await import('undici');
  const response = await fetch(url, { ...options, dispatcher: new Agent({ headersTimeout: 0, bodyTimeout: 0 }) });
  // The platform's own class: callers know no other.
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers: [...response.headers] });
}
