/** What there is: the usage of the tenant beside its quotas, its collections, and how the server does. */
import type { Amount, TenantUsage } from "@sheaf/client";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { ManageButton } from "../collections/manage-button.tsx";
import { bytes, number } from "../parts/format.ts";
import { Failure, Loading } from "../parts/states.tsx";
import { isRoot, may } from "../session/session.ts";
import { useSession } from "../session/session-context.ts";
import { type Scope, useScope } from "../session/use-scope.ts";
import { CollectionsTable } from "./collections-table.tsx";
import { ServerHealth } from "./server-health.tsx";

const REFRESH_MS = 10_000;
const SLOW_REFRESH_MS = 120_000;
const DESCRIBED = 1_000;

export function Overview(): ReactNode {
  const session = useSession();
  const scope = useScope();
  return (
    <>
      <div className="row">
        <h1>{scope.tenant}</h1>
        <ManageButton managed="new">Make a collection</ManageButton>
        <ManageButton managed="databases">Databases</ManageButton>
      </div>
      {may(session, "read") ? (
        <Usage scope={scope} />
      ) : (
        <p className="hint">The key does not read collections.</p>
      )}
      {isRoot(session) && <ServerHealth />}
    </>
  );
}

function Usage({ scope }: { readonly scope: Scope }): ReactNode {
  const usage = useQuery<TenantUsage>({
    queryKey: ["usage", scope.tenant],
    // The server goes through all collections for the sums.
    refetchInterval: ({ state }) =>
      (state.data?.collections.used ?? 0) > DESCRIBED ? SLOW_REFRESH_MS : REFRESH_MS,
    queryFn: ({ signal }) => scope.client.usage({ limit: DESCRIBED, signal }),
  });
  if (usage.isPending) return <Loading what="the collections" />;
  if (usage.isError) return <Failure error={usage.error} retry={() => void usage.refetch()} />;
  return (
    <>
      <Tiles usage={usage.data} />
      <CollectionsTable usage={usage.data} scope={scope} />
    </>
  );
}

function Tiles({ usage }: { readonly usage: TenantUsage }): ReactNode {
  return (
    <div className="tiles usage">
      <Tile name="Databases" amount={usage.databases} />
      <Tile name="Collections" amount={usage.collections} />
      <Tile name="Records" amount={usage.records} />
      <Tile name="On the disk" amount={usage.bytes} format={bytes} />
      {usage.tokensToday.used !== null && <Tile name="Tokens today" amount={usage.tokensToday} />}
    </div>
  );
}

interface TileProps {
  readonly name: string;
  readonly amount: Amount;
  readonly format?: (value: number | null) => string;
}

function Tile({ name, amount: { used, quota }, format = number }: TileProps): ReactNode {
  return (
    <div className="tile">
      {name}
      <strong>{format(used)}</strong>
      {quota !== null && (
        <>
          <meter
            aria-label={`${name}: used of the quota`}
            min={0}
            max={quota}
            high={0.9 * quota}
            value={used ?? 0}
          />
          <span className="hint">of {format(quota)}</span>
        </>
      )}
    </div>
  );
}
