//! A tab as a user operates it: waits for elements, clicks, types. Every wait has a timeout.

use std::{
    rc::Rc,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, anyhow, bail};
use serde_json::{Value, json};
use thirtyfour::{Key, WebElement, WindowHandle};

use crate::browser::ChromiumBrowser;

const WAIT_TIMEOUT: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(25);

/// Returns the first visible element that contains the text, if one is given.
const FIND_VISIBLE_JS: &str = "const [css, text] = arguments; \
    return [...document.querySelectorAll(css)].find(it => it.checkVisibility({visibilityProperty: true}) \
        && (!text || (it.innerText ?? it.textContent).includes(text))) ?? null";

/// Expands `@name` to the page's `data-test` attribute.
fn expand_selector(css: &str) -> String {
    let mut parts = css.split('@');
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(part.len());
        let (name, rest) = part.split_at_checked(end).unwrap_or((part, ""));
        whole.push_str(&format!("[data-test=\"{name}\"]{rest}"));
    }
    whole
}

#[derive(Clone)]
pub struct BrowserTab {
    pub browser: Rc<ChromiumBrowser>,
    window: WindowHandle,
}

impl BrowserTab {
    /// Returns the tab that the browser opened with.
    pub fn first_tab(browser: &Rc<ChromiumBrowser>) -> anyhow::Result<Self> {
        Ok(Self { window: browser.first_window()?, browser: Rc::clone(browser) })
    }

    pub fn open_another(&self) -> anyhow::Result<Self> {
        Ok(Self { window: self.browser.open_window()?, browser: Rc::clone(&self.browser) })
    }

    pub fn activate(&self) -> anyhow::Result<()> {
        self.browser.switch_to(&self.window)
    }

    pub fn navigate(&self, address: &str) -> anyhow::Result<()> {
        self.activate()?;
        Ok(self.browser.wait_for_driver(self.browser.driver_session()?.goto(address))?)
    }

    pub fn reload(&self) -> anyhow::Result<()> {
        self.activate()?;
        Ok(self.browser.wait_for_driver(self.browser.driver_session()?.refresh())?)
    }

    pub fn current_url(&self) -> anyhow::Result<String> {
        self.activate()?;
        Ok(self.browser.wait_for_driver(self.browser.driver_session()?.current_url())?.to_string())
    }

    pub fn page_title(&self) -> anyhow::Result<String> {
        self.activate()?;
        Ok(self.browser.wait_for_driver(self.browser.driver_session()?.title())?)
    }

    pub fn page_source(&self) -> anyhow::Result<String> {
        self.activate()?;
        Ok(self.browser.wait_for_driver(self.browser.driver_session()?.source())?)
    }

    /// Returns the result of a script.
    pub fn run_js(&self, script: &str, given: &[Value]) -> anyhow::Result<Value> {
        self.activate()?;
        let done = self.browser.wait_for_driver(self.browser.driver_session()?.execute(script, given.to_vec()))?;
        Ok(done.json().clone())
    }

    pub fn send_cdp_command(&self, name: &str, wishes: Value) -> anyhow::Result<Value> {
        self.activate()?;
        self.browser.send_cdp_command(name, wishes)
    }

    /// Waits until `look` returns a value. Errors are retried until the timeout.
    pub fn wait_until<T>(&self, what: &str, mut look: impl FnMut() -> anyhow::Result<Option<T>>) -> anyhow::Result<T> {
        let end = Instant::now() + WAIT_TIMEOUT;
        loop {
            let seen = look();
            match seen {
                Ok(Some(seen)) => return Ok(seen),
                Err(error) if Instant::now() > end => return Err(error.context(format!("waited for {what}"))),
                Ok(None) if Instant::now() > end => bail!("waited for {what}"),
                _ => thread::sleep(POLL_INTERVAL),
            }
        }
    }

    /// Waits until a script returns a truthy value.
    pub fn wait_until_js(&self, what: &str, script: &str, given: &[Value]) -> anyhow::Result<Value> {
        let is_true = |value: &Value| !matches!(value, Value::Null | Value::Bool(false)) && *value != json!(0);
        self.wait_until(what, || Ok(Some(self.run_js(script, given)?).filter(is_true)))
    }

    /// Returns the first visible element that contains the text; an empty text matches any.
    fn find_element(&self, css: &str, text: &str) -> anyhow::Result<Option<WebElement>> {
        self.activate()?;
        let session = self.browser.driver_session()?;
        let found = self
            .browser
            .wait_for_driver(session.execute(FIND_VISIBLE_JS, vec![json!(expand_selector(css)), json!(text)]))?;
        if found.json().is_null() { Ok(None) } else { Ok(Some(found.element()?)) }
    }

    /// Returns whether an element is visible now.
    pub fn is_shown(&self, css: &str, text: &str) -> anyhow::Result<bool> {
        Ok(self.find_element(css, text)?.is_some())
    }

    /// Waits until an element is visible.
    pub fn wait_for(&self, css: &str, text: &str) -> anyhow::Result<()> {
        self.wait_until(&format!("`{css}` with {text:?}"), || self.find_element(css, text)).map(drop)
    }

    /// Waits until no such element is visible.
    pub fn wait_until_gone(&self, css: &str, text: &str) -> anyhow::Result<()> {
        self.wait_until(&format!("`{css}` with {text:?} to go"), || Ok((!self.is_shown(css, text)?).then_some(())))
    }

