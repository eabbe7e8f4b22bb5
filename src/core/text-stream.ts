/**
 * Token pieces to text: bytes in, whole characters out, whatever way tokens cut a character into pieces.
 *
 * A byte-level vocabulary may give one character in several tokens. What is not complete yet is held back until the
 * next piece; bytes that can never become a character turn into U+FFFD, one per maximal invalid part (the WHATWG
 * rule, so that the text is what every other decoder would show). The text of an answer is therefore the same
 * however its bytes were cut. It must not know tokens, vocabularies or stop sequences.
 */
export class TextStream {
  /** `ignoreBOM` keeps a leading U+FEFF: it is the model's text, not a mark of ours. */
  private readonly decoder = new TextDecoder('utf-8', { fatal: false, ignoreBOM: true });

  /** The text that became certain with these bytes; empty while a character is incomplete. */
  push(bytes: Uint8Array): string {
    return this.decoder.decode(bytes, { stream: true });
  }

  /** What is left at the end: U+FFFD for an incomplete character, else nothing. The stream may be used anew after. */
  end(): string {
    return this.decoder.decode();
  }
}
