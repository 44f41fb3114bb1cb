import { type ReactNode, Suspense, lazy, useCallback, useState } from "react";
import { Failure, Loading } from "./parts/states.tsx";
import { Boundary } from "./parts/boundary.tsx";
import { type View, usePlace } from "./route/place.ts";
import type { Session } from "./session/session.ts";
import { SessionContext } from "./session/session-context.ts";
import { SignIn } from "./session/sign-in.tsx";
import { Shell } from "./shell/shell.tsx";

const VIEW: Readonly<Record<View, React.ComponentType>> = {
  overview: lazy(() => import("./overview/overview.tsx").then(({ Overview }) => ({ default: Overview }))),
  data: lazy(() => import("./data/data-view.tsx").then(({ DataView }) => ({ default: DataView }))),
  search: lazy(() => import("./search/search-view.tsx").then(({ SearchView }) => ({ default: SearchView }))),
  lab: lazy(() => import("./lab/lab-view.tsx").then(({ LabView }) => ({ default: LabView }))),
  map: lazy(() => import("./map/map-view.tsx").then(({ MapView }) => ({ default: MapView }))),
  keys: lazy(() => import("./keys/keys-view.tsx").then(({ KeysView }) => ({ default: KeysView }))),
};

export function App(): ReactNode {
  const [session, setSession] = useState<Session | null>(null);
  const begin = useCallback((made: Session) => setSession(made), []);
  const { view, tenant, database, collection } = usePlace();
  if (session === null) return <SignIn onSession={begin} />;
  const Shown = VIEW[view];
  return (
    <SessionContext.Provider value={session}>
      <Shell>
        <Boundary
          key={JSON.stringify([view, tenant, database, collection])}
          show={(error, again) => <Failure error={error} retry={again} />}
        >
          <Suspense fallback={<Loading what="the view" />}>
            <Shown />
          </Suspense>
        </Boundary>
      </Shell>
    </SessionContext.Provider>
  );
}
