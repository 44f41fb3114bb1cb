/** Points on a canvas: hover tells of one, a drag draws a loop around several. */
import { type PointerEvent, type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { type Point, insideOf, nearestTo, placed } from "./points.ts";

interface Props {
  readonly label: string;
  /** x and y of each point. */
  readonly places: Float32Array;
  /** Index of the colour of each. */
  readonly colours: Uint8Array;
  readonly onHover: (index: number | null) => void;
  readonly onLoop: (indices: readonly number[]) => void;
}

const WIDTH = 900;
const HEIGHT = 560;
const RADIUS = 3;
export const COLOURS = 4;

export function Scatter({ label, places, colours, onHover, onLoop }: Props): ReactNode {
  const canvas = useRef<HTMLCanvasElement>(null);
  // Moves come faster than the page is drawn.
  const loop = useRef<readonly Point[]>([]);
  const [drawn, setDrawn] = useState<readonly Point[]>([]);
  const points = useMemo(() => placed(places, WIDTH, HEIGHT), [places]);
  useEffect(() => draw(canvas.current!, points, colours, drawn), [points, colours, drawn]);
  const at = (event: PointerEvent): Point => {
    const { left, top, width } = canvas.current!.getBoundingClientRect();
    const scale = WIDTH / width;
    return { x: (event.clientX - left) * scale, y: (event.clientY - top) * scale };
  };
  return (
    <canvas
      ref={canvas}
      width={WIDTH}
      height={HEIGHT}
      role="img"
      aria-label={label}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        loop.current = [at(event)];
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
        loop.current = [];
        setDrawn([]);
      }}
      onPointerLeave={() => onHover(null)}
    />
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
  context.clearRect(0, 0, WIDTH, HEIGHT);
  for (let colour = 0; colour < COLOURS; colour++) {
    context.fillStyle = style.getPropertyValue(`--bar-${colour + 1}`);
    context.beginPath();
    for (let i = 0; i < colours.length; i++) {
      if (colours[i] !== colour) continue;
      const [x, y] = [points[2 * i]!, points[2 * i + 1]!];
      context.moveTo(x + RADIUS, y);
      context.arc(x, y, RADIUS, 0, 2 * Math.PI);
    }
    context.fill();
  }
  const [first] = loop;
  if (first === undefined) return;
  context.strokeStyle = style.getPropertyValue("--ink");
  context.beginPath();
  context.moveTo(first.x, first.y);
  for (const { x, y } of loop) context.lineTo(x, y);
  context.stroke();
}
