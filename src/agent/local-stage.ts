/**
 * One stage of one plan on this node: its files, its runner, the edges that enter and leave it.
 *
 * `fetching` -> `loading` -> `ready`, or `failed` with the reason. Frames of another plan are refused by name. It does
 * not decide anything: the coordinator's plan says what to be, and a failure is reported, not repaired, here.
 */
import { pipe } from 'it-pipe';
import { errorCodeOf, errorMessageOf, RingError } from '../core/errors.js';
import { callTokens } from '../core/step-size.js';
import type { NodeId, Plan, StagePlan, StageState, StageStatus } from '../core/types.js';
import type { Clock, FrameLink, Log, ModelLibrary, Network, RemoteWeights, Runner, RunnerEvents, StageFiles, StageRole } from '../ports.js';
import { decodeActivationHeader, encodeReturn } from '../wire/activation-codec.js';
import type { ActivationHeader } from '../wire/activation-codec.js';
import type { RunnerPool } from './runner-pool.js';

/** Frames that may wait for the next node's link; the head keeps far fewer in flight. */
const MAX_WAITING_FRAMES = 256;
const DIAL_RETRY_MS = 150;
/** How long the next node may take to know the plan. */
const DIAL_DEADLINE_MS = 20_000;
/** A step so long ago was one of an answer that may go on. */
const LATELY_MS = 1_000;
/** How often a whole fetch is reported. */
const PROGRESS_STEPS = 50;
/** Between two words in the log about one fetch. */
const PROGRESS_LOG_MS = 10_000;

export interface LocalStageEvents {
  statusChanged(): void;
  /** Tail only: results came out of the runner. */
  sampled(header: ActivationHeader): void;
  /** Head only: a step came around (or, alone, out of the runner). */
  stepReturned(header: ActivationHeader): void;
  /** Head only: the runner is done with a step, and it is on its way to the next stage. */
  passedOn(): void;
  /** Head only: the ring is joined up and the runner is loaded. */
  becameReady(): void;
}

export interface LocalStageSettings {
  readonly threads: number;
}

export interface LocalStagePorts {
  readonly network: Network;
  readonly library: ModelLibrary;
  readonly remote: RemoteWeights;
  readonly runners: RunnerPool;
  readonly clock: Clock;
  readonly log: Log;
}

export class LocalStage {
  private state: StageState = 'fetching';
  private progress = 0;
  private error: { code: string; message: string } | null = null;
  private residentBytes = 0;
  private fetchedBytes = 0;
  private progressSaidMs: number | null = null;
  private buildMs: number | null = null;
  private runner: Runner | null = null;
  private outbound: FrameLink | null = null;
  private inbound: FrameLink | null = null;
  private readonly waiting: Uint8Array[] = [];
  private sending = false;
  private stopped = false;
  /** The last that came from the previous stage: steps come one by one, in order. */
  private lastStep = 0;
  /** Something came from the previous stage. */
  private tookSteps = false;
  private steppedAtMs = Number.NEGATIVE_INFINITY;
  private readonly abort = new AbortController();
  private readonly runnerEvents: RunnerEvents = {
    activation: (body) => this.fromRunner(body),
    resident: (bytes) => {
      this.residentBytes = bytes;
      this.events.statusChanged();
    },
    stepFailed: (step, error) => this.failInbound(new RingError(error.code, `step ${step} failed: ${error.message}`, {}, { cause: error })),
    ended: (error) => {
      if (!this.stopped) this.fail(error ?? new RingError('runner_died', 'the runner ended'));
    },
  };
  /** Token ids that the head accepts are below this. */
  vocabularySize = 0;
  /** As the engine says of the model: all stages are of one architecture. */
  canRollBack = false;

  constructor(
    readonly plan: Plan,
    readonly stage: StagePlan,
    private readonly settings: LocalStageSettings,
    private readonly ports: LocalStagePorts,
    private readonly events: LocalStageEvents,
  ) {}

  get isHead(): boolean {
    return this.stage.rank === 0;
  }

  get isTail(): boolean {
    return this.stage.rank === this.plan.stages.length - 1;
  }

  get isReady(): boolean {
    return this.state === 'ready' && (this.plan.stages.length === 1 || this.outbound !== null);
  }

