/**
 * Turns the way a runner died (exit code, signal, last words on stderr) into an error that a person can act on.
 *
 * The engine ends its process on a failed assertion, and the kernel ends it when memory runs out; what it wrote last is
 * all there is to go by. Pure, so that every pattern has a test.
 */
import { RingError } from '../core/errors.js';
import type { ErrorCode } from '../core/errors.js';

export interface RunnerDeath {
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** The end of what it wrote to stderr. */
  readonly stderr: string;
}

interface Pattern {
  readonly code: ErrorCode;
  readonly matches: RegExp;
  readonly advice: string;
}

/** First match wins; the most specific come first. */
const PATTERNS: readonly Pattern[] = [
  {
    code: 'out_of_memory',
    matches: /out of memory|failed to allocate|unable to allocate|cannot allocate memory|std::bad_alloc|ErrorOutOf(Device|Host)Memory/i,
    advice: 'the machine has too little free memory for this stage: close other programs, lower --ctx or --slots, or add a node',
  },
  {
    code: 'unsupported_architecture',
    matches: /unknown model architecture|unknown architecture|unsupported model/i,
    advice: 'this version of the engine does not know the model\'s architecture',
  },
  {
    code: 'bad_gguf',
    matches: /invalid magic|failed to read (key|tensor)|tensor '.*' (has wrong|data is not within)|wrong number of tensors|missing tensor|error loading model|gguf_init/i,
    advice: 'the model file is damaged or incomplete: fetch it again',
  },
  {
    code: 'backend_missing',
    matches: /no (usable )?(gpu|device|backend) found|ggml_vulkan: (error|no devices)|vk::.*(InitializationFailed|IncompatibleDriver)|CUDA driver version is insufficient|failed to initialize (CUDA|Metal)/i,
    advice: 'the assigned device is gone or its driver does not work: check it, or start with another backend',
  },
  { code: 'engine_failed', matches: /GGML_ASSERT|GGML_ABORT|assert(ion)? .*failed/i, advice: 'the engine stopped on an internal check; please report it with the lines above' },
];

const LAST_LINES = 6;

/** The error that describes a runner's end. `what` names the runner, e.g. `the runner of layers 0-7 of kjv`. */
export function describeDeath(what: string, death: RunnerDeath): RingError {
  const lines = death.stderr.split('\n').map((line) => line.trim()).filter((line) => line !== '');
  const lastWords = lines.slice(-LAST_LINES).join(' | ');
  const how = death.signal !== null ? `was ended by ${death.signal}` : `exited with code ${death.exitCode ?? 'unknown'}`;
  const pattern = PATTERNS.find((candidate) => candidate.matches.test(death.stderr));
  // SIGKILL without a word is what the kernel's out-of-memory killer looks like from here, or a person's kill -9.
  const silentKill = death.signal === 'SIGKILL' && pattern === undefined;
  const code: ErrorCode = pattern?.code ?? 'runner_died';
  const advice = pattern?.advice ?? (silentKill ? 'it was killed from outside; if nobody did, the machine ran out of memory' : 'see the agent\'s log');
  const words = lastWords === '' ? '' : `; its last words: ${lastWords}`;
  return new RingError(code, `${what} ${how}: ${advice}${words}`, {
    exitCode: death.exitCode,
    signal: death.signal,
  });
}
