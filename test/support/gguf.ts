/** For the tests of model/: the small GGUFs of small-gguf.ts, in directories of their own. */
export { smallFile, smallMetadata, smallTensors } from './small-gguf.js';