  /** Its runner was done with a step a moment ago. */
  hasSteppedLately(): boolean {
    return this.ports.clock.now() - this.steppedAtMs < LATELY_MS;
  }

  status(): StageStatus {
    return {
      planId: this.plan.planId,
      rank: this.stage.rank,
      state: this.state,
      progress: this.progress,
      error: this.error,
      residentBytes: this.residentBytes,
      fetchedBytes: this.fetchedBytes,
      ...(this.buildMs === null ? {} : { buildMs: this.buildMs }),
    };
  }

  /** Fetches, loads, joins up. Never throws: a failure becomes the status. */
  async start(): Promise<void> {
    const startedAtMs = this.ports.clock.now();
    try {
      const files = await this.prepareFiles();
      if (this.stopped) return;
      this.setState('loading');
      await this.load(await this.inPrecision(files));
      if (this.stopped) return;
      this.buildMs = Math.round(this.ports.clock.now() - startedAtMs);
      this.setState('ready');
      if (this.plan.stages.length > 1) await this.dialNext();
      if (!this.stopped && this.isHead) this.events.becameReady();
    } catch (error) {
      if (!this.stopped) this.fail(error);
    }
  }

  /**
   * The edge that enters this stage. A second one replaces a first one that nothing came over; after that its sender began
   * anew, and what this stage remembers of its sequences is not what the sender believes.
   */
  acceptLink(from: NodeId, link: FrameLink): void {
    const expected = this.plan.stages[(this.stage.rank + this.plan.stages.length - 1) % this.plan.stages.length];
    if (expected === undefined || expected.nodeId !== from || this.stopped) {
      link.close(new RingError('wrong_plan', `node ${from} is not the previous stage of plan ${this.plan.planId}`));
      return;
    }
    if (this.tookSteps) this.fail(new RingError('peer_lost', `the previous stage, on node ${from}, began anew`));
    if (this.state === 'failed') {
      link.close(new RingError('not_ready', `stage ${this.stage.rank} of plan ${this.plan.planId} has failed`));
      return;
    }
    this.inbound?.close();
    this.inbound = link;
    void this.pumpInbound(link);
  }

  /** Head only: a step from the scheduler. */
  enter(body: Uint8Array): void {
    this.runner?.step(body);
  }

  /** Ends the edges and gives the runner back. */
  async stop(reason: string): Promise<void> {
    if (this.stopped) return;
    this.stopped = true;
    this.abort.abort(new RingError('cancelled', reason));
    this.inbound?.close();
    this.outbound?.close();
    this.waiting.length = 0;
    this.runner = null;
    this.ports.runners.release(this.plan, this.stage, this.runnerEvents);
  }

  private async prepareFiles(): Promise<StageFiles> {
    const startedMs = this.ports.clock.now();
    const files = await this.ports.library.stageFiles({
      model: this.plan.model,
      range: this.stage.range,
      head: this.isHead,
      tail: this.isTail,
      signal: this.abort.signal,
      onProgress: (fraction) => this.setProgress(fraction),
      onInternetBytes: (bytes) => {
        this.fetchedBytes += bytes;
      },
    }, this.countedWeights());
    this.progress = 1;
    if (this.fetchedBytes > 0) this.ports.log.info('a stage was fetched', { ...this.named(), fetchedBytes: this.fetchedBytes, seconds: Math.round((this.ports.clock.now() - startedMs) / 1000) });
    return files;
  }

  /** The stage's weights in the precision that the plan says; made once, found ever after. */
  private async inPrecision(files: StageFiles): Promise<StageFiles> {
    const { precision, range } = this.stage;
    if (precision === undefined) return files;
    const part = { model: this.plan.model, range, head: this.isHead, tail: this.isTail };
    const { file, bytes } = await this.ports.library.convertedFile(part, files.stageFile, precision);
    if (bytes !== null) return { ...files, stageFile: file, bytes };
    const what = `layers ${range.start}-${range.end - 1} of ${this.plan.model.name}`;
    const made = await this.ports.runners.convert(what, { sourceFile: files.stageFile, targetFile: file, precision }, files.bytes);
    return { ...files, stageFile: file, bytes: made };
  }

