// Runs every example against a server of its own, and compares what is printed: node tools/examples.mjs SWITCHBOARD

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const PROMPT = "think hmm\ntext hello world\napprove touch x";
const TOOL = "[run] { command: 'touch x' }";
const EXPECTED = {
  harness: ["hello world", "[touch x]", "completed"],
  unified: ["hello world", TOOL, "completed"],
  messages: ["hello world", TOOL, "completed"],
  consumers: ["hello world", TOOL, "success"],
};

const [switchboard] = process.argv.slice(2);
const data = mkdtempSync(join(tmpdir(), "switchboard-examples-"));
const server = spawn(switchboard, ["serve", "--listen", "127.0.0.1:0", "--data", data], { stdio: ["ignore", "ignore", "pipe"] });
try {
  const SWITCHBOARD_URL = await address(server);
  const SWITCHBOARD_TOKEN = execFileSync(switchboard, ["token", "--data", data], { encoding: "utf8" }).trim();
  const env = { ...process.env, SWITCHBOARD: switchboard, SWITCHBOARD_DATA: data, SWITCHBOARD_URL, SWITCHBOARD_TOKEN };
  await Promise.all(Object.keys(EXPECTED).map((name) => check(name, env)));
} finally {
  server.kill();
  await once(server, "exit");
  rmSync(data, { recursive: true });
}

async function address(server) {
  for await (const line of createInterface({ input: server.stderr })) {
    const [, url] = line.match(/listening +(http\S+)/) ?? [];
    if (url) return url;
  }
  throw new Error("the server did not start");
}

async function check(name, env) {
  // Node 20 has WebSocket and does not offer it by itself.
  const flags = typeof WebSocket === "undefined" ? ["--experimental-websocket", "--no-warnings"] : [];
  const example = spawn(process.execPath, [...flags, `built/examples/${name}.js`, "script", PROMPT], { env, stdio: ["ignore", "pipe", "inherit"] });
  const timer = setTimeout(() => example.kill(), 60_000);
  const printed = [];
  for await (const line of createInterface({ input: example.stdout })) if (line) printed.push(line);
  const [code] = example.exitCode === null ? await once(example, "exit") : [example.exitCode];
  clearTimeout(timer);
  if (code !== 0 || printed.join("\n") !== EXPECTED[name].join("\n")) {
    throw new Error(`${name} ended with ${code} and printed\n${printed.join("\n")}`);
  }
  console.log(`example ${name}: as expected`);
}
