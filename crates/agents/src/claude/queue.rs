//! Prompts that were sent while a turn ran. Claude Code does not say what becomes of one: it joins the turn when the
//! next results of tools go to the model, or begins the next turn.

/// How many prompts may wait before the oldest is forgotten. Only their text is kept, to recognise them.
const MOST: usize = 64;

/// Prompts that no turn has taken up yet, as far as that is known.
#[derive(Default)]
pub struct Waiting {
    prompts: Vec<Prompt>,
    /// How many of them will join the turn when the model is called again.
    joining: usize,
}

struct Prompt {
    id: String,
    text: String,
}

impl Waiting {
    /// A prompt was sent while a turn ran.
    pub fn push(&mut self, id: &str, text: String) {
        if self.prompts.len() == MOST {
            self.prompts.remove(0);
        }
        self.prompts.push(Prompt { id: id.to_owned(), text });
    }

    /// It was called back.
    pub fn remove(&mut self, id: &str) {
        self.prompts.retain(|prompt| prompt.id != id);
    }

    /// Results of tools go to the model, and with them all that waits.
    pub fn results(&mut self) {
        self.joining = self.prompts.len();
    }

    /// The model is called.
    pub fn called(&mut self) {
        let joined = std::mem::take(&mut self.joining).min(self.prompts.len());
        self.prompts.drain(..joined);
    }

    /// A turn begins: with the prompt that waited longest.
    pub fn next(&mut self) -> Option<String> {
        self.joining = 0;
        (!self.prompts.is_empty()).then(|| self.prompts.remove(0).text)
    }

    /// Nothing is left.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// This waits.
    pub fn contains(&self, text: &str) -> bool {
        self.prompts.iter().any(|prompt| prompt.text == text)
    }
}

#[cfg(test)]
mod tests {
    use super::Waiting;

    fn two() -> Waiting {
        let mut waiting = Waiting::default();
        waiting.push("1", "one".to_owned());
        waiting.push("2", "two".to_owned());
        waiting
    }

    #[test]
    fn what_waits_begins_the_next_turn() {
        let mut waiting = two();
        assert_eq!(waiting.next().as_deref(), Some("one"));
        assert_eq!(waiting.next().as_deref(), Some("two"));
        assert_eq!(waiting.next(), None);
    }

    #[test]
    fn what_went_with_results_of_tools_has_joined() {
        let mut waiting = two();
        waiting.results();
        waiting.push("3", "three".to_owned());
        waiting.called();
        assert_eq!(waiting.next().as_deref(), Some("three"));
        // The turn ended instead: nothing joined.
        let mut waiting = two();
        waiting.results();
        assert_eq!(waiting.next().as_deref(), Some("one"));
        waiting.called();
        assert!(waiting.contains("two"));
    }

    #[test]
    fn what_was_called_back_is_gone() {
        let mut waiting = two();
        waiting.remove("1");
        assert!(!waiting.contains("one") && waiting.contains("two"));
        waiting.clear();
        assert_eq!(waiting.next(), None);
    }
}
