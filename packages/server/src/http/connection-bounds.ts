/** What one connection may do and hold before it is known who asks. The two counts are settings. */

export interface ConnectionBounds {
  /** Connections at a time, all and those of one address; 0: no bound. */
  readonly connections: number;
  readonly connectionsPerAddress: number;
  /** Connections beyond these that are open for the moment it takes to answer 503; any more are closed at once. */
  readonly refusedConnections: number;
  /** Time without a request after which a connection counts as idle: before, its client may just be sending one. */
  readonly idleSeconds: number;
  /** Requests of one connection that are worked on at a time. The connection is not read while others wait. */
  readonly pipelinedRequests: number;
  /**
   * Requests that wait behind those, over all connections and over those of one address. One piece of what a socket
   * delivers can hold two thousand, each some 2 KiB once it is parsed.
   */
  readonly waitingRequests: number;
  readonly waitingRequestsPerAddress: number;
  /** Rate at which a body has to come, in bytes a second, once the grace is over. */
  readonly bodyBytesPerSecond: number;
  readonly bodyGraceSeconds: number;
  /** Longest time in which nothing of a body needs to come, however much came before: it holds memory meanwhile. */
  readonly bodyPauseSeconds: number;
  /**
   * What is read and thrown away of a body whose answer was sent before it had come. Most clients read an answer only
   * once they have sent everything, and find a closed connection instead of the reason.
   */
  readonly unreadBodyBytes: number;
  readonly unreadBodySeconds: number;
}

const MIB = 1024 * 1024;

export const CONNECTION_BOUNDS: ConnectionBounds = {
  connections: 0,
  connectionsPerAddress: 0,
  refusedConnections: 256,
  idleSeconds: 2,
  pipelinedRequests: 8,
  waitingRequests: 32_768,
  waitingRequestsPerAddress: 8_192,
  bodyBytesPerSecond: 16 * 1024,
  bodyGraceSeconds: 10,
  bodyPauseSeconds: 30,
  unreadBodyBytes: 256 * MIB,
  unreadBodySeconds: 30,
};
