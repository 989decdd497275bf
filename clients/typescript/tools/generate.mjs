// Makes the types of all protocols: node tools/generate.mjs SWITCHBOARD

import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { compile } from "json-schema-to-typescript";
import { PROTOCOLS } from "./protocols.mjs";
import { openParts, withUnions } from "./unions.mjs";

const OPTIONS = {
  // What is not in the schema may still come; that a type does not name it makes typing mistakes visible.
  additionalProperties: false,
  bannerComment: "",
  ignoreMinAndMaxItems: true,
  style: { printWidth: 120 },
};

const [switchboard] = process.argv.slice(2);
mkdirSync("types", { recursive: true });
for (const { file, told, said = {} } of PROTOCOLS) {
  const names = { ...told, ...said };
  const messages = Object.fromEntries(Object.entries(names).map(([name, schema]) => [name, printed(schema)]));
  const root = protocol({ told, said }, messages);
  const types = await compile({ ...root, $defs: withUnions(messages) }, "Protocol", OPTIONS);
  check(file, types);
  const schemas = Object.values(names).map((schema) => `\`switchboard schema ${schema}\``);
  const banner = `// Made from ${schemas.join(" and ")} by \`cargo xtask types\`: not to be changed by hand.\n\n`;
  writeFileSync(`types/${file}.d.ts`, banner + tidied(types));
}
const index = PROTOCOLS.map(({ file }) => `export type * as ${file} from "./${file}.js";\n`);
writeFileSync("types/index.d.ts", `// One namespace a protocol. Made by \`cargo xtask types\`.\n\n${index.join("")}`);

function printed(schema) {
  return JSON.parse(execFileSync(switchboard, ["schema", schema], { encoding: "utf8", maxBuffer: 1 << 26 }));
}

/** What all types of a file hang on: the messages of both sides, and what methods are answered. */
function protocol(sides, messages) {
  const properties = {};
  const remarks = { told: "What Switchboard tells a client.", said: "What a client says." };
  for (const [side, names] of Object.entries(sides)) {
    for (const name of Object.keys(names)) {
      const parts = [name, ...openParts(messages[name])];
      properties[side] = { description: remarks[side], anyOf: parts.map((part) => ({ $ref: `#/$defs/${part}` })) };
    }
  }
  const [results] = Object.values(messages).flatMap((schema) => schema["x-results"] ?? []);
  if (results) properties.results = { description: "What each method is answered.", ...object(results) };
  return { title: "Protocol", description: "The messages of the protocol.", ...object(properties) };
}

function object(properties) {
  return { type: "object", properties, required: Object.keys(properties) };
}

/** Remarks of one line take one line, and refer to nothing that is not here. */
function tidied(types) {
  return types.replace(/\[(`\w+`)\]/g, "$1").replace(/\/\*\*\n *\* (.*)\n *\*\/$/gm, (remark, text) => (text.length < 110 ? `/** ${text} */` : remark));
}

/** Names that were numbered, and types that say nothing, are mistakes in a schema. */
function check(file, types) {
  const names = [...types.matchAll(/^export (?:type|interface) (\w+)/gm)].map(([, name]) => name);
  const wrong = names.filter((name) => /\d$/.test(name) && names.includes(name.replace(/\d+$/, "")));
  if (/\bany\b(?=[;\[\])|])/.test(types)) wrong.push("any");
  if (wrong.length) throw new Error(`${file}: ${wrong.join(", ")}`);
}
