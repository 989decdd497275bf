// Browser notifications, for whoever wants them: only while the page is not looked at.

import { button, mark, spoken } from './dom.js';
import { go } from './router.js';
import { recall, remember, toast } from './shell.js';

const isOn = () => recall('notify', false) && 'Notification' in window && Notification.permission === 'granted';

export function bell() {
  if (!('Notification' in window)) return null;
  const made = button('.plain', 'notify', () => toggle(made), mark('bell'), spoken('Notify me when something waits'));
  show(made);
  return made;
}

function show(made) {
  made.setAttribute('aria-pressed', String(isOn()));
  made.title = isOn() ? 'Notifications are on' : 'Notify me when something waits';
}

async function toggle(made) {
  if (isOn()) remember('notify', false);
  else if ((await Notification.requestPermission()) === 'granted') remember('notify', true);
  else toast('The browser does not allow notifications for this page', { bad: true });
  show(made);
}

export function ring(card, words) {
  if (!isOn() || document.visibilityState === 'visible') return;
  const note = new Notification(`${card.agentType} needs you`, { body: words, tag: card.id, icon: '/static/icon.svg' });
  note.onclick = () => {
    focus();
    go(`/s/${encodeURIComponent(card.id)}`);
    note.close();
  };
}
