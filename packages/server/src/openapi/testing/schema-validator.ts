/** Whether a value keeps a schema of ours, by a validator that is not ours. */
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { COMPONENT_SCHEMAS } from "../component-schemas.ts";

const DOCUMENT = "openapi";

const ajv = new Ajv2020({ strict: false, allErrors: false, validateFormats: false });
ajv.addSchema({ $id: DOCUMENT, components: { schemas: COMPONENT_SCHEMAS } });
const compiled = new WeakMap<object, ValidateFunction>();

/** What is wrong with the value; `null`: nothing. */
export function violation(schema: object, value: unknown): string | null {
  const validate = compiled.get(schema) ?? ajv.compile(absolute(schema));
  compiled.set(schema, validate);
  return validate(value) ? null : ajv.errorsText(validate.errors);
}

/** The schema with its references pointing into the document that `ajv` knows. */
function absolute(schema: object): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#', `"$ref":"${DOCUMENT}#`)) as object;
}
