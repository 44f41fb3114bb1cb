/**
 * All SQL of Sheaf but for the making of tables. Statements keep to what PostgreSQL shares with databases that speak its protocol: no LISTEN, no advisory
 * locks, no functions of the server's own but where a comment says so. Keys are `bytea`, whose order is that of its bytes.
 */
import { MIGRATIONS } from "./migrations.ts";

const SCHEMA = /^[a-z_][a-z0-9_]{0,62}$/;

export type Statements = ReturnType<typeof statementsIn>;

/** @param schema A name of lower-case letters, digits and underscores, for it stands in the statements as it is. */
export function statementsIn(schema: string) {
  if (!SCHEMA.test(schema)) throw new RangeError(`${schema} is no name of a schema`);
  return {
    begin: BEGIN,
    ...migrationsIn(schema),
    catalog: catalogIn(schema),
    log: { ...logIn(schema), ...wholeLogIn(schema), ...ownersIn(schema) },
    manifests: { ...manifestsIn(schema), ...objectsIn(schema) },
    node: nodesIn(schema),
    jobs: indexJobsIn(schema),
  };
}

/** As libpq asks it. */
export const IS_READ_ONLY = "show transaction_read_only";

/** Each statement sees what was committed before it; what must not change meanwhile is locked by name. */
const BEGIN = "begin isolation level read committed";

function migrationsIn(schema: string) {
  return {
    /** 180004 is 18.4. */
    serverVersion: `select current_setting('server_version_num')::int as version`,
    /** Of tables that the user may not use nothing is said. */
    hasMigrations: `select 1 from information_schema.tables
      where table_schema = '${schema}' and table_name = 'migration'`,
    hasSchema: `select 1 from information_schema.schemata where schema_name = '${schema}'`,
    createSchema: `create schema if not exists ${schema}`,
    createMigrations: `create table if not exists ${schema}.migration (number int primary key, oldest int not null)`,
    lockMigrations: `lock table ${schema}.migration in exclusive mode`,
    readMigrations: `select coalesce(max(number), 0) as newest, coalesce(max(oldest), 0) as oldest from ${schema}.migration`,
    recordMigration: `insert into ${schema}.migration (number, oldest) values ($1::int, $2::int)`,
    migrations: MIGRATIONS.map(({ oldest, statements }) => ({ oldest, statements: statements(schema) })),
  };
}

/** Arrays of `bytea` are bound in their binary form, see `bytea-array.ts`. */
function catalogIn(schema: string) {
  const catalog = `${schema}.catalog`;
  return {
    get: `select value from ${catalog} where key = $1::bytea`,
    getAll: `select e.value from unnest($1::bytea[]) with ordinality as k (key, place)
      left join ${catalog} e on e.key = k.key order by k.place`,
    entries: `select key, value from ${catalog} where key >= $1::bytea and key < $2::bytea
      order by key limit $3::int offset $4::int`,
    count: `select count(*)::float8 as count from ${catalog} where key >= $1::bytea and key < $2::bytea`,
    /** PostgreSQL's own function: summing the entries would read all of them. */
    size: `select pg_total_relation_size('${catalog}')::float8 as bytes`,
    version: `select version::float8 as version, batch from ${schema}.catalog_version where id = 1`,
    /** The lock that makes commits take turns: each holds it from before its first condition to its end. */
    lock: `select 1 from ${schema}.catalog_version where id = 1 for update`,
    hasBatch: `select 1 from ${schema}.catalog_batch where batch = $1::text`,
    broken: `select count(*)::float8 as count from unnest($1::bytea[], $2::bytea[]) as c (key, value)
      left join ${catalog} e on e.key = c.key where e.value is distinct from c.value`,
    brokenRanges: `select count(*)::float8 as count
      from unnest($1::bytea[], $2::bytea[], $3::float8[]) as r (first, past, expected)
      where (select count(*) from ${catalog} where key >= r.first and key < r.past) <> r.expected`,
    clear: `delete from ${catalog} e using unnest($1::bytea[], $2::bytea[]) as r (first, past)
      where e.key >= r.first and e.key < r.past`,
    remove: `delete from ${catalog} where key = any ($1::bytea[])`,
    put: `insert into ${catalog} (key, value) select key, value from unnest($1::bytea[], $2::bytea[]) as w (key, value)
      on conflict (key) do update set value = excluded.value`,
    raiseVersion: `update ${schema}.catalog_version set version = version + 1, batch = $1::text where id = 1`,
    addBatch: `insert into ${schema}.catalog_batch (batch) values ($1::text) on conflict do nothing`,
    /** A few with each commit. Nobody asks for a batch a day after it was sent. */
    forgetBatches: `delete from ${schema}.catalog_batch where batch in
      (select batch from ${schema}.catalog_batch where at < now() - interval '24 hours' order by at limit 16)`,
  };
}

