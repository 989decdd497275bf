// Makes the types of all protocols: node tools/generate.mjs SWITCHBOARD

import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { compile } from "json-schema-to-typescript";
import { PROTOCOLS } from "./protocols.mjs";
import { withUnions } from "./unions.mjs";

const OPTIONS = {
  // What is not in the schema may still come; that a type does not name it makes typing mistakes visible.
  additionalProperties: false,
  bannerComment: "",
  format: true,
  ignoreMinAndMaxItems: true,
  style: { printWidth: 120 },
};

const [switchboard] = process.argv.slice(2);
mkdirSync("types", { recursive: true });
for (const { file, schema, message } of PROTOCOLS) {
  const printed = execFileSync(switchboard, ["schema", schema], { encoding: "utf8", maxBuffer: 1 << 26 });
  const banner = `// Made from \`switchboard schema ${schema}\` by \`cargo xtask types\`: not to be changed by hand.\n\n`;
  const types = await compile(withUnions(JSON.parse(printed), message), message, OPTIONS);
  check(file, types);
  writeFileSync(`types/${file}.d.ts`, banner + onOneLine(types));
}
const index = PROTOCOLS.map(({ file }) => `export type * as ${file} from "./${file}.js";\n`);
writeFileSync("types/index.d.ts", `// One namespace a protocol. Made by \`cargo xtask types\`.\n\n${index.join("")}`);

/** Remarks of one line take one line. */
function onOneLine(types) {
  return types.replace(/\/\*\*\n *\* (.*)\n *\*\/$/gm, (remark, text) => (text.length < 110 ? `/** ${text} */` : remark));
}

/** Names that were numbered, and types that say nothing, are mistakes in a schema. */
function check(file, types) {
  const names = [...types.matchAll(/^export (?:type|interface) (\w+)/gm)].map(([, name]) => name);
  const wrong = names.filter((name) => /\d$/.test(name) && names.includes(name.replace(/\d+$/, "")));
  if (/\bany\b(?=[;\[\])|])/.test(types)) wrong.push("any");
  if (wrong.length) throw new Error(`${file}: ${wrong.join(", ")}`);
}
