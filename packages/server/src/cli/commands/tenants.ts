/** `sheaf tenants …` and `sheaf databases …`: what a new tenant needs before anybody can write there. */
import {
  ConflictError,
  type DatabaseInfo,
  NotFoundError,
  type SheafClient,
  type TenantUsage,
} from "@sheaf/client";
import { DEFAULT_DATABASE, DEFAULT_TENANT, parseName } from "@sheaf/protocol";
import type { Command, CommandOption, OptionTexts } from "../command.ts";
import { byteCount } from "../byte-count.ts";
import { SERVER_OPTIONS, withServer } from "../server-request.ts";
import { several } from "../several.ts";

const TENANT: CommandOption = {
  flags: "--tenant <tenant>",
  doc: `Tenant of the database. [default ${DEFAULT_TENANT}]`,
};

const IF_ABSENT: CommandOption = { flags: "--if-absent", doc: "Do nothing where it exists already." };

export const tenantsCreate: Command = {
  name: "tenants create",
  summary: "Create a tenant, with a database in it if --database is given.",
  operands: ["name"],
  options: [
    {
      flags: "--database <database>",
      doc: `Create this database too; clients and commands use ${DEFAULT_DATABASE} unless told otherwise. A new tenant has none.`,
    },
    IF_ABSENT,
    ...SERVER_OPTIONS,
  ],
  async run(options, [name = ""]) {
    const { database } = options;
    // Before the tenant is made, which would stay.
    if (database !== undefined) parseName(database, "--database");
    await withServer(options, async (client) => {
      await make(options, () => client.createTenant({ name }));
      if (database !== undefined)
        await make(options, () => client.scoped({ tenant: name }).createDatabase({ name: database }));
    });
    say(options, database === undefined ? `tenant ${name}` : `tenant ${name} with database ${database}`);
    if (database === undefined)
      console.error(
        `A new tenant has no database; create one with: sheaf databases create ${DEFAULT_DATABASE} --tenant ${name}`,
      );
    return 0;
  },
};

export const tenantsDelete: Command = {
  name: "tenants delete",
  summary: "Delete a tenant with its databases, collections, records and API keys.",
  operands: ["name"],
  options: SERVER_OPTIONS,
  notes: "Cannot be taken back: make a backup first. Backups and the archive keep what they have.",
  async run(options, [name = ""]) {
    await withServer(options, (client) => client.deleteTenant({ name }));
    say(options, `deleted tenant ${name}`);
    return 0;
  },
};

export const tenantsList: Command = {
  name: "tenants list",
  summary: "List tenants, by name.",
  options: [
    {
      flags: "--usage",
      doc: "With their collections, records and bytes: a request for each tenant, 8 at a time. Needs a key for `read`, too.",
    },
    ...SERVER_OPTIONS,
  ],
  run: (options) =>
    options["usage"] === undefined
      ? list(
          options,
          (client) => client.tenants(),
          ({ name }) => name,
        )
      : list(options, usages, describe),
};

/** Requests that wait for the server at a time. */
const AT_ONCE = 8;

/** Of all tenants, by name, but for those that leave meanwhile. */
async function* usages(client: SheafClient): AsyncGenerator<TenantUsage, void> {
  const asked: Promise<TenantUsage | null>[] = [];
  for await (const { name } of client.tenants()) {
    const usage = usageOf(client, name);
    // It is waited for in its turn.
    usage.catch(() => undefined);
    if (asked.push(usage) < AT_ONCE) continue;
    const first = await asked.shift();
    if (first != null) yield first;
  }
  for (const usage of asked) {
    const next = await usage;
    if (next !== null) yield next;
  }
}

/** `null`: it has left. */
async function usageOf(client: SheafClient, tenant: string): Promise<TenantUsage | null> {
  try {
    return await client.scoped({ tenant }).usage({ limit: 1 });
  } catch (error) {
    if (error instanceof NotFoundError) return null;
    throw error;
  }
}

function describe({ tenant, collections, records, bytes }: TenantUsage): string {
  const amounts = [several(collections.used ?? 0, "collection"), several(records.used ?? 0, "record")];
  return [tenant, ...amounts, byteCount(bytes.used ?? 0)].join("  ");
}

export const databasesCreate: Command = {
  name: "databases create",
  summary: "Create a database in a tenant.",
  operands: ["name"],
  options: [TENANT, IF_ABSENT, ...SERVER_OPTIONS],
  async run(options, [name = ""]) {
    const { tenant = DEFAULT_TENANT } = options;
    await withServer(options, (client) =>
      make(options, () => client.scoped({ tenant }).createDatabase({ name })),
    );
    say(options, `database ${name} in tenant ${tenant}`);
    return 0;
  },
};

export const databasesList: Command = {
  name: "databases list",
  summary: "List the databases of a tenant, by name.",
  options: [TENANT, ...SERVER_OPTIONS],
  run: (options) => list(options, databasesOf(options["tenant"]), ({ name }) => name),
};

/** One without any may be misspelt: then the server says that it is not there. */
function databasesOf(tenant = DEFAULT_TENANT) {
  return async function* (client: SheafClient): AsyncGenerator<DatabaseInfo, void> {
    let isEmpty = true;
    for await (const one of client.scoped({ tenant }).databases()) {
      isEmpty = false;
      yield one;
    }
    if (isEmpty) await client.getTenant({ name: tenant });
  };
}

async function make(options: OptionTexts, create: () => Promise<void>): Promise<void> {
  try {
    await create();
  } catch (error) {
    if (!(error instanceof ConflictError) || options["ifAbsent"] === undefined) throw error;
  }
}

function say(options: OptionTexts, what: string): void {
  console.log(options["json"] === undefined ? what : "{}");
}

/** One line each, as they come. */
async function list<T>(
  options: OptionTexts,
  read: (client: SheafClient) => AsyncIterable<T>,
  line: (one: T) => string,
): Promise<number> {
  await withServer(options, async (client) => {
    const found: unknown[] = [];
    for await (const one of read(client)) {
      if (options["json"] === undefined) console.log(line(one));
      else found.push(one);
    }
    if (options["json"] !== undefined) console.log(JSON.stringify(found, null, 2));
  });
  return 0;
}