    /// Returns the text of the first visible element.
    pub fn text_of(&self, css: &str) -> anyhow::Result<String> {
        let element = self.wait_until(&format!("`{css}`"), || self.find_element(css, ""))?;
        Ok(self.browser.wait_for_driver(element.text())?)
    }

    /// Returns the texts of all matching elements, also of those out of sight.
    pub fn texts_of(&self, css: &str) -> anyhow::Result<Vec<String>> {
        let script = "return [...document.querySelectorAll(arguments[0])].map(it => it.textContent)";
        let texts = self.run_js(script, &[json!(expand_selector(css))])?;
        let texts = texts.as_array().context("no list")?;
        Ok(texts.iter().map(|text| text.as_str().unwrap_or_default().to_owned()).collect())
    }

    pub fn count_elements(&self, css: &str) -> anyhow::Result<u64> {
        let count =
            self.run_js("return document.querySelectorAll(arguments[0]).length", &[json!(expand_selector(css))])?;
        count.as_u64().context("no count")
    }

    /// Clicks an element as soon as it can be clicked.
    pub fn click(&self, css: &str, text: &str) -> anyhow::Result<()> {
        self.retry_action(css, text, |element| self.browser.wait_for_driver(element.click()).map_err(Into::into))
    }

    pub fn hover_over(&self, css: &str) -> anyhow::Result<()> {
        self.retry_action(css, "", |element| {
            let chain = self.browser.driver_session()?.action_chain().move_to_element_center(element);
            Ok(self.browser.wait_for_driver(chain.perform())?)
        })
    }

    /// Clears a field and types into it.
    pub fn fill_field(&self, css: &str, text: &str) -> anyhow::Result<()> {
        self.retry_action(css, "", |element| {
            self.browser.wait_for_driver(element.clear())?;
            Ok(self.browser.wait_for_driver(element.send_keys(text))?)
        })
    }

    /// Chooses an option by typing its beginning.
    pub fn choose_option(&self, css: &str, words: &str) -> anyhow::Result<()> {
        self.retry_action(css, "", |element| Ok(self.browser.wait_for_driver(element.send_keys(words))?))
    }

    /// Sets a field's value at once, for texts that are not typed.
    pub fn paste_text(&self, css: &str, text: &str) -> anyhow::Result<()> {
        let script = "const [it, text] = arguments; it.focus(); it.value = text; \
                      it.dispatchEvent(new Event('input', {bubbles: true}))";
        self.retry_action(css, "", |element| {
            let given = vec![element.to_json()?, json!(text)];
            self.browser.wait_for_driver(self.browser.driver_session()?.execute(script, given))?;
            Ok(())
        })
    }

    /// Presses keys, wherever the focus is.
    pub fn press_keys(&self, keys: &str) -> anyhow::Result<()> {
        self.activate()?;
        let chain = self.browser.driver_session()?.action_chain().send_keys(keys);
        Ok(self.browser.wait_for_driver(chain.perform())?)
    }

    /// Presses a key that is not a letter.
    pub fn press_key(&self, key: &Key) -> anyhow::Result<()> {
        self.press_keys(&key.value().to_string())
    }

    /// Presses a key while another one is held down.
    pub fn press_chord(&self, held: &Key, key: &Key) -> anyhow::Result<()> {
        self.activate()?;
        let (held, key) = (held.value(), key.value());
        let chain = self.browser.driver_session()?.action_chain().key_down(held).key_down(key).key_up(key).key_up(held);
        Ok(self.browser.wait_for_driver(chain.perform())?)
    }

    /// Sends a key-down event, or a repeat of it.
    pub fn send_key_down(&self, letter: char, repeats: bool) -> anyhow::Result<()> {
        let code = format!("Key{}", letter.to_ascii_uppercase());
        let down = json!({ "type": "keyDown", "key": letter, "text": letter, "code": code, "autoRepeat": repeats });
        self.send_cdp_command("Input.dispatchKeyEvent", down).map(drop)
    }

    /// Acts on an element; retries while it moves or is covered.
    fn retry_action(
        &self,
        css: &str,
        text: &str,
        act: impl Fn(&WebElement) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        self.wait_until(&format!("`{css}` with {text:?}"), || {
            let element = self.find_element(css, text)?.ok_or_else(|| anyhow!("it is not shown"))?;
            act(&element).map(Some)
        })
    }

    pub fn take_screenshot(&self) -> anyhow::Result<Vec<u8>> {
        self.activate()?;
        Ok(self.browser.wait_for_driver(self.browser.driver_session()?.screenshot_as_png())?)
    }

    pub fn set_viewport(&self, width: u32, height: u32, scale: f64) -> anyhow::Result<()> {
        let wishes = json!({ "width": width, "height": height, "deviceScaleFactor": scale, "mobile": width < 600 });
        self.send_cdp_command("Emulation.setDeviceMetricsOverride", wishes).map(drop)
    }

    pub fn set_color_scheme(&self, scheme: &str) -> anyhow::Result<()> {
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.send_cdp_command("Emulation.setEmulatedMedia", features).map(drop)
    }

    pub fn set_offline(&self, offline: bool) -> anyhow::Result<()> {
        let wishes = json!({ "offline": offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1 });
        self.send_cdp_command("Network.enable", json!({}))?;
        self.send_cdp_command("Network.emulateNetworkConditions", wishes).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::expand_selector;

    #[test]
    fn names_of_the_page_become_selectors() {
        assert_eq!(expand_selector("@entry[data-kind=user] > p"), "[data-test=\"entry\"][data-kind=user] > p");
        assert_eq!(expand_selector("ol @log-title, p"), "ol [data-test=\"log-title\"], p");
    }
}
