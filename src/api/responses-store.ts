/**
 * Answers of the Responses API that may be gone on from (`previous_response_id`), in memory and bounded: the oldest go
 * first, all go with the agent. Each is its client's alone. It must not know HTTP.
 */
import type { ItemMessage } from './responses-items.js';

/** Answers that are kept. */
export const RESPONSES_MAX = 1_000;
/** Characters of all conversations together. */
export const RESPONSE_CHARACTERS_MAX = 32 * 1024 * 1024;

export interface StoredResponse {
  readonly client: string;
  /** The whole conversation, the answer included; without instructions. */
  readonly messages: readonly ItemMessage[];
  /** As it was answered. */
  readonly response: object;
}

export class ResponseStore {
  private readonly stored = new Map<string, { readonly kept: StoredResponse; readonly characters: number }>();
  private characters = 0;

  get(id: string, client: string): StoredResponse | null {
    const found = this.stored.get(id)?.kept;
    return found?.client === client ? found : null;
  }

  put(id: string, kept: StoredResponse): void {
    this.forget(id);
    const characters = sizeOf(kept.messages);
    this.stored.set(id, { kept, characters });
    this.characters += characters;
    for (const oldest of this.stored.keys()) {
      if (this.stored.size <= RESPONSES_MAX && this.characters <= RESPONSE_CHARACTERS_MAX) return;
      this.forget(oldest);
    }
  }

  remove(id: string, client: string): boolean {
    if (this.get(id, client) === null) return false;
    this.forget(id);
    return true;
  }

  private forget(id: string): void {
    this.characters -= this.stored.get(id)?.characters ?? 0;
    this.stored.delete(id);
  }
}

function sizeOf(messages: readonly ItemMessage[]): number {
  return messages.reduce((sum, message) => sum + JSON.stringify(message).length, 0);
}
