[...document.querySelectorAll('body *:not(script)')].flatMap(e => {
  const text = [...e.childNodes].filter(n => n.nodeType === Node.TEXT_NODE).map(n => n.data).join('').trim();
  if (!text || !e.offsetHeight || e.tagName === 'OPTION') return [];
  const rgb = c => c.match(/[\d.]+/g).map(Number);
  const luminance = c => {
    const [r, g, b] = rgb(c).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  let behind = e;
  while (rgb(getComputedStyle(behind).backgroundColor)[3] === 0) behind = behind.parentElement;
  const [hi, lo] = [getComputedStyle(e).color, getComputedStyle(behind).backgroundColor].map(luminance).sort((a, b) => b - a);
  const ratio = (hi + 0.05) / (lo + 0.05);
  return ratio < 4.5 ? [ratio.toFixed(2) + ': ' + e.tagName + '.' + e.className + ' ' + text.slice(0, 40)] : [];
})
