/** Every named schema; `ref` names one of these. */
import type { JsonSchema } from "./json-schema.ts";
import { BACKUP_SCHEMAS } from "./schemas/backup-schemas.ts";
import { COLLECTION_SCHEMAS } from "./schemas/collection-schemas.ts";
import { DENSE_INDEX_SCHEMAS } from "./schemas/dense-index-schemas.ts";
import { EMBED_SCHEMAS } from "./schemas/embed-schemas.ts";
import { KEY_SCHEMAS } from "./schemas/key-schemas.ts";
import { RECORD_SCHEMAS } from "./schemas/record-schemas.ts";
import { SEARCH_SCHEMAS } from "./schemas/search-schemas.ts";
import { STATE_SCHEMAS } from "./schemas/state-schemas.ts";
import { SYSTEM_SCHEMAS } from "./schemas/system-schemas.ts";
import { VALUE_SCHEMAS } from "./schemas/value-schemas.ts";
import { WHERE_SCHEMAS } from "./schemas/where-schemas.ts";

export const COMPONENT_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  ...VALUE_SCHEMAS,
  ...EMBED_SCHEMAS,
  ...RECORD_SCHEMAS,
  ...WHERE_SCHEMAS,
  ...SEARCH_SCHEMAS,
  ...COLLECTION_SCHEMAS,
  ...DENSE_INDEX_SCHEMAS,
  ...KEY_SCHEMAS,
  ...BACKUP_SCHEMAS,
  ...STATE_SCHEMAS,
  ...SYSTEM_SCHEMAS,
};
