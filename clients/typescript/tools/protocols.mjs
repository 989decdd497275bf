// The protocols that have types here: the schemas that each is made from, by what one message is called.

export const PROTOCOLS = [
  { file: "harness", told: { HarnessMessage: "harness" } },
  { file: "unified", told: { UnifiedEvent: "unified" } },
  { file: "messages", told: { UnifiedMessage: "message" } },
];
