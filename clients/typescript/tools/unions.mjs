// Says with unions what a JSON Schema says with conditions and with flattened fields, so that the types made of it can be
// told apart by a field. Nothing is lost that a type can express; what it cannot (patterns, bounds) is left out.

/** The schema with every union as a choice of named definitions. Fails where two would get one name. */
export function withUnions(schema, title) {
  const { $defs = {}, ...root } = plain(schema);
  const defs = {};
  const named = { ...$defs, [title]: { ...root, title } };
  for (const [name, definition] of Object.entries(named)) {
    defs[name] = choices(name, conditions(definition), (variant, value) => {
      if (value in named || value in defs) throw new Error(`two types would be called ${value}`);
      defs[value] = variant;
    });
  }
  const { [title]: message, ...others } = defs;
  return { ...message, $defs: others };
}

/**
 * The same schema in forms that the generator of types knows. It would take a reference with a remark beside it for a
 * type of its own, an object of which nothing is said for an empty one, any value for an object, words for types.
 */
function plain(schema) {
  if (Array.isArray(schema)) return schema.map(plain);
  if (typeof schema !== "object" || schema === null) return schema;
  const { $ref, ...rest } = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, plainPart(key, value)]));
  if ($ref !== undefined) return Object.keys(rest).length ? { ...rest, anyOf: [{ $ref }] } : { $ref };
  if (isOpen(rest)) return { ...rest, tsType: rest.type === "object" ? "Record<string, unknown>" : "unknown" };
  const { oneOf, ...around } = rest;
  const words = oneOf?.map((choice) => choice.enum ?? (typeof choice.const === "string" && [choice.const]));
  return words?.every(Boolean) ? { ...around, enum: words.flat() } : rest;
}

function plainPart(key, value) {
  if (key === "properties" || key === "$defs") {
    return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, plain(schema)]));
  }
  return PARTS.includes(key) ? plain(value) : value;
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

/** Conditions become a choice: `if … then … else`, or one `if` for each value of a field. */
function conditions({ if: condition, then, else: otherwise, not, allOf, ...rest }) {
  if (condition) return { ...rest, oneOf: [then, otherwise] };
  const branches = (allOf ?? []).filter((branch) => branch.if);
  if (rest.oneOf || branches.length === 0) return rest;
  const oneOf = branches.map((branch) => {
    const [field, { const: value }] = Object.entries(branch.if.properties)[0];
    const required = [field, ...(branch.then.required ?? [])];
    return { ...branch.then, type: "object", properties: { [field]: { const: value }, ...branch.then.properties }, required };
  });
  return { ...rest, oneOf };
}

/** The fields that all have in common go into each; where a field tells all apart, each becomes a definition. */
function choices(name, { properties, required, oneOf, ...rest }, define) {
  if (!oneOf?.some((variant) => variant.type === "object")) return withoutEmpty({ ...rest, properties, required, oneOf });
  const { type, ...union } = rest;
  const tag = tagOf(oneOf);
  const refs = oneOf.map((variant) => {
    const { [tag]: first, ...others } = { ...properties, ...variant.properties };
    const whole = {
      ...variant,
      properties: first ? { [tag]: first, ...others } : others,
      required: [...new Set([...(required ?? []), ...(variant.required ?? [])])],
    };
    if (!tag) return whole;
    const title = variant.title ?? called(first.const, name);
    define(whole, title);
    return { $ref: `#/$defs/${title}` };
  });
  return { ...union, oneOf: refs };
}

/** The field that has another value in each of the variants. */
function tagOf(variants) {
  const values = (field) => variants.map((variant) => variant.properties?.[field]?.const);
  return Object.keys(variants[0].properties ?? {}).find((field) => {
    const all = values(field);
    return all.every((value) => typeof value === "string") && new Set(all).size === all.length;
  });
}

/** `item/started` of a `Notification` is an `ItemStartedNotification`, `user_message` of a `UnifiedMessage` a `UserMessage`. */
function called(value, union) {
  const words = value.split(/[^A-Za-z0-9]+/).map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  const kind = union.match(/[A-Z][a-z]+$/)?.[0] ?? union;
  const name = words.join("");
  return name.endsWith(kind) ? name : name + kind;
}

function withoutEmpty(schema) {
  return Object.fromEntries(Object.entries(schema).filter(([, value]) => value !== undefined));
}
