// Texts that differ too little from what is behind them (WCAG AA), and whether the page is dark. Run in the page.
const canvas = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
const rgba = text => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = text; canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255]; };
const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
const canvasColour = () => matchMedia('(prefers-color-scheme: dark)').matches ? [18, 18, 18, 1] : [255, 255, 255, 1];
const behind = it => { const layers = []; for (let at = it; at; at = at.parentElement)
    layers.push(rgba(getComputedStyle(at).backgroundColor));
    return layers.reduceRight((below, top) => over(top, below), canvasColour()); };
const brightness = colour => { const [r, g, b] = colour.map(c => { c /= 255; return c <= 0.04045 ? c / 12.92 :
    ((c + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const weak = [];
for (const it of document.querySelectorAll('body *')) {
    const own = [...it.childNodes].filter(node => node.nodeType == 3 && node.data.trim()).map(node => node.data.trim());
    const at = it.getBoundingClientRect();
    if (!own.length || !it.checkVisibility({opacityProperty: true, visibilityProperty: true}) || at.width < 2) continue;
    if (it.closest('svg, .sr, .skip, option, [disabled], [inert]')) continue;
    const style = getComputedStyle(it), ground = behind(it);
    let opacity = 1;
    for (let up = it; up; up = up.parentElement) opacity *= getComputedStyle(up).opacity;
    const ink = rgba(style.color); ink[3] *= opacity;
    const [a, b] = [brightness(over(ink, ground)), brightness(ground)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    if (ratio < (large ? 3 : 4.5)) weak.push(`${ratio.toFixed(2)} ${it.tagName}.${it.className} ${own[0].slice(0, 40)}`);
}
return {weak: weak.slice(0, 8), isDark: brightness(behind(document.body)) < 0.2};
