import { type ReactNode, useEffect, useRef } from "react";
import UPlot from "uplot";
import "uplot/dist/uPlot.min.css";

export interface Series {
  readonly name: string;
  /** `null`: nothing was measured. */
  readonly values: readonly (number | null)[];
}

interface Props {
  readonly label: string;
  /** Seconds since 1970. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
}

const HEIGHT = 180;
/** Of 1,000,000 beside its axis. */
const VALUES_WIDTH = 76;
const HOUR_SECONDS = 3_600;

export function LineChart({ label, times, series }: Props): ReactNode {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const parent = element.current!;
    const style = getComputedStyle(document.documentElement);
    const [ink, line] = [style.getPropertyValue("--soft"), style.getPropertyValue("--line")];
    const axis = { stroke: ink, grid: { stroke: line }, ticks: { stroke: line } };
    const values: UPlot.Axis = { ...axis, size: VALUES_WIDTH };
    const data: UPlot.AlignedData = [[...times], ...series.map(({ values }) => [...values])];
    const lines = series.map(({ name }, i) => ({
      label: name,
      stroke: style.getPropertyValue(`--bar-${i + 1}`),
      width: 1.5,
      points: { show: times.length < 30 },
    }));
    const options = {
      ...{ width: parent.clientWidth, height: HEIGHT, legend: { live: false } },
      scales: { x: { range: lastHour } },
      ...{ axes: [{ ...axis, values: clockTimes }, values], series: [{}, ...lines] },
    };
    const chart = new UPlot(options, data, parent);
    const resized = new ResizeObserver(() => chart.setSize({ width: parent.clientWidth, height: HEIGHT }));
    resized.observe(parent);
    return () => {
      resized.disconnect();
      chart.destroy();
    };
  }, [times, series]);
  return <div ref={element} className="chart" role="img" aria-label={label} />;
}

/** `14:05`, as everywhere else in the console. */
function clockTimes(_: UPlot, seconds: readonly number[]): string[] {
  return seconds.map((second) => {
    const time = new Date(second * 1_000);
    return [time.getHours(), time.getMinutes()].map((part) => String(part).padStart(2, "0")).join(":");
  });
}

function lastHour(): [number, number] {
  const now = Date.now() / 1_000;
  return [now - HOUR_SECONDS, now];
}
