/** The bench's hold on the floor process (floor-child.ts): one command at a time, each with a deadline. */
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { floorReply } from './floor-messages.js';
import type { FloorCommand, FloorReply } from './floor-messages.js';

const COMMAND_DEADLINE_MS = 10 * 60_000;
const STDERR_KEPT_CHARACTERS = 8_192;

type OpenCommand = Omit<Extract<FloorCommand, { kind: 'open' }>, 'kind'>;
type Reply<Kind extends FloorReply['kind']> = Extract<FloorReply, { kind: Kind }>;

export class Floor {
  private stderr = '';

  private constructor(private readonly child: ChildProcess) {
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr = (this.stderr + text).slice(-STDERR_KEPT_CHARACTERS);
    });
  }

  /** `core`: the process stays there (`taskset`); null = wherever the system puts it. */
  static async open(command: OpenCommand, core: number | null = null): Promise<{ readonly floor: Floor; readonly opened: Reply<'opened'> }> {
    const child = fork(fileURLToPath(new URL('./floor-child.js', import.meta.url)), {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      ...(core === null ? {} : { execPath: 'taskset', execArgv: ['--cpu-list', String(core), process.execPath, ...process.execArgv] }),
    });
    const floor = new Floor(child);
    try {
      return { floor, opened: await floor.ask({ kind: 'open', ...command }, isKind('opened')) };
    } catch (error) {
      await floor.close();
      throw error;
    }
  }

  sequence(prompt: readonly number[], decodeTokens: number): Promise<Reply<'sequence'>> {
    return this.ask({ kind: 'sequence', prompt: [...prompt], decodeTokens }, isKind('sequence'));
  }

  batch(slots: readonly number[], steps: number): Promise<Reply<'batch'>> {
    return this.ask({ kind: 'batch', slots: [...slots], steps }, isKind('batch'));
  }

  memory(): Promise<Reply<'memory'>> {
    return this.ask({ kind: 'memory' }, isKind('memory'));
  }

  async close(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exited = new Promise((resolve) => this.child.once('exit', resolve));
    this.child.kill('SIGKILL');
    await exited;
  }

  private ask<Wanted extends FloorReply>(command: FloorCommand, wanted: (reply: FloorReply) => reply is Wanted): Promise<Wanted> {
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        clearTimeout(timer);
        this.child.off('message', onMessage).off('exit', onExit);
      };
      const onMessage = (message: unknown): void => {
        settle();
        const reply = floorReply.parse(message);
        if (wanted(reply)) resolve(reply);
        else reject(new Error(`the floor process failed at "${command.kind}": ${reply.kind === 'failed' ? reply.message : reply.kind}`));
      };
      const onExit = (): void => {
        settle();
        reject(new Error(`the floor process ended at "${command.kind}":\n${this.stderr}`));
      };
      const timer = setTimeout(() => {
        settle();
        reject(new Error(`the floor process did not finish "${command.kind}" within ${COMMAND_DEADLINE_MS} ms`));
      }, COMMAND_DEADLINE_MS);
      this.child.on('message', onMessage).on('exit', onExit);
      this.child.send(command);
    });
  }
}

function isKind<Kind extends FloorReply['kind']>(kind: Kind): (reply: FloorReply) => reply is Reply<Kind> {
  return (reply): reply is Reply<Kind> => reply.kind === kind;
}
