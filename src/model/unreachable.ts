/**
 * Why a server cannot be reached, in words with a cure, from the error codes of the platform. Texts only: it must not know
 * what is read.
 */

export interface Unreachable {
  readonly why: string;
  readonly advice: string;
  /** Nothing on the way may mend it in seconds. */
  readonly lasting: boolean;
}

const OFFLINE = 'Is this machine connected to the internet? Behind a proxy, set HTTPS_PROXY';
const CERTIFICATE: Unreachable = {
  why: 'its certificate is not trusted', advice: 'A proxy that looks into https needs its certificate named in NODE_EXTRA_CA_CERTS; a wrong clock does this too', lasting: true,
};

const REASONS: Readonly<Record<string, Unreachable>> = {
  ENOTFOUND: { why: 'its name is not resolved', advice: OFFLINE, lasting: true },
  EAI_AGAIN: { why: 'its name is not resolved', advice: OFFLINE, lasting: true },
  ENETUNREACH: { why: 'there is no route to it', advice: OFFLINE, lasting: true },
  EHOSTUNREACH: { why: 'there is no route to it', advice: OFFLINE, lasting: true },
  ECONNREFUSED: { why: 'it refuses connections', advice: 'Is HF_ENDPOINT or the proxy the right one, and running?', lasting: true },
  ETIMEDOUT: { why: 'it does not answer', advice: OFFLINE, lasting: false },
  UND_ERR_CONNECT_TIMEOUT: { why: 'it does not answer', advice: OFFLINE, lasting: false },
  CERT_HAS_EXPIRED: CERTIFICATE,
  CERT_NOT_YET_VALID: CERTIFICATE,
  DEPTH_ZERO_SELF_SIGNED_CERT: CERTIFICATE,
  SELF_SIGNED_CERT_IN_CHAIN: CERTIFICATE,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: CERTIFICATE,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: CERTIFICATE,
};
/** Causes of causes that are looked at. */
const MAX_DEPTH = 5;

/** Null = something else went wrong. */
export function whyUnreachable(error: unknown): Unreachable | null {
  let cause = error;
  for (let depth = 0; depth < MAX_DEPTH && typeof cause === 'object' && cause !== null; depth++) {
    // Several addresses of one name were tried: the first tells enough.
    if (cause instanceof AggregateError && cause.errors.length > 0) cause = cause.errors[0];
    if (typeof cause !== 'object' || cause === null) return null;
    const found = 'code' in cause && typeof cause.code === 'string' ? REASONS[cause.code] : undefined;
    if (found !== undefined) return found;
    cause = 'cause' in cause ? cause.cause : null;
  }
  return null;
}