function logIn(schema: string) {
  const [head, log, batch] = [`${schema}.log_head`, `${schema}.log`, `${schema}.log_batch`];
  const owners = `${schema}.log_owner`;
  return {
    create: `insert into ${head} (collection, epoch, seq, batch, state, bytes, trimmed_seq, trimmed_batch, owner,
        kept_records, kept_bytes)
      values ($1::text, $2::text, 0, '', $3::bytea, 0, 0, '', $4::text, 0, 0) on conflict do nothing returning collection`,
    heads: `select collection, epoch, seq, batch, state, bytes, checkpoint_bytes, kept_records, kept_bytes from ${head}
      where collection = any ($1::text[])`,
    /**
     * The head is what is compared and set; without it the other parts find nothing to do. One statement, one commit. An
     * owner who is counted is locked before the head, here and where a log is copied or dropped. $19: whose bounds are
     * to be kept, or null; $22, $23: the bounds, or null.
     */
    append: `with kept as (
        select ($22::bigint is null or $20::bigint <= 0 or records + $20::bigint <= $22::bigint)
          and ($23::bigint is null or $21::bigint <= 0 or bytes + $21::bigint <= $23::bigint) as fits
        from ${owners} where owner = $19::text for update
      ), moved as (
        update ${head} set seq = $5::bigint, batch = $6::text, state = $7::bytea, bytes = bytes + $8::bigint, at = now(),
          kept_records = kept_records + $20::bigint, kept_bytes = kept_bytes + $21::bigint
        where collection = $1::text and epoch = $2::text and seq = $3::bigint and batch = $4::text
          and bytes + $8::bigint <= $9::bigint
          and (select coalesce(bool_or(fits), $22::bigint is null and $23::bigint is null) from kept)
        returning collection, owner
      ), counted as (
        update ${owners} o set records = o.records + $20::bigint, bytes = o.bytes + $21::bigint
        from moved m where o.owner = m.owner
      ), ids as (
        insert into ${batch} (collection, batch, seq)
        select m.collection, b.batch, b.seq from moved m, unnest($10::text[], $11::bigint[]) as b (batch, seq)
      ), bodies as (
        insert into ${log} (collection, seq, part, chunk, partition, previous, batch, body)
        select m.collection, r.seq, r.part, r.chunk, r.partition, r.previous, r.batch, r.body from moved m,
          unnest($12::bigint[], $13::int[], $14::int[], $15::int[], $16::bigint[], $17::text[], $18::bytea[])
            as r (seq, part, chunk, partition, previous, batch, body)
      )
      select count(*)::int as moved from moved`,
    /** Whether a state is one of the log: a batch in it, or the one that was trimmed last. */
    isState: `select 1 from ${head} h where h.collection = $1::text and h.epoch = $2::text and (
        (h.trimmed_seq = $3::bigint and h.trimmed_batch = $4::text)
        or (h.trimmed_seq < $3::bigint and exists (
          select 1 from ${batch} b where b.collection = h.collection and b.batch = $4::text and b.seq = $3::bigint)))`,
    page: `select seq, part, chunk, partition, previous, batch, body from ${log}
      where collection = $1::text and (seq, part, chunk) > ($2::bigint, $3::int, $4::int)
      order by seq, part, chunk limit $5::int`,
    /** -1: what every partition needs; a batch of a collection in partitions begins with it. */
    pageOfPartition: `select seq, part, chunk, partition, previous, batch, body from ${log}
      where collection = $1::text and (seq, part, chunk) > ($2::bigint, $3::int, $4::int) and partition in (-1, $6::int)
      order by seq, part, chunk limit $5::int`,
    trimmed: `select trimmed_seq from ${head} where collection = $1::text`,
    /** The first two are asked for in nearly all cases. */
    batchAt: `select nullif(coalesce(
        (select batch from ${log} where collection = $1::text and seq = $2::bigint limit 1),
        (select trimmed_batch from ${head} where collection = $1::text and trimmed_seq = $2::bigint),
        (select b.batch from ${batch} b join ${head} h on h.collection = b.collection
          where b.collection = $1::text and b.seq = $2::bigint and b.seq < h.trimmed_seq limit 1)), '') as batch`,
    /** A change, for its commit waits for the standby, which then has the batch, too. */
    find: `update ${batch} set seq = seq where collection = $1::text and batch = $2::text returning seq`,
  };
}

