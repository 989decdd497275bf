// Says with unions what a JSON Schema says with conditions and with flattened fields, so that the types made of it can be
// told apart by a field. Nothing is lost that a type can express; what it cannot (patterns, bounds) is left out.

import { isDeepStrictEqual } from "node:util";
import { plain } from "./plain.mjs";

/** One schema of several: each is a definition, and so is every variant of a union. `messages` is `{ name: schema }`. */
export function withUnions(messages) {
  const given = {};
  for (const [name, message] of Object.entries(messages)) {
    const { $defs, $schema, $id, "x-results": _, ...schema } = named(message, name);
    for (const [key, value] of Object.entries(plain({ ...$defs, [name]: { ...schema, title: name } }, true))) {
      define(given, key, value);
    }
  }
  const $defs = {};
  const reach = (name) => {
    if (name in $defs) return;
    const made = {};
    made[name] = union(name, given[name], given, made);
    for (const [key, schema] of Object.entries(made)) define($defs, key, schema);
    references(made).forEach(reach);
  };
  Object.entries(messages).forEach(([name, message]) => [name, ...openParts(message)].forEach(reach));
  return settled($defs);
}

/** What marks the name of a variant until it is known that no definition has it. */
const VARIANT = "~";

/** All definitions by their final names. */
function settled(defs) {
  const final = {};
  for (const [name, schema] of Object.entries(defs)) define(final, name.replace(VARIANT, ""), schema);
  return JSON.parse(JSON.stringify(final).replaceAll(`#/$defs/${VARIANT}`, "#/$defs/"));
}

/**
 * The parts of a message that a pattern tells apart, and no value: among the others, they would hide what the field says.
 * They are not in the union, and are to be named beside it.
 */
export function openParts({ $defs = {}, ...message }) {
  return [...new Set(references(message))].filter((name) => isOpenPart($defs[name]));
}

function isOpenPart(schema) {
  const { pattern, const: value } = schema?.properties?.method ?? {};
  return pattern !== undefined && value === undefined;
}

/** The names of all definitions that are referred to. */
function references(schema) {
  if (typeof schema !== "object" || schema === null) return [];
  const own = typeof schema.$ref === "string" ? [schema.$ref.split("/").at(-1)] : [];
  return [...own, ...Object.values(schema).flatMap(references)];
}

/** References to the message itself, by its name. */
function named(message, name) {
  return JSON.parse(JSON.stringify(message), (key, value) => (key === "$ref" && value === "#" ? `#/$defs/${name}` : value));
}

/** Fails where two types would have one name. */
function define(defs, name, schema) {
  if (name in defs && !isDeepStrictEqual(defs[name], schema)) throw new Error(`two types would be called ${name}`);
  defs[name] = schema;
}

/** The schema as a choice of definitions, if it is a choice: each variant that has a name becomes one. */
function union(name, schema, given, defs) {
  const open = (variant) => variant.$ref && isOpenPart(given[variant.$ref.split("/").at(-1)]);
  const variants = alternatives({ ...schema, union: name }, given).filter((variant) => !open(variant));
  if (variants.length === 1 && !schema.oneOf) return without(variants[0], "union");
  const refs = variants.map(({ union, ...variant }) => {
    if (variant.$ref) return variant;
    const tag = tagOf(variant, variants.filter((other) => other.union === union));
    const title = variant.title ?? (tag && called(variant.properties[tag].const, union));
    if (!title) return variant;
    define(defs, VARIANT + title, { ...variant, title, properties: first(tag, variant.properties) });
    return { $ref: `#/$defs/${VARIANT}${title}` };
  });
  return { title: schema.title, description: schema.description, oneOf: refs };
}

/** What a schema may be, each with all of its fields. */
function alternatives(schema, given) {
  const { if: condition, then, else: otherwise, not, oneOf, allOf, title, description, ...rest } = merged(schema, given);
  const within = (choice) => (isReference(choice) && bare(rest) ? [choice] : alternatives(both(rest, choice), given));
  if (condition) return [isReference(then) ? then : both(then, { required: condition.required }), otherwise].flatMap(within);
  if (oneOf?.every((choice) => bare(choice))) return oneOf.map((choice) => only(rest, oneOf, choice));
  if (oneOf?.some((choice) => choice.type === "object" || choice.$ref)) return oneOf.flatMap(within);
  if (allOf) return allOf.flatMap(({ if: { properties }, then }) => within(both({ properties, required: Object.keys(properties) }, then)));
  return [without({ ...rest, oneOf, title, description }, undefined)];
}

/** With what is referred to beside other fields, and what is said in addition, in place. */
function merged(schema, given) {
  const { $ref, allOf = [], ...rest } = schema;
  const conditions = allOf.filter((part) => part.if);
  const parts = [...allOf.filter((part) => !part.if), ...($ref && !bare(rest) ? [{ $ref }] : [])];
  if (parts.length === 0) return rest.oneOf || !conditions.length ? without({ ...schema, allOf: undefined }) : schema;
  return parts.reduce((all, part) => {
    if (!part.$ref) return both(all, part);
    const name = part.$ref.split("/").at(-1);
    return both(all, { ...without(given[name], "description", "title"), ...(given[name].oneOf && { union: name }) });
  }, without(rest));
}

/** Both of two objects; the second says what it is. */
function both(a, b) {
  const properties = { ...a.properties, ...b.properties };
  const required = [...new Set([...(a.required ?? []), ...(b.required ?? [])])];
  return { ...a, ...b, properties, required };
}

const isReference = (schema) => Object.keys(schema).join() === "$ref";

/** Nothing is said of its fields, or only which are needed. */
const bare = ({ union, title, description, required, type, properties = {}, ...rest }) =>
  Object.keys(without(rest)).length + Object.keys(properties).length === 0;

/** The fields without those that another choice needs. */
function only(schema, choices, { title, required }) {
  const others = choices.flatMap((choice) => choice.required).filter((field) => !required.includes(field));
  const properties = without(schema.properties, ...others);
  return without({ ...schema, title, type: "object", properties, required: [...(schema.required ?? []), ...required] });
}

/** The field of a variant by which it is told apart from the others. */
function tagOf(variant, variants) {
  return Object.keys(variant.properties ?? {}).find((field) => {
    const values = variants.map(({ properties }) => properties?.[field]?.const).filter((value) => value !== undefined);
    return typeof variant.properties[field].const === "string" && new Set(values).size === values.length;
  });
}

/** `item/started` of a `Notification` is an `ItemStartedNotification`, `user_message` of a `UnifiedMessage` a `UserMessage`. */
function called(value, union) {
  const words = value.split(/[^A-Za-z0-9]+/).map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  const kind = union.match(/[A-Z][a-z]+$/)?.[0] ?? union;
  const name = words.join("");
  return name.endsWith(kind) ? name : name + kind;
}

function first(key, { [key]: value, ...others }) {
  return value ? { [key]: value, ...others } : others;
}

function without(object, ...keys) {
  return Object.fromEntries(Object.entries(object).filter(([key, value]) => value !== undefined && !keys.includes(key)));
}
