/** Points on a canvas: hover tells of one, a drag draws a loop around several. */
import {
  type KeyboardEvent,
  type PointerEvent,
  type ReactNode,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { drawPoints } from "./draw-points.ts";
import { type Point, insideOf, nearestTo, nextFrom, placed } from "./points.ts";

interface Props {
  readonly label: string;
  /** x and y of each point. */
  readonly places: Float32Array;
  /** Index of the colour of each. */
  readonly colours: Uint8Array;
  readonly onHover: (index: number | null) => void;
  readonly onLoop: (indices: readonly number[]) => void;
  /** That is pointed at. */
  readonly hovered: number | null;
  readonly onOpen: (index: number) => void;
}

const WIDTH = 900;
const HEIGHT = 560;
export const COLOURS = 4;
const DIRECTIONS: ReadonlyMap<string, Point> = new Map([
  ["ArrowLeft", { x: -1, y: 0 }],
  ["ArrowRight", { x: 1, y: 0 }],
  ["ArrowUp", { x: 0, y: -1 }],
  ["ArrowDown", { x: 0, y: 1 }],
]);

export function Scatter(props: Props): ReactNode {
  const { label, places, colours, onHover, onLoop, hovered, onOpen } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  // Moves come faster than the page is drawn.
  const loop = useRef<readonly Point[]>([]);
  const [drawn, setDrawn] = useState<readonly Point[]>([]);
  const points = useMemo(() => placed(places, WIDTH, HEIGHT), [places]);
  const theme = useTheme();
  const ring = hovered === null ? null : { x: points[2 * hovered]!, y: points[2 * hovered + 1]! };
  useEffect(() => draw(canvas.current!, points, colours, drawn), [points, colours, drawn, theme]);
  const at = (event: PointerEvent): Point => {
    const { left, top, width } = canvas.current!.getBoundingClientRect();
    const scale = WIDTH / width;
    return { x: (event.clientX - left) * scale, y: (event.clientY - top) * scale };
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const direction = DIRECTIONS.get(event.key);
    if (direction !== undefined) onHover(nextFrom(points, hovered, direction));
    else if (event.key === "Enter" && hovered !== null) onOpen(hovered);
    else return;
    event.preventDefault();
  };
  return (
    <div className="points">
      <canvas
        ref={canvas}
        tabIndex={0}
        onKeyDown={onKeyDown}
        width={WIDTH}
        height={HEIGHT}
        role="img"
        aria-label={label}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          loop.current = [at(event)];
          setDrawn([]);
        }}
        onPointerMove={(event) => {
          if (event.buttons === 0) onHover(nearestTo(points, at(event)));
          else {
            loop.current = [...loop.current, at(event)];
            setDrawn(loop.current);
          }
        }}
        onPointerUp={() => {
          onLoop(insideOf(points, loop.current));
          // The line stays until the next one is begun.
          loop.current = [];
        }}
        onPointerLeave={() => onHover(null)}
      />
      {ring !== null && (
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
          <circle cx={ring.x} cy={ring.y} r="8" />
        </svg>
      )}
    </div>
  );
}

/** Changes with the colours of the page. */
function useTheme(): string | undefined {
  const { documentElement } = document;
  return useSyncExternalStore(
    (onChange) => {
      const watched = new MutationObserver(onChange);
      watched.observe(documentElement, { attributes: true, attributeFilter: ["data-theme"] });
      return () => watched.disconnect();
    },
    () => documentElement.dataset["theme"],
  );
}

function draw(
  canvas: HTMLCanvasElement,
  points: Float32Array,
  colours: Uint8Array,
  loop: readonly Point[],
): void {
  const context = canvas.getContext("2d")!;
  const style = getComputedStyle(document.documentElement);
  const inks = Array.from({ length: COLOURS }, (_, colour) =>
    wordOf(context, style.getPropertyValue(`--bar-${colour + 1}`)),
  );
  const picture = context.createImageData(WIDTH, HEIGHT);
  drawPoints({ pixels: new Uint32Array(picture.data.buffer), width: WIDTH }, points, colours, inks);
  context.putImageData(picture, 0, 0);
  const [first] = loop;
  if (first === undefined) return;
  context.strokeStyle = style.getPropertyValue("--ink");
  context.beginPath();
  context.moveTo(first.x, first.y);
  for (const { x, y } of loop) context.lineTo(x, y);
  context.stroke();
}

/** A colour of the style sheet as a pixel of a picture. */
function wordOf(context: CanvasRenderingContext2D, colour: string): number {
  context.fillStyle = colour;
  // Read back as #rrggbb, whatever notation it was in.
  const hex = Number.parseInt(context.fillStyle.slice(1), 16);
  return new Uint32Array(Uint8Array.of(hex >> 16, hex >> 8, hex, 255).buffer)[0]!;
}
