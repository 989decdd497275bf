//! A tab, as a person uses it: looks for something until it is there, clicks, types. Everything waits for what it needs,
//! and nothing waits for ever.

use std::{
    rc::Rc,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, anyhow, bail};
use serde_json::{Value, json};
use thirtyfour::{Key, WebElement, WindowHandle};

use crate::browser::Browser;

/// The longest that anything is waited for, and how often it is looked for.
const PATIENCE: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(25);

/// The first element that is shown, and has the text if one is given.
const FIND: &str = "const [css, text] = arguments; \
    return [...document.querySelectorAll(css)].find(it => it.checkVisibility({visibilityProperty: true}) \
        && (!text || (it.innerText ?? it.textContent).includes(text))) ?? null";

/// A selector in which `@name` is what the page calls by that name for tests.
pub fn selector(css: &str) -> String {
    let mut parts = css.split('@');
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(part.len());
        let (name, rest) = part.split_at_checked(end).unwrap_or((part, ""));
        whole.push_str(&format!("[data-test=\"{name}\"]{rest}"));
    }
    whole
}

/// A tab.
#[derive(Clone)]
pub struct Tab {
    /// Whose it is.
    pub browser: Rc<Browser>,
    window: WindowHandle,
}

impl Tab {
    /// The tab that a browser opened with.
    pub fn first(browser: &Rc<Browser>) -> anyhow::Result<Self> {
        Ok(Self { window: browser.first()?, browser: Rc::clone(browser) })
    }

    /// One more.
    pub fn another(&self) -> anyhow::Result<Self> {
        Ok(Self { window: self.browser.another()?, browser: Rc::clone(&self.browser) })
    }

    /// Makes it the one that is looked at.
    pub fn show(&self) -> anyhow::Result<()> {
        self.browser.look_at(&self.window)
    }

    /// Goes to an address.
    pub fn go(&self, address: &str) -> anyhow::Result<()> {
        self.show()?;
        Ok(self.browser.ask(self.browser.session()?.goto(address))?)
    }

    /// Loads the page anew.
    pub fn reload(&self) -> anyhow::Result<()> {
        self.show()?;
        Ok(self.browser.ask(self.browser.session()?.refresh())?)
    }

    /// What the address bar says.
    pub fn address(&self) -> anyhow::Result<String> {
        self.show()?;
        Ok(self.browser.ask(self.browser.session()?.current_url())?.to_string())
    }

    /// The page's title.
    pub fn title(&self) -> anyhow::Result<String> {
        self.show()?;
        Ok(self.browser.ask(self.browser.session()?.title())?)
    }

    /// The HTML of the page as it is now.
    pub fn source(&self) -> anyhow::Result<String> {
        self.show()?;
        Ok(self.browser.ask(self.browser.session()?.source())?)
    }

    /// What a piece of JavaScript returns.
    pub fn js(&self, script: &str, given: &[Value]) -> anyhow::Result<Value> {
        self.show()?;
        let done = self.browser.ask(self.browser.session()?.execute(script, given.to_vec()))?;
        Ok(done.json().clone())
    }

    /// A command of the browser's own debugging protocol.
    pub fn command(&self, name: &str, wishes: Value) -> anyhow::Result<Value> {
        self.show()?;
        self.browser.command(name, wishes)
    }

    /// Waits until something is so, and gives it. What goes wrong on the way may be right the next time.
    pub fn until<T>(&self, what: &str, mut look: impl FnMut() -> anyhow::Result<Option<T>>) -> anyhow::Result<T> {
        let end = Instant::now() + PATIENCE;
        loop {
            let seen = look();
            match seen {
                Ok(Some(seen)) => return Ok(seen),
                Err(error) if Instant::now() > end => return Err(error.context(format!("waited for {what}"))),
                Ok(None) if Instant::now() > end => bail!("waited for {what}"),
                _ => thread::sleep(LOOK),
            }
        }
    }

    /// Waits until a piece of JavaScript returns something that is true, and gives it.
    pub fn until_js(&self, what: &str, script: &str, given: &[Value]) -> anyhow::Result<Value> {
        let is_true = |value: &Value| !matches!(value, Value::Null | Value::Bool(false)) && *value != json!(0);
        self.until(what, || Ok(Some(self.js(script, given)?).filter(is_true)))
    }

    /// The first element that is shown now and has the text; any, if it is empty.
    fn element(&self, css: &str, text: &str) -> anyhow::Result<Option<WebElement>> {
        self.show()?;
        let session = self.browser.session()?;
        let found = self.browser.ask(session.execute(FIND, vec![json!(selector(css)), json!(text)]))?;
        if found.json().is_null() { Ok(None) } else { Ok(Some(found.element()?)) }
    }

    /// Something is shown now.
    pub fn has(&self, css: &str, text: &str) -> anyhow::Result<bool> {
        Ok(self.element(css, text)?.is_some())
    }

    /// Waits until something is shown.
    pub fn see(&self, css: &str, text: &str) -> anyhow::Result<()> {
        self.until(&format!("`{css}` with {text:?}"), || self.element(css, text)).map(drop)
    }

    /// Waits until nothing of the kind is shown.
    pub fn gone(&self, css: &str, text: &str) -> anyhow::Result<()> {
        self.until(&format!("`{css}` with {text:?} to go"), || Ok((!self.has(css, text)?).then_some(())))
    }

