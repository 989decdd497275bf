// Following a stream of the server: reconnects where it stopped, and says when the connection is lost.

const WAITS = [250, 500, 1000, 2000, 3000];

// Opens `address(after)` and calls `hear(message)` for each message. `lost(true)` is called when a reconnect failed
// too, `lost(false)` when it works again. Returns a handle: `close()`, `seq`.
export function follow({ address, after, hear, lost }) {
  return new Stream(address, after, hear, lost);
}

class Stream {
  constructor(address, after, hear, lost) {
    Object.assign(this, { address, seq: after, hear, lost, failures: 0, isLost: false, isClosed: false });
    this.again = () => this.retry(0);
    addEventListener('online', this.again);
    this.gone = () => this.fail();
    addEventListener('offline', this.gone);
    // A page that one can go back to would keep its connection, and browsers have six for a server.
    this.rest = () => (clearTimeout(this.timer), this.source.close());
    addEventListener('pagehide', this.rest);
    this.wake = ({ persisted }) => persisted && this.retry(0);
    addEventListener('pageshow', this.wake);
    this.open();
  }

  open() {
    this.source?.close();
    const source = (this.source = new EventSource(this.address(this.seq)));
    source.onopen = () => this.say(!(this.isOpen = true));
    source.onmessage = ({ data, lastEventId }) => {
      if (this.isClosed || source !== this.source) return;
      if (lastEventId) this.seq = lastEventId;
      this.failures = 0;
      this.hear(JSON.parse(data));
    };
    source.onerror = () => source === this.source && this.fail();
  }

  fail() {
    if (this.isClosed) return;
    this.source?.close();
    // A stream that was open may just have ended; one that cannot be opened is lost.
    if (!this.isOpen) this.say(true);
    this.isOpen = false;
    this.retry(WAITS[Math.min(this.failures, WAITS.length - 1)]);
    this.failures += 1;
  }

  retry(wait) {
    clearTimeout(this.timer);
    if (!this.isClosed) this.timer = setTimeout(() => this.open(), wait);
  }

  say(isLost) {
    if (isLost !== this.isLost) this.lost?.((this.isLost = isLost));
  }

  close() {
    this.isClosed = true;
    clearTimeout(this.timer);
    this.source?.close();
    removeEventListener('online', this.again);
    removeEventListener('offline', this.gone);
    removeEventListener('pagehide', this.rest);
    removeEventListener('pageshow', this.wake);
    if (this.isLost) this.lost?.(false);
  }
}