/** What becomes of a whole log: it is trimmed, copied, dropped. */
function wholeLogIn(schema: string) {
  const [head, log, batch] = [`${schema}.log_head`, `${schema}.log`, `${schema}.log_batch`];
  const owners = `${schema}.log_owner`;
  return {
    checkpoint: `select epoch, trimmed_seq as seq, trimmed_batch as batch, checkpoint, checkpoint_bytes from ${head}
      where collection = $1::text and checkpoint is not null`,
    lockHead: `select epoch, trimmed_seq, checkpoint from ${head} where collection = $1::text for update`,
    trimHead: `update ${head} h set trimmed_seq = $2::bigint, trimmed_batch = $3::text, checkpoint = $4::text,
        checkpoint_bytes = $5::bigint, bytes = (select coalesce(sum(length(l.body)), 0) from ${log} l
          where l.collection = $1::text and l.seq > $2::bigint)
      where h.collection = $1::text and exists (
        select 1 from ${batch} b where b.collection = $1::text and b.batch = $3::text and b.seq = $2::bigint)
      returning 1 as one`,
    /** A part of them, as for a drop. */
    trimBodies: `delete from ${log} where (collection, seq, part, chunk) in (
        select collection, seq, part, chunk from ${log} where collection = $1::text and seq <= $2::bigint
        order by seq limit 1000) returning 1 as one`,
    trimBatches: `delete from ${batch} where collection = $1::text and seq <= $2::bigint
      and at < now() - interval '24 hours'`,
    /** A collection and its checkpoint are copied in one transaction, and dropped one after the other. */
    lostCheckpoints: `select collection from ${head} c where position('/' in collection) > 0
      and at < now() - interval '24 hours'
      and not exists (select 1 from ${head} h where h.checkpoint = c.collection) limit 100`,
    /** A fork has its log some moments before the catalog knows it. */
    oldHeads: `select collection from ${head} where collection > $1::text and position('/' in collection) = 0
      and at < now() - interval '1 hour' order by collection limit 256`,
    lostBodies: withoutHead(log, head),
    lostBatches: withoutHead(batch, head),
    copySource: `select seq, batch, state, trimmed_seq, checkpoint, checkpoint_bytes, owner, kept_records, kept_bytes
      from ${head} where collection = $1::text`,
    /** A part of them, in their order, behind ($3, $4, $5); the rows of a log never change. */
    copyBodies: `with page as (
        select seq, part, chunk, partition, previous, batch, body from ${log}
        where collection = $1::text and (seq, part, chunk) > ($3::bigint, $4::int, $5::int) and seq <= $6::bigint
        order by seq, part, chunk limit 32
      ), copied as (
        insert into ${log} (collection, seq, part, chunk, partition, previous, batch, body)
        select $2::text, seq, part, chunk, partition, previous, batch, body from page
      )
      select seq, part, chunk from page order by seq desc, part desc, chunk desc limit 1`,
    copyBatches: `insert into ${batch} (collection, batch, seq, at)
      select $2::text, batch, seq, at from ${batch} where collection = $1::text and seq <= $3::bigint`,
    /** Nothing where the log was trimmed meanwhile. */
    copyHead: `insert into ${head} (collection, epoch, seq, batch, state, bytes, trimmed_seq, trimmed_batch, checkpoint,
        checkpoint_bytes, owner, kept_records, kept_bytes)
      select $2::text, $3::text, $4::bigint, $5::text, $6::bytea,
        (select coalesce(sum(length(body)), 0) from ${log} where collection = $2::text), trimmed_seq, trimmed_batch,
        $8::text, $9::bigint, owner, $10::bigint, $11::bigint
      from ${head} where collection = $1::text and trimmed_seq = $7::bigint returning 1 as one`,
    dropHead: `with kept as (
        select 1 from ${owners} where owner = (select owner from ${head} where collection = $1::text) for update
      ), dropped as (
        delete from ${head} where collection = $1::text and (select count(*) from kept) >= 0
        returning owner, kept_records, kept_bytes, checkpoint
      ), counted as (
        update ${owners} o set records = o.records - coalesce(d.kept_records, 0), bytes = o.bytes - coalesce(d.kept_bytes, 0)
        from dropped d where o.owner = d.owner
      ), unneeded as (
        delete from ${schema}.segment_ref where collection = $1::text || '/records' returning segment
      ), left_over as (
        update ${schema}.segment s set at = now() from unneeded where s.id = unneeded.segment
      )
      select checkpoint from dropped`,
    /** A part of them: a large log is dropped in steps. */
    dropBodies: `delete from ${log} where (collection, seq, part, chunk) in (
        select collection, seq, part, chunk from ${log} where collection = $1::text limit 1000) returning 1 as one`,
    dropBatches: `delete from ${batch} where (collection, batch) in (
        select collection, batch from ${batch} where collection = $1::text limit 1000) returning 1 as one`,
  };
}

