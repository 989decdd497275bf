// One namespace a protocol. Made by `cargo xtask types`.

export type * as harness from "./harness.js";
export type * as unified from "./unified.js";
export type * as messages from "./messages.js";
export type * as consumers from "./consumers.js";
