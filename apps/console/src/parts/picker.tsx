import type { ReactNode } from "react";

interface Props {
  readonly label: string;
  readonly names: readonly string[];
  readonly chosen: string;
  readonly choose: (name: string) => void;
  /** What stands for the name "". */
  readonly nothing: string;
}

export function Picker({ label, names, chosen, choose, nothing }: Props): ReactNode {
  return (
    <label className="picker">
      <span>{label}</span>
      <select value={chosen} onChange={({ target }) => choose(target.value)}>
        {names.map((name) => (
          <option key={name} value={name}>
            {name === "" ? nothing : name}
          </option>
        ))}
      </select>
    </label>
  );
}
