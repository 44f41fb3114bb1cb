export { BusyWait, hasSpareCore } from "./busy-wait.ts";
export { Channel } from "./channel.ts";
export { serveParent, type ChildHooks } from "./child.ts";
export {
  beginRead,
  beginSlice,
  isReadWaiting,
  isSliceOver,
  isSliceWanted,
  nextReadSlice,
  nextSlice,
  shortenTurn,
  takeSlice,
  wasReadBegun,
  wasSliceTaken,
} from "./loop-slice.ts";
export { optimizeEarly } from "./early-optimization.ts";
export { IdleGc, type IdleGcOptions } from "./idle-gc.ts";
export {
  type PackedMessage,
  packAtOnce,
  packInTurns,
  packMessage,
  packedBytes,
  packedFormOf,
  unpackMessage,
} from "./packed-message.ts";
export { RpcClient, RpcServer, type CallOptions, type InFlightCall, type RpcHandler } from "./rpc.ts";
export {
  CHANNEL_FD,
  siblingModule,
  spawnProcess,
  spawnProgram,
  spawnWorker,
  type SpawnOptions,
} from "./spawn.ts";
export { Turns } from "./turns.ts";
export { ChildSupervisor, type ChildDeath, type SupervisorOptions } from "./supervisor.ts";
export { YOUNG_SPACE_ARGS, keepYoungSpaceSmall } from "./young-space.ts";
export { CallBudget } from "./peer/call-budget.ts";
export { CallersSign } from "./peer/callers-sign.ts";
export { ClusterSecret, LEAST_SECRET_CHARACTERS } from "./peer/cluster-secret.ts";
export { Handshakes } from "./peer/handshakes.ts";
export { HedgeDelay } from "./peer/hedge-delay.ts";
export { type PeerCallRules, type Repeat, callPeers } from "./peer/peer-call.ts";
export { HAS_LEFT, PeerFailure, type PeerLink } from "./peer/peer-link.ts";
export { PeerPool } from "./peer/peer-pool.ts";
export { type PeerAddress, PeerListener, peerName } from "./peer/peer-sockets.ts";
export { type PeerService, type PeerSession, ServedPeers } from "./peer/serve-peer.ts";
export { StandstillWatch } from "./peer/standstill-watch.ts";
