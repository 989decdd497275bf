//! Prompts that were sent while a turn ran. Claude Code does not report their fate: one joins the turn when the next
//! tool results go to the model, or begins the next turn.

/// The maximum number of queued prompts before the oldest is forgotten. Only their text is kept, to recognize them.
const MAX_QUEUED_PROMPTS: usize = 64;

/// Prompts that no turn has taken up yet, as far as is known.
#[derive(Default)]
pub struct PromptQueue {
    prompts: Vec<QueuedPrompt>,
    /// How many of them join the turn with the next model call.
    joining: usize,
}

struct QueuedPrompt {
    id: String,
    text: String,
}

impl PromptQueue {
    pub fn push(&mut self, id: &str, text: String) {
        if self.prompts.len() == MAX_QUEUED_PROMPTS {
            self.prompts.remove(0);
        }
        self.prompts.push(QueuedPrompt { id: id.to_owned(), text });
    }

    /// Removes a cancelled prompt.
    pub fn remove(&mut self, id: &str) {
        self.prompts.retain(|prompt| prompt.id != id);
    }

    /// Handles tool results: all queued prompts go to the model with them.
    pub fn mark_results_sent(&mut self) {
        self.joining = self.prompts.len();
    }

    /// Handles a model call: the prompts that went with it have joined the turn.
    pub fn mark_model_called(&mut self) {
        let joined = std::mem::take(&mut self.joining).min(self.prompts.len());
        self.prompts.drain(..joined);
    }

    /// Takes the oldest prompt, which begins the next turn.
    pub fn pop_prompt(&mut self) -> Option<String> {
        self.joining = 0;
        (!self.prompts.is_empty()).then(|| self.prompts.remove(0).text)
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }

    pub fn contains(&self, text: &str) -> bool {
        self.prompts.iter().any(|prompt| prompt.text == text)
    }
}

#[cfg(test)]
mod tests {

    use super::PromptQueue;

    fn two_prompts() -> PromptQueue {
        let mut waiting = PromptQueue::default();
        waiting.push("1", "one".to_owned());
        waiting.push("2", "two".to_owned());
        waiting
    }

    #[test]
    fn what_waits_begins_the_next_turn() {
        let mut waiting = two_prompts();
        assert_eq!(waiting.pop_prompt().as_deref(), Some("one"));
        assert_eq!(waiting.pop_prompt().as_deref(), Some("two"));
        assert_eq!(waiting.pop_prompt(), None);
    }

    #[test]
    fn what_went_with_results_of_tools_has_joined() {
        let mut waiting = two_prompts();
        waiting.mark_results_sent();
        waiting.push("3", "three".to_owned());
        waiting.mark_model_called();
        assert_eq!(waiting.pop_prompt().as_deref(), Some("three"));
        // The turn ended instead: nothing joined.
        let mut waiting = two_prompts();
        waiting.mark_results_sent();
        assert_eq!(waiting.pop_prompt().as_deref(), Some("one"));
        waiting.mark_model_called();
        assert!(waiting.contains("two"));
    }

    #[test]
    fn what_was_called_back_is_gone() {
        let mut waiting = two_prompts();
        waiting.remove("1");
        assert!(!waiting.contains("one") && waiting.contains("two"));
        waiting.clear();
        assert_eq!(waiting.pop_prompt(), None);
    }
}
