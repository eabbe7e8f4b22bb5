/**
 * The child process that runs the engine: reads frames from file descriptor 3, does one thing at a time, answers there.
 *
 * One runner holds one stage, or one vocabulary, or probes devices, and knows no plan and no peer. Everything blocks:
 * that is why it is a process of its own. It ends when the pipe ends, so that a killed agent leaves nothing behind.
 */
import { Socket } from 'node:net';
import { constants, setPriority } from 'node:os';
import { errorCodeOf, errorMessageOf } from '../core/errors.js';
import { encodeFrame, FrameDecoder } from '../wire/framing.js';
import { isActivation, MAX_PIPE_FRAME_BYTES, PIPE_ACTIVATION, PIPE_CONTROL, PIPE_KIND_BYTES } from '../wire/pipe.js';
import { decodeToRunner, encodeFromRunner } from '../wire/runner-codec.js';
import type { FromRunner } from '../wire/runner-codec.js';
import { BlockingPipe } from './blocking-pipe.js';
import { RunnerLoop } from './runner-loop.js';

const PIPE_DESCRIPTOR = 3;

const pipe = new BlockingPipe(PIPE_DESCRIPTOR);
/** Room for a step of hidden states, used again and again: as garbage, frames would be memory that no plan counts. */
const KEPT_FRAME_BYTES = 32 * 1024 * 1024;
const decoder = new FrameDecoder(MAX_PIPE_FRAME_BYTES, KEPT_FRAME_BYTES);
/** Once something goes on beside the pipe, the event loop reads it. */
let socket: Socket | null = null;

/** What `body` is a view of may be written to afterwards. */
function write(kind: Uint8Array, ...body: readonly Uint8Array[]): void {
  const pieces = encodeFrame([kind, ...body]);
  if (socket === null) {
    if (!pipe.write(pieces)) process.exit(0);
    return;
  }
  socket.cork();
  for (const piece of pieces) socket.write(new Uint8Array(piece));
  socket.uncork();
}

const loop = new RunnerLoop({
  control: (message: FromRunner) => write(PIPE_CONTROL, encodeFromRunner(message)),
  activation: (body: readonly Uint8Array[]) => write(PIPE_ACTIVATION, ...body),
});

function onFrame(frame: Uint8Array): void {
  const body = frame.subarray(PIPE_KIND_BYTES);
  if (isActivation(frame)) {
    loop.step(body);
    return;
  }
  const message = decodeToRunner(body);
  const call = message.kind === 'tokenize' || message.kind === 'check_grammar' ? message.call : 0;
  if (message.kind === 'convert') listen();
  try {
    loop.control(message);
  } catch (error) {
    write(PIPE_CONTROL, encodeFromRunner({ kind: 'failed', code: errorCodeOf(error), message: errorMessageOf(error), step: 0, call }));
  }
}

function onBytes(bytes: Uint8Array): void {
  try {
    for (const frame of decoder.each(bytes)) onFrame(frame);
  } catch (error) {
    // The agent is our only peer; if its bytes make no sense there is nothing left to answer.
    process.stderr.write(`the runner cannot read its pipe: ${errorMessageOf(error)}\n`);
    process.exit(70);
  }
}

/** A conversion takes minutes, and ends with the pipe all the same. */
function listen(): void {
  if (socket !== null) return;
  socket = new Socket({ fd: PIPE_DESCRIPTOR, readable: true, writable: true });
  socket.on('data', onBytes);
  socket.on('end', () => process.exit(0));
  socket.on('close', () => process.exit(0));
  socket.on('error', () => process.exit(0));
}

// Ctrl-C in a terminal and a service manager's stop reach the whole process group; the agent decides when its runners
// end: it closes the pipe.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);
process.on('SIGHUP', () => undefined);

try {
  // Heartbeats come first: the agent must stay responsive while the engine computes.
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
} catch {
  process.stderr.write('the runner keeps normal priority: the system does not allow another\n');
}

while (socket === null) {
  const bytes = pipe.read();
  if (bytes === null) process.exit(0);
  onBytes(bytes);
}
