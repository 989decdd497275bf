// The protocols that have types here: the schemas that each is made from, by what one message is called.

export const PROTOCOLS = [
  {
    file: "harness",
    told: { HarnessMessage: "harness" },
    said: { HarnessClientMessage: "harness:client" },
    // Notifications that are told apart by a pattern, and not by a value, have a type of their own.
    open: { type: "Extension", matches: isExtension },
  },
  { file: "unified", told: { UnifiedEvent: "unified" } },
  { file: "messages", told: { UnifiedMessage: "message" } },
  { file: "consumers", told: { ConsumerMessage: "consumer" }, said: { ConsumerCommand: "consumer:client" } },
];

function isExtension({ id, method }) {
  return id === undefined && method !== undefined && !/^(thread|turn|item|switchboard)\//.test(method);
}
