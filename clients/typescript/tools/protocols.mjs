// The protocols that have types here: the schema that each is made from, and what one message is called.

export const PROTOCOLS = [
  { file: "harness", schema: "harness", message: "HarnessMessage" },
  { file: "unified", schema: "unified", message: "UnifiedEvent" },
  { file: "messages", schema: "message", message: "UnifiedMessage" },
];
