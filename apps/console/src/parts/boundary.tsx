import { Component, type ReactNode } from "react";

interface Props {
  readonly show: (error: unknown, again: () => void) => ReactNode;
  readonly children: ReactNode;
}

interface State {
  readonly failed: { readonly error: unknown } | null;
}

/** Shows what a view throws in the place of the view; the rest of the page goes on. */
export class Boundary extends Component<Props, State> {
  override state: State = { failed: null };

  static getDerivedStateFromError(error: unknown): State {
    return { failed: { error } };
  }

  override render(): ReactNode {
    return this.state.failed === null
      ? this.props.children
      : this.props.show(this.state.failed.error, () => this.setState({ failed: null }));
  }
}
