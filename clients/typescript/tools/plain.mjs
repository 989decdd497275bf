// A JSON Schema in forms that json-schema-to-typescript knows. It would take a reference with a remark beside it for a type
// of its own, an object of which nothing is said for an empty one, any value for an object, and words for types.

/** The same schema, or the same definitions. */
export function plain(schema, areDefinitions = false) {
  if (Array.isArray(schema)) return schema.map((part) => plain(part));
  if (typeof schema !== "object" || schema === null) return schema;
  const parts = Object.entries(schema).map(([key, value]) => [key, areDefinitions ? plain(value) : part(key, value)]);
  const copy = Object.fromEntries(parts);
  return areDefinitions ? copy : known(copy);
}

function part(key, value) {
  if (key === "properties") return plain(value, true);
  return PARTS.includes(key) ? plain(value) : value;
}

function known(schema) {
  const { $ref, oneOf, ...rest } = schema;
  if ($ref !== undefined) {
    const isRemarked = Object.keys(rest).length > 0 && !SHAPES.some((key) => key in rest);
    return isRemarked ? { ...rest, anyOf: [{ $ref }] } : schema;
  }
  if (isOpen(schema)) return { ...rest, tsType: rest.type === "object" ? "Record<string, unknown>" : "unknown" };
  const words = oneOf?.map((choice) => choice.enum ?? (typeof choice.const === "string" && [choice.const]));
  return words?.every(Boolean) ? { ...rest, enum: words.flat() } : schema;
}

/** Nothing is said about what is inside. */
function isOpen({ type, additionalProperties, ...rest }) {
  const isObject = type === "object" && (additionalProperties === undefined || additionalProperties === true);
  return (type === undefined || isObject) && !SHAPES.some((key) => key in rest);
}

/** The keys that hold other schemas. */
const PARTS = ["items", "oneOf", "anyOf", "allOf", "if", "then", "else", "additionalProperties"];
/** The keys that say what a value is. */
const SHAPES = ["properties", "required", "items", "enum", "const", "oneOf", "anyOf", "allOf", "if"];
