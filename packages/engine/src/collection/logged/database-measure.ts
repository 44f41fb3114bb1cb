/** What metrics say of a database that several servers share, as this one uses it. */
import type { EngineStatistics } from "../../engine.ts";

export type DatabaseMeasure = Pick<EngineStatistics, keyof EngineStatistics & `database${string}`>;

export const NO_DATABASE: DatabaseMeasure = {
  ...{ databaseAppends: 0, databaseAppendSeconds: 0, databaseMoved: 0, databaseUnknown: 0 },
  ...{ databaseWaiting: 0, databaseWaits: 0, databaseCatalogSeconds: 0 },
  ...{ databaseLongestLog: 0, databaseCheckpointDueSeconds: 0 },
  ...{
    databaseIndexJobs: 0,
    databaseIndexJobsFailed: 0,
    databaseLeftToIndexNodes: 0,
    databaseObjectsFailing: 0,
  },
};
