// The protocols that have types here: the schemas that each is made from, by what one message is called.

export const PROTOCOLS = [
  { file: "harness", told: { HarnessMessage: "harness" }, said: { HarnessClientMessage: "harness:client" } },
  { file: "unified", told: { UnifiedEvent: "unified" } },
  { file: "messages", told: { UnifiedMessage: "message" } },
  { file: "consumers", told: { ConsumerMessage: "consumer" }, said: { ConsumerCommand: "consumer:client" } },
];
