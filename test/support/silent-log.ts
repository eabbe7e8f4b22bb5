/** A log that says nothing, for parts that must have one. */
import type { Log } from '../../src/ports.js';

export const SILENT: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined, child: () => SILENT };
