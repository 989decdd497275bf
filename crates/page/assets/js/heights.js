// How high each entry is, and where it begins: one number an entry, with sums in logarithmic time (a Fenwick tree).

export class Heights {
  constructor(values = []) {
    this.fill(values);
  }

  fill(values) {
    const room = Math.max(1024, 2 ** Math.ceil(Math.log2(values.length + 1)) * 2);
    this.length = values.length;
    this.own = new Float64Array(room);
    this.own.set(values);
    this.build();
  }

  build() {
    this.sums = new Float64Array(this.own.length + 1);
    for (let i = 1; i <= this.own.length; i += 1) {
      this.sums[i] += this.own[i - 1];
      const next = i + (i & -i);
      if (next <= this.own.length) this.sums[next] += this.sums[i];
    }
  }

  push(height) {
    if (this.length === this.own.length) {
      const wider = new Float64Array(this.own.length * 2);
      wider.set(this.own);
      this.own = wider;
      this.build();
    }
    this.length += 1;
    this.set(this.length - 1, height);
  }

  get(index) {
    return this.own[index];
  }

  set(index, height) {
    const more = height - this.own[index];
    if (more === 0) return;
    this.own[index] = height;
    for (let i = index + 1; i <= this.own.length; i += i & -i) this.sums[i] += more;
  }

  // Where an entry begins: the sum of all before it.
  top(index) {
    let sum = 0;
    for (let i = index; i > 0; i -= i & -i) sum += this.sums[i];
    return sum;
  }

  get total() {
    return this.top(this.length);
  }

  // The entry at a distance from the beginning; the last one if it is behind all.
  at(distance) {
    let index = 0;
    let left = distance;
    for (let step = 2 ** Math.floor(Math.log2(this.own.length)); step > 0; step >>= 1) {
      const next = index + step;
      if (next <= this.own.length && this.sums[next] <= left) {
        index = next;
        left -= this.sums[next];
      }
    }
    return Math.max(0, Math.min(index, this.length - 1));
  }
}