/** What all collections of an owner keep. There is a row for owners with bounds only: all that write for them wait for it. */
function ownersIn(schema: string) {
  const [head, owners] = [`${schema}.log_head`, `${schema}.log_owner`];
  return {
    isCounted: `select 1 from ${owners} where owner = $1::text`,
    usage: `select records, bytes from ${owners} where owner = $1::text
      union all
      select coalesce(sum(kept_records), 0), coalesce(sum(kept_bytes), 0) from ${head} where owner = $1::text
        and not exists (select 1 from ${owners} where owner = $1::text)`,
    /** So that no append is between the sum and the row. */
    lockHeads: `lock table ${head} in share mode`,
    countOwner: `insert into ${owners} (owner, records, bytes)
      select $1::text, coalesce(sum(kept_records), 0), coalesce(sum(kept_bytes), 0) from ${head} where owner = $1::text
      on conflict do nothing`,
    lockOwner: `select records, bytes from ${owners} where owner = $1::text for update`,
    addToOwner: `update ${owners} set records = records + $2::bigint, bytes = bytes + $3::bigint where owner = $1::text`,
    /** Of what was written before anything was counted. */
    countHead: `with found as (
        update ${head} set owner = $5::text, kept_records = $6::bigint, kept_bytes = $7::bigint
        where collection = $1::text and epoch = $2::text and seq = $3::bigint and batch = $4::text and kept_records is null
        returning owner
      )
      update ${owners} o set records = o.records + $6::bigint, bytes = o.bytes + $7::bigint
      from found f where o.owner = f.owner`,
  };
}

/** Collections of a table's rows without a head, found by a step through the index for each collection. */
function withoutHead(table: string, head: string): string {
  return `with recursive ids (collection) as (
      (select collection from ${table} order by collection limit 1)
      union all
      select (select t.collection from ${table} t where t.collection > ids.collection order by t.collection limit 1)
      from ids where ids.collection is not null
    )
    select collection from ids where collection is not null
      and not exists (select 1 from ${head} h where h.collection = ids.collection) limit 1000`;
}

