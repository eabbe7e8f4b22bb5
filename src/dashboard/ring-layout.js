/**
 * Where the nodes of a ring are drawn, and the ways between them, in CSS pixels: around an ellipse where there is room, on
 * a phone and where they are many down one column and up the other. Only geometry.
 */

const GAP = 14;
const LINE = 21;
/** Cards of more would cover each other on an ellipse. */
const ELLIPSE_MAX = 7;
/** `middle` is where the text of so many lines goes; an edge leads from a point to the next, the last one back to the first. */
export function ringLayout({ width, count, card, narrow, lines }) {
  return (narrow && count > 2) || count > ELLIPSE_MAX ? columns({ width, count, card, narrow, lines }) : ellipse({ width, count, card, narrow, lines });
}

function ellipse({ width, count, card, narrow, lines }) {
  // Two nodes are above each other: no card needs the room at the sides.
  const radiusX = count <= 2 ? Math.min(300, width / 2 - GAP) : Math.max(60, (width - card.width) / 2 - GAP);
  const radiusY = count <= 1 ? (card.height + lines * LINE) / 2 + GAP : Math.max(118, Math.min(170, width * 0.26), count * (narrow ? 42 : 32));
  const centre = { x: width / 2, y: radiusY + card.height / 2 + GAP };
  const at = (angle) => ({ x: centre.x + radiusX * Math.cos(angle), y: centre.y + radiusY * Math.sin(angle) });
  const step = (2 * Math.PI) / Math.max(1, count);
  // Cards and the arrow of the lowest edge; an ellipse of an odd number of nodes has no card at its bottom.
  const lowest = Math.max(...Array.from({ length: Math.max(1, count) }, (_, index) => at(-Math.PI / 2 + step * index).y + card.height / 2), centre.y + (count > 1 ? radiusY + 8 : (lines * LINE) / 2));
  const angles = Array.from({ length: count }, (_, index) => -Math.PI / 2 + step * index);
  return {
    points: angles.map(at),
    middle: centre,
    track: { radiusX, radiusY },
    bottom: lowest + GAP,
    edges: angles.map((from) => {
      const [a, half, b] = [at(from), at(from + step / 2), at(from + step)];
      const angle = from + step / 2;
      return {
        path: `M ${a.x} ${a.y} A ${radiusX} ${radiusY} 0 0 1 ${half.x} ${half.y} A ${radiusX} ${radiusY} 0 0 1 ${b.x} ${b.y}`,
        arrow: half,
        degrees: degrees({ x: -radiusX * Math.sin(angle), y: radiusY * Math.cos(angle) }),
        label: { x: half.x - Math.cos(angle) * 30, y: half.y - Math.sin(angle) * 20 + 4 },
      };
    }),
  };
}

function columns({ width, count, card, narrow, lines }) {
  const down = Math.ceil(count / 2);
  const up = count - down;
  // Wide ones have room for the text between the columns.
  const top = (narrow ? lines * LINE : 0) + card.height / 2 + GAP;
  const height = (down - 1) * (card.height + 44);
  const margin = narrow ? 2 : Math.max(2, (width - 720) / 2);
  const x = { right: width - card.width / 2 - margin, left: card.width / 2 + margin };
  const points = [
    ...Array.from({ length: down }, (_, index) => ({ x: x.right, y: top + index * (card.height + 44) })),
    // As high as the other column, so that both ends are level.
    ...Array.from({ length: up }, (_, index) => ({ x: x.left, y: up === 1 ? top + height / 2 : top + height - (index * height) / (up - 1) })),
  ];
  return {
    points,
    middle: { x: width / 2, y: narrow ? (lines * LINE) / 2 : top + height / 2 },
    track: null,
    bottom: top + height + card.height / 2 + GAP,
    edges: points.map((a, index) => {
      const b = points[(index + 1) % count];
      const half = { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
      const inward = a.x !== b.x ? { x: 0, y: -14 } : { x: a.x === x.right ? -34 : 34, y: 4 };
      return { path: `M ${a.x} ${a.y} L ${b.x} ${b.y}`, arrow: half, degrees: degrees({ x: b.x - a.x, y: b.y - a.y }), label: { x: half.x + inward.x, y: half.y + inward.y } };
    }),
  };
}

function degrees({ x, y }) {
  return (Math.atan2(y, x) * 180) / Math.PI;
}