  /** The remote weights, with every byte that comes for this stage counted. */
  private countedWeights(): RemoteWeights {
    const { remote } = this.ports;
    const count = (bytes: number): void => {
      this.fetchedBytes += bytes;
    };
    return {
      header: (modelDigest, signal) => remote.header(modelDigest, signal),
      tensor: async (modelDigest, tensorName, signal) => {
        const content = await remote.tensor(modelDigest, tensorName, signal);
        return {
          ...content,
          read: async function* read(offset) {
            for await (const chunk of content.read(offset)) {
              count(chunk.byteLength);
              yield chunk;
            }
          },
        };
      },
    };
  }

  private setProgress(fraction: number): void {
    const shown = Math.floor(this.progress * PROGRESS_STEPS);
    this.progress = fraction;
    if (Math.floor(fraction * PROGRESS_STEPS) !== shown) this.events.statusChanged();
    const nowMs = this.ports.clock.now();
    this.progressSaidMs ??= nowMs;
    if (this.fetchedBytes === 0 || nowMs - this.progressSaidMs < PROGRESS_LOG_MS) return;
    this.progressSaidMs = nowMs;
    this.ports.log.info('a stage is being fetched', { ...this.named(), percent: Math.floor(fraction * 100), fetchedBytes: this.fetchedBytes });
  }

  private named(): object {
    const { range } = this.stage;
    return { plan: this.plan.planId, model: this.plan.model.name, layers: `${range.start}-${range.end - 1}` };
  }

  private async load(files: StageFiles): Promise<void> {
    const stages = this.plan.stages.length;
    const role: StageRole = stages === 1 ? 'whole' : this.isHead ? 'head' : this.isTail ? 'tail' : 'middle';
    const { runner, loaded } = await this.ports.runners.acquire(this.plan, this.stage, {
      role,
      stageFile: files.stageFile,
      embedding: files.embedding,
      ...(this.stage.backend === undefined ? {} : { backend: this.stage.backend }),
      ...(this.stage.keyValueCache === undefined ? {} : { keyValueCache: this.stage.keyValueCache }),
      ...(this.stage.spill === undefined ? {} : { deviceLayers: this.stage.range.end - this.stage.range.start - this.stage.spill.hostLayers }),
      ...(this.plan.activations === undefined || this.isTail ? {} : { activations: this.plan.activations }),
      threads: this.settings.threads,
      contextTokens: this.plan.contextTokens,
      slots: this.plan.slots,
      keyType: this.plan.keyType,
      valueType: this.plan.valueType,
      batchTokens: callTokens({ stages, backend: this.stage.backend }),
    }, files.bytes, this.runnerEvents);
    if (this.stopped) {
      // The plan ended while its runner loaded: whoever comes next may have it, or it ends.
      this.ports.runners.release(this.plan, this.stage, this.runnerEvents);
      return;
    }
    this.runner = runner;
    this.residentBytes = loaded.residentBytes;
    this.vocabularySize = files.embedding?.rows ?? loaded.vocabularySize;
    this.canRollBack = loaded.canRollBack;
  }

  private async dialNext(): Promise<void> {
    const rank = (this.stage.rank + 1) % this.plan.stages.length;
    const next = this.plan.stages[rank];
    if (next === undefined) return;
    const deadline = this.ports.clock.now() + DIAL_DEADLINE_MS;
    for (;;) {
      try {
        const link = await this.ports.network.openRingLink(next.nodeId, { planId: this.plan.planId, rank });
        if (this.stopped) {
          link.close();
          return;
        }
        this.outbound = link;
        void this.watchOutbound(link, next.nodeId);
        void this.flush();
        return;
      } catch (error) {
        if (this.stopped) return;
        if (this.ports.clock.now() > deadline) {
          throw new RingError('peer_unreachable', `the next stage's node ${next.nodeId} does not take this ring's link: ${errorMessageOf(error)}`, {}, { cause: error });
        }
        await new Promise<void>((resolve) => this.ports.clock.after(DIAL_RETRY_MS, resolve));
      }
    }
  }

