/** The tables in PostgreSQL, as they have come to be. */

export interface Migration {
  /** A program that does not know this migration may not use a database that has the one which carries it. */
  readonly oldest: number;
  readonly statements: (schema: string) => readonly string[];
}

/** In their order, numbered from 1. One that has been published is never edited; later ones only add. */
export const MIGRATIONS: readonly Migration[] = [
  {
    oldest: 1,
    statements: (schema) => [
      `create table ${schema}.catalog (key bytea primary key, value bytea not null)`,
      `create table ${schema}.catalog_version (id int primary key, version bigint not null, batch text not null)`,
      `insert into ${schema}.catalog_version (id, version, batch) values (1, 0, '')`,
      `create table ${schema}.catalog_batch (batch text primary key, at timestamptz not null default now())`,
      `create index catalog_batch_at on ${schema}.catalog_batch (at)`,
    ],
  },
  {
    oldest: 2,
    statements: (schema) => [
      `create table ${schema}.log_head (collection text primary key, epoch text not null, seq bigint not null,
        batch text not null, state bytea not null, at timestamptz not null default now(), bytes bigint not null,
        trimmed_seq bigint not null, trimmed_batch text not null)`,
      `create table ${schema}.log (collection text not null, seq bigint not null, part int not null, chunk int not null,
        partition int not null, previous bigint not null, batch text not null, body bytea not null,
        primary key (collection, seq, part, chunk))`,
      `create table ${schema}.log_batch (collection text not null, batch text not null, seq bigint not null,
        at timestamptz not null default now(), primary key (collection, batch))`,
    ],
  },
  {
    // A program that does not know checkpoints would take a log that was trimmed for one that it has to make anew.
    oldest: 3,
    statements: (schema) => [
      `alter table ${schema}.log_head add column checkpoint text, add column checkpoint_bytes bigint not null default 0`,
      `create index log_head_checkpoint on ${schema}.log_head (checkpoint)`,
    ],
  },
  {
    // A program that does not know what is counted would write without counting.
    oldest: 4,
    statements: (schema) => [
      `alter table ${schema}.log_head add column owner text, add column kept_records bigint, add column kept_bytes bigint`,
      `create index log_head_owner on ${schema}.log_head (owner)`,
      `create table ${schema}.log_owner (owner text primary key, records bigint not null, bytes bigint not null)`,
    ],
  },
  {
    // A program that does not know manifests drops and copies collections without them: garbage that a sweep finds.
    oldest: 4,
    statements: (schema) => [
      `create table ${schema}.manifest (collection text primary key, n bigint not null, epoch text not null,
        seq bigint not null, batch text not null, token text not null, body text not null,
        at timestamptz not null default now())`,
      `create table ${schema}.segment (id text primary key, state text not null, bytes bigint not null,
        at timestamptz not null default now())`,
      `create index segment_at on ${schema}.segment (at)`,
      `create table ${schema}.segment_ref (collection text not null, segment text not null,
        primary key (collection, segment))`,
      `create index segment_ref_segment on ${schema}.segment_ref (segment)`,
    ],
  },
  {
    // Programs that know no nodes have no use for them.
    oldest: 4,
    statements: (schema) => [
      `create table ${schema}.node (id text primary key, url text not null, role text not null,
        seen timestamptz not null default now())`,
    ],
  },
  {
    // A program that does not know records in objects would take a checkpoint for missing.
    oldest: 7,
    statements: () => [],
  },
  {
    // Programs that know no jobs do by themselves what index nodes would do for them.
    oldest: 7,
    statements: (schema) => [
      `create table ${schema}.index_job (collection text primary key, epoch text not null, seq bigint not null,
        node text not null, until timestamptz, at timestamptz)`,
    ],
  },
  {
    // A program that does not know partitions would write batches that those who have one of them cannot read.
    oldest: 9,
    statements: () => [],
  },
  {
    // Programs that do not know whose objects are whose do not look. The id is PostgreSQL's to make, for programs that begin at once make one.
    oldest: 9,
    statements: (schema) => [
      `create table ${schema}.cluster (id text primary key, marked boolean not null default false, listed timestamptz not null default now())`,
      `insert into ${schema}.cluster (id) values (gen_random_uuid()::text)`,
    ],
  },
  {
    // PostgreSQL tries to compress long values, which takes longer than writing them, and vectors hardly shrink.
    oldest: 9,
    statements: (schema) => [`alter table ${schema}.log alter column body set storage external`],
  },
  {
    // Programs that do not know it say nothing of theirs.
    oldest: 9,
    statements: (schema) => [`alter table ${schema}.node add column version text`],
  },
  {
    // The batch of a state that was trimmed is asked for by its number.
    oldest: 9,
    statements: (schema) => [`create index log_batch_seq on ${schema}.log_batch (collection, seq)`],
  },
];