    /// The text of the first element that is shown.
    pub fn text(&self, css: &str) -> anyhow::Result<String> {
        let element = self.until(&format!("`{css}`"), || self.element(css, ""))?;
        Ok(self.browser.ask(element.text())?)
    }

    /// The text of everything of the kind, also where it is out of sight.
    pub fn texts(&self, css: &str) -> anyhow::Result<Vec<String>> {
        let script = "return [...document.querySelectorAll(arguments[0])].map(it => it.textContent)";
        let texts = self.js(script, &[json!(selector(css))])?;
        let texts = texts.as_array().context("no list")?;
        Ok(texts.iter().map(|text| text.as_str().unwrap_or_default().to_owned()).collect())
    }

    /// How many there are.
    pub fn count(&self, css: &str) -> anyhow::Result<u64> {
        let count = self.js("return document.querySelectorAll(arguments[0]).length", &[json!(selector(css))])?;
        count.as_u64().context("no count")
    }

    /// Clicks with the mouse on something that is shown, as soon as it can be clicked.
    pub fn click(&self, css: &str, text: &str) -> anyhow::Result<()> {
        self.act(css, text, |element| self.browser.ask(element.click()).map_err(Into::into))
    }

    /// Moves the mouse over something.
    pub fn point_at(&self, css: &str) -> anyhow::Result<()> {
        self.act(css, "", |element| {
            let chain = self.browser.session()?.action_chain().move_to_element_center(element);
            Ok(self.browser.ask(chain.perform())?)
        })
    }

    /// Types into a field what it shall have.
    pub fn fill(&self, css: &str, text: &str) -> anyhow::Result<()> {
        self.act(css, "", |element| {
            self.browser.ask(element.clear())?;
            Ok(self.browser.ask(element.send_keys(text))?)
        })
    }

    /// Chooses from a list, by the beginning of the words, as one does with the keys.
    pub fn choose(&self, css: &str, words: &str) -> anyhow::Result<()> {
        self.act(css, "", |element| Ok(self.browser.ask(element.send_keys(words))?))
    }

    /// Pastes into a field what it shall have: for texts that nobody types.
    pub fn paste(&self, css: &str, text: &str) -> anyhow::Result<()> {
        let script = "const [it, text] = arguments; it.focus(); it.value = text; \
                      it.dispatchEvent(new Event('input', {bubbles: true}))";
        self.act(css, "", |element| {
            let given = vec![element.to_json()?, json!(text)];
            self.browser.ask(self.browser.session()?.execute(script, given))?;
            Ok(())
        })
    }

    /// Presses keys, wherever the focus is.
    pub fn press(&self, keys: &str) -> anyhow::Result<()> {
        self.show()?;
        let chain = self.browser.session()?.action_chain().send_keys(keys);
        Ok(self.browser.ask(chain.perform())?)
    }

    /// Presses a key that is no letter.
    pub fn key(&self, key: &Key) -> anyhow::Result<()> {
        self.press(&key.value().to_string())
    }

    /// Presses a key while another is held down.
    pub fn chord(&self, held: &Key, key: &Key) -> anyhow::Result<()> {
        self.show()?;
        let (held, key) = (held.value(), key.value());
        let chain = self.browser.session()?.action_chain().key_down(held).key_down(key).key_up(key).key_up(held);
        Ok(self.browser.ask(chain.perform())?)
    }

    /// A letter's key goes down; or it is still down, and repeats itself.
    pub fn hold(&self, letter: char, repeats: bool) -> anyhow::Result<()> {
        let code = format!("Key{}", letter.to_ascii_uppercase());
        let down = json!({ "type": "keyDown", "key": letter, "text": letter, "code": code, "autoRepeat": repeats });
        self.command("Input.dispatchKeyEvent", down).map(drop)
    }

    /// Does something to an element; what moves or is covered in this moment is tried again.
    fn act(&self, css: &str, text: &str, act: impl Fn(&WebElement) -> anyhow::Result<()>) -> anyhow::Result<()> {
        self.until(&format!("`{css}` with {text:?}"), || {
            let element = self.element(css, text)?.ok_or_else(|| anyhow!("it is not shown"))?;
            act(&element).map(Some)
        })
    }

    /// A picture of what is shown.
    pub fn png(&self) -> anyhow::Result<Vec<u8>> {
        self.show()?;
        Ok(self.browser.ask(self.browser.session()?.screenshot_as_png())?)
    }

    /// Sets the size of what is shown: of a phone, say.
    pub fn resize(&self, width: u32, height: u32, scale: f64) -> anyhow::Result<()> {
        let wishes = json!({ "width": width, "height": height, "deviceScaleFactor": scale, "mobile": width < 600 });
        self.command("Emulation.setDeviceMetricsOverride", wishes).map(drop)
    }

    /// Says that the person likes it dark, or light.
    pub fn prefer(&self, scheme: &str) -> anyhow::Result<()> {
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.command("Emulation.setEmulatedMedia", features).map(drop)
    }

    /// Takes the network away, or gives it back.
    pub fn offline(&self, offline: bool) -> anyhow::Result<()> {
        let wishes = json!({ "offline": offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1 });
        self.command("Network.enable", json!({}))?;
        self.command("Network.emulateNetworkConditions", wishes).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::selector;

    #[test]
    fn names_of_the_page_become_selectors() {
        assert_eq!(selector("@entry[data-kind=user] > p"), "[data-test=\"entry\"][data-kind=user] > p");
        assert_eq!(selector("ol @log-title, p"), "ol [data-test=\"log-title\"], p");
    }
}