/** Which index files are a collection's index, for any server. */
function manifestsIn(schema: string) {
  const [head, manifest] = [`${schema}.log_head`, `${schema}.manifest`];
  const [segment, ref] = [`${schema}.segment`, `${schema}.segment_ref`];
  const columns = "n, epoch, seq, batch, token, body, at";
  return {
    read: `select n, epoch, token, body, (extract(epoch from now() - at) * 1000)::float8 as age from ${manifest}
      where collection = $1::text`,
    /** Keeps the collection from being dropped, and no append from anything. */
    keepHead: `select 1 from ${head} where collection = $1::text for key share`,
    newest: `select n, token from ${manifest} where collection = $1::text for update`,
    insert: `insert into ${manifest} (collection, ${columns})
      values ($1::text, $2::bigint, $3::text, $4::bigint, $5::text, $6::text, $7::text, now())
      on conflict do nothing returning n`,
    replace: `update ${manifest} set (${columns}) =
        ($2::bigint, $3::text, $4::bigint, $5::text, $6::text, $7::text, now())
      where collection = $1::text and n = $8::bigint returning n`,
    /** In one order for all, so that two that share files do not wait for each other. */
    lockFiles: `select id from ${segment} where id = any ($1::text[]) order by id for update`,
    /** Also of those that are live: a sweep that has looked before finds the time changed, and leaves them. */
    revive: `update ${segment} set state = 'live', at = now()
      where id = any ($1::text[]) and state in ('staged', 'live') returning id`,
    addRefs: `insert into ${ref} (collection, segment) select $1::text, unnest($2::text[]) on conflict do nothing`,
    /** All but these. */
    removeRefs: `with gone as (delete from ${ref} where collection = $1::text and segment <> all ($2::text[])
        returning segment)
      update ${segment} s set at = now() from gone where s.id = gone.segment`,
    hasRecordFiles: `select 1 from ${segment} s where s.state = 'live' and s.id like '%.records'
      and exists (select 1 from ${ref} r where r.segment = s.id) limit 1`,
    remove: `delete from ${manifest} where collection = $1::text`,
    /** For as long as the source's log is copied, nobody replaces its manifest. */
    lockSource: `select 1 from ${manifest} where collection = $1::text for share`,
    copy: `insert into ${manifest} (collection, ${columns})
      select $2::text, 1, $3::text, seq, batch, token, body, now() from ${manifest} where collection = $1::text`,
    copyRefs: `with copied as (insert into ${ref} (collection, segment)
        select $2::text, segment from ${ref} where collection = $1::text returning segment)
      update ${segment} s set at = now() from copied where s.id = copied.segment`,
    /** A partition has a manifest of its own, under the id of its collection and what stands behind it. */
    lost: `select collection from ${manifest} m
      where not exists (select 1 from ${head} h where h.collection = split_part(m.collection, '.', 1)) limit 100`,
  };
}

/** Objects of index files, from before the first is written to long after the last is gone. */
function objectsIn(schema: string) {
  const [segment, ref] = [`${schema}.segment`, `${schema}.segment_ref`];
  const isUnused = (s: string): string => `${s}.state in ('staged', 'live')
    and ${s}.at < now() - interval '1 millisecond' *
      case when ${s}.state = 'live' and ${s}.id like '%.records' then $2::float8 else $1::float8 end
    and not exists (select 1 from ${ref} r where r.segment = ${s}.id)`;
  return {
    /** Nothing where the name is spent. */
    stage: `insert into ${segment} as s (id, state, bytes) values ($1::text, 'staged', $2::bigint)
      on conflict (id) do update set at = now(), bytes = excluded.bytes where s.state in ('staged', 'live') returning state`,
    /** What records were in stays longer, for backups of the database refer to it. The condition stands twice: rows that others hold are looked at again once these are done. */
    doom: `update ${segment} s set state = 'doomed', at = now()
      where s.id in (select c.id from ${segment} c where ${isUnused("c")} order by c.at limit 100) and ${isUnused("s")}
      returning s.id`,
    doomed: `select id from ${segment} where state = 'doomed' order by at limit 100`,
    removed: `update ${segment} set state = 'removed', at = now() where id = $1::text and state = 'doomed'`,
    /** What the bucket has and no row knows, as if nothing had referred to it from now on. `staged` is looked at again before anybody refers to it. */
    adopt: `insert into ${segment} (id, state, bytes)
      select name, case when name like '%.records' then 'live' else 'staged' end, 0 from unnest($1::text[]) as name
      on conflict do nothing`,
    cluster: `select id, marked from ${schema}.cluster`,
    mark: `update ${schema}.cluster set marked = true`,
    /** One server in so many milliseconds. */
    claimListing: `update ${schema}.cluster set listed = now()
      where listed <= now() - interval '1 millisecond' * $1::float8 returning id`,
    /** Until then a removal that comes late finds no object of the name. */
    forget: `delete from ${segment} where state = 'removed' and at < now() - interval '7 days'`,
  };
}

