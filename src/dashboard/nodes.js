/** The nodes as a table: the ring's picture in words. */
import { bytes, layers, shortId } from './format.js';
import { byId, make } from './page.js';

const HEAD = ['Node', 'State', 'Compute', 'Memory free', 'Layers'];

export function showNodes(status) {
  const rows = status.nodes.map((node) => {
    const { capabilities } = node;
    const stages = status.instances.flatMap((instance) => instance.stages.filter((stage) => stage.nodeId === node.nodeId)
      .map((stage) => `${instance.model}: ${layers(stage.range)} (${stage.state})`));
    const marks = [node.coordinator ? 'coordinator' : '', node.self ? 'this node' : ''].filter((mark) => mark !== '').join(', ');
    return make('tr', {},
      make('th', { scope: 'row' }, `${capabilities?.hostname ?? 'unknown'} …${shortId(node.nodeId)}${marks === '' ? '' : ` (${marks})`}`),
      make('td', {}, node.problem === null ? node.state : `${node.state}: ${node.problem}`),
      make('td', {}, capabilities === null ? '' : capabilities.devices.map((device) => `${device.backend}: ${device.description}`).join('; ') || capabilities.backends.join(', ')),
      make('td', {}, capabilities === null ? '' : `${bytes(capabilities.ramAvailableBytes)} of ${bytes(capabilities.ramTotalBytes)}`),
      make('td', {}, stages.join('; ') || 'none'));
  });
  byId('nodes').replaceChildren(
    make('thead', {}, make('tr', {}, ...HEAD.map((text) => make('th', { scope: 'col' }, text)))),
    make('tbody', {}, ...rows));
}
