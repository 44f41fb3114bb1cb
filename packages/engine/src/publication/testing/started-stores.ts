/** A database and an object store for all tests of a file. */
import { afterAll, beforeAll, beforeEach } from "vitest";
import { ObjectServer } from "../../storage/objects/testing/object-server.ts";
import { PostgresServer } from "../../storage/postgres/testing/postgres-server.ts";

export class StartedStores {
  database!: PostgresServer;
  server!: ObjectServer;

  /** Started before the first test, ended after the last; each test begins without faults. To be called once in a file. */
  constructor() {
    beforeAll(async () => {
      [this.database, this.server] = await Promise.all([PostgresServer.start(), ObjectServer.start()]);
    });
    afterAll(async () => {
      await Promise.all([this.database?.close(), this.server?.close()]);
    });
    beforeEach(() => {
      this.server.fault = () => null;
    });
  }
}
