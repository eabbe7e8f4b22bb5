/** `agent secret`: makes a cluster secret and prints it as words. */
import { generateSecret } from '../net/secret.js';

export function secretCommand(): void {
  process.stdout.write(`${generateSecret()}\n`);
  if (process.stdout.isTTY) {
    process.stderr.write('\nPut these words in a file that only you can read, on every machine, and start each agent with\n  agent start --secret-file FILE\n');
  }
}