/** Servers that others call. Time is the database's. */
function nodesIn(schema: string) {
  const node = `${schema}.node`;
  return {
    /** One that starts again at its address takes the place of the one before. */
    register: `with replaced as (
        delete from ${node} where id <> $1::text and (url = $2::text or seen < now() - interval '1 hour')
      )
      insert into ${node} (id, url, role, version) values ($1::text, $2::text, $3::text, $4::text)
      on conflict (id) do update set seen = now(), version = excluded.version`,
    leave: `delete from ${node} where id = $1::text`,
    cluster: `select id from ${schema}.cluster`,
    seen: `select url, role from ${node} where seen > now() - interval '15 seconds' order by url limit 1000`,
    /** Those that were lost, too, for an hour or so. */
    list: `select url, role, version, seen, extract(epoch from now() - seen)::float8 as silent from ${node}
      order by role, url limit 1000`,
    /** Within so many milliseconds. */
    seenIndexNode: `select 1 from ${node} where role = 'index' and seen > now() - interval '1 millisecond' * $1::float8
      limit 1`,
  };
}

/** Which collections have work for index nodes, and who does it. Time is the database's. */
function indexJobsIn(schema: string) {
  const [head, job, manifest] = [`${schema}.log_head`, `${schema}.index_job`, `${schema}.manifest`];
  const later = (ms: string): string => `now() + interval '1 millisecond' * ${ms}::float8`;
  const dueBytes = "least($4::float8 / 2, greatest($3::float8, h.checkpoint_bytes))";
  const isQuiet =
    "(h.at < now() - interval '1 millisecond' * $8::float8 and h.bytes >= greatest($3::float8 / 8, h.checkpoint_bytes / 16.0))";
  const mayBeIndexed = "coalesce(h.kept_records >= $7::bigint, true)";
  return {
    /**
     * Finds the collection that needs it most and claims it for node $1, $2 ms: its log needs a checkpoint ($3, $4: as
     * `isCheckpointDue`), or would be read faster with one and nobody has written it for $8 ms (as `isWorthTrimming`), or nobody has looked at $5 of its operations, or at fewer for $6 ms. Collections of less than $7
     * records have no index; these are left out first, for there may be very many. What another node has worked on counts half, for
     * that has its records. Of two nodes that find the same one at once the second finds it claimed.
     */
    take: `with known as (
        select h.collection, h.epoch, h.seq, h.bytes, ${dueBytes} as due_bytes,
          case when ${mayBeIndexed} then h.seq - greatest(case when j.epoch = h.epoch then j.seq else 0 end, m.seq) else 0 end as unseen,
          coalesce(greatest(j.at, m.at), '-infinity') < now() - interval '1 millisecond' * $6::float8 as is_old,
          case when j.node <> $1::text then 0.5 else 1 end as share, ${isQuiet} as is_quiet
        from ${head} h left join ${job} j on j.collection = h.collection
          left join ${manifest} m on m.collection = h.collection and m.epoch = h.epoch
        where (${mayBeIndexed} or h.bytes >= ${dueBytes} or ${isQuiet}) and position('/' in h.collection) = 0 and (j.until is null or j.until < now())
      ), needy as (
        select collection, epoch, seq, is_quiet from known
        where bytes >= due_bytes or is_quiet or unseen >= $5::bigint or (unseen > 0 and is_old)
        order by share * greatest(bytes / due_bytes, unseen / $5::float8) desc limit 1
      )
      insert into ${job} as j (collection, epoch, seq, node, until)
        select collection, epoch, 0, $1::text, ${later("$2")} from needy
      on conflict (collection) do update set node = excluded.node, until = excluded.until
        where j.until is null or j.until < now()
      returning collection, (select epoch from needy) as epoch, (select seq from needy) as seq, (select is_quiet from needy) as is_quiet`,
    /** Those of a node that still works. */
    keep: `update ${job} set until = ${later("$2")} where node = $1::text and collection = any ($3::text[])`,
    /** Up to this state. */
    done: `update ${job} set epoch = $3::text, seq = $4::bigint, until = null, at = now()
      where collection = $1::text and node = $2::text`,
    /** Of a node that works at none. */
    release: `update ${job} set until = null where node = $1::text and until is not null`,
    forget: `delete from ${job} j where (j.until is null or j.until < now())
      and not exists (select 1 from ${head} h where h.collection = j.collection)`,
  };
}
