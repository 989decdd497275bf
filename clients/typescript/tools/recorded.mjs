// Writes recorded messages as TypeScript, each held against the type of its protocol: node tools/recorded.mjs TESTKIT

import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { PROTOCOLS } from "./protocols.mjs";

const [testkit] = process.argv.slice(2);
mkdirSync("recorded", { recursive: true });
for (const { file, told, open } of PROTOCOLS) {
  const [[message, schema]] = Object.entries(told);
  const printed = execFileSync(testkit, ["recorded", schema], { encoding: "utf8", maxBuffer: 1 << 30 });
  const lines = [...new Set(printed.trim().split("\n"))];
  // One statement each: of a list the compiler would first look for the type of all.
  const checks = lines.map((line) => {
    const value = JSON.parse(line);
    return `void (${JSON.stringify(value)} satisfies ${open?.matches(value) ? open.type : message});`;
  });
  const types = [message, ...(open ? [open.type] : [])].join(", ");
  const head = `import type { ${types} } from "@switchboard/protocols/${file}";`;
  writeFileSync(`recorded/${file}.ts`, [head, ...checks, ""].join("\n"));
  console.log(`${lines.length} recorded messages of ${file}`);
}