  /** Nothing comes back on an outbound edge; its end is what we wait for. */
  private async watchOutbound(link: FrameLink, to: NodeId): Promise<void> {
    try {
      for await (const frame of link.frames) this.ports.log.debug('a frame against the ring\'s direction', { bytes: frame.byteLength });
    } catch (error) {
      this.ports.log.debug('an outbound edge broke', { to, error: errorMessageOf(error) });
    }
    if (!this.stopped && this.outbound === link) this.fail(new RingError('peer_lost', `the link to the next stage's node ${to} broke`));
  }

  /** Link -> head or runner. The next frame is asked for when this one is done with. */
  private async pumpInbound(link: FrameLink): Promise<void> {
    try {
      await pipe(link.frames, (frames) => this.takeFrames(frames));
      if (!this.stopped && this.inbound === link) this.fail(new RingError('peer_lost', 'the link from the previous stage ended'));
    } catch (error) {
      if (!this.stopped && this.inbound === link) this.failInbound(error);
    }
  }

  /** What the previous stage's node sent is its fault. */
  private failInbound(error: unknown): void {
    const code = errorCodeOf(error);
    const previous = this.plan.stages[(this.stage.rank + this.plan.stages.length - 1) % this.plan.stages.length];
    this.fail(error);
    if (previous !== undefined && (code === 'bad_frame' || code === 'frame_too_large')) this.ports.network.accuse?.(previous.nodeId, errorMessageOf(error));
  }

  private async takeFrames(frames: AsyncIterable<Uint8Array>): Promise<void> {
    for await (const body of frames) {
      if (this.stopped) return;
      const header = decodeActivationHeader(body);
      this.checkOrder(header);
      this.tookSteps = true;
      if (this.isHead) {
        this.events.stepReturned(header);
        continue;
      }
      if (this.runner === null) throw new RingError('not_ready', `a frame arrived while stage ${this.stage.rank} was ${this.state}`);
      // The link is read no further until the pipe has room: back-pressure reaches the head.
      if (!this.runner.step(body)) await this.runner.drained();
    }
  }

  /** Every step of this plan once, and nothing else. */
  private checkOrder({ planId, step }: ActivationHeader): void {
    if (planId !== this.plan.planId) throw new RingError('wrong_plan', `a frame of plan ${planId} arrived on a link of plan ${this.plan.planId}`);
    if (step !== this.lastStep + 1) throw new RingError('bad_frame', `step ${step} came after step ${this.lastStep}: a frame was left out, repeated or misplaced`);
    this.lastStep = step;
  }

  private fromRunner(body: Uint8Array): void {
    if (this.stopped) return;
    this.steppedAtMs = this.ports.clock.now();
    try {
      if (!this.isTail) {
        this.pass(body);
        if (this.isHead) this.events.passedOn();
        return;
      }
      const header = decodeActivationHeader(body);
      // First what the ring waits for.
      if (this.isHead) this.events.stepReturned(header);
      else this.pass(encodeReturn(body, header));
      this.events.sampled(header);
    } catch (error) {
      this.fail(error);
    }
  }

  /** To the next stage's node. */
  private pass(frame: Uint8Array): void {
    if (this.waiting.length >= MAX_WAITING_FRAMES) throw new RingError('queue_full', `${MAX_WAITING_FRAMES} frames wait for the next stage's node`);
    this.waiting.push(frame);
    void this.flush();
  }

  private async flush(): Promise<void> {
    const link = this.outbound;
    if (this.sending || link === null) return;
    this.sending = true;
    try {
      for (let frame = this.waiting.shift(); frame !== undefined; frame = this.waiting.shift()) await link.send(frame);
    } catch (error) {
      if (!this.stopped) this.fail(error);
    } finally {
      this.sending = false;
    }
  }

  private setState(state: StageState): void {
    this.state = state;
    this.events.statusChanged();
  }

  private fail(error: unknown): void {
    if (this.state === 'failed') return;
    this.error = { code: errorCodeOf(error), message: errorMessageOf(error) };
    this.ports.log.warn('a stage failed', { plan: this.plan.planId, rank: this.stage.rank, code: this.error.code, error: this.error.message });
    this.inbound?.close();
    this.outbound?.close();
    this.setState('failed');
  }
}
