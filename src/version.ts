/** Versions that nodes tell each other. */

/** This program's. Kept equal to package.json's by a test. */
export const AGENT_VERSION = '0.1.0';
/** Protocol versions this agent can speak, inclusive; a peer whose range does not overlap is shown and left out. */
export const PROTOCOL_MIN = 1;
export const PROTOCOL_MAX = 1;
