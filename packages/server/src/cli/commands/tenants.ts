/** `sheaf tenants …` and `sheaf databases …`: what a new tenant needs before anybody can write there. */
import { ConflictError, type SheafClient } from "@sheaf/client";
import { DEFAULT_DATABASE, DEFAULT_TENANT } from "@sheaf/protocol";
import type { Command, CommandOption, OptionTexts } from "../command.ts";
import { SERVER_OPTIONS, withServer } from "../server-request.ts";

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
  options: SERVER_OPTIONS,
  run: (options) => list(options, (client) => client.tenants()),
};

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
  run: (options) => list(options, (client) => client.scoped({ tenant: options["tenant"] }).databases()),
};

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
async function list(
  options: OptionTexts,
  read: (client: SheafClient) => AsyncIterable<{ readonly name: string }>,
): Promise<number> {
  await withServer(options, async (client) => {
    const found: unknown[] = [];
    for await (const one of read(client)) {
      if (options["json"] === undefined) console.log(one.name);
      else found.push(one);
    }
    if (options["json"] !== undefined) console.log(JSON.stringify(found, null, 2));
  });
  return 0;
}
