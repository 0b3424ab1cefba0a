"""What every picture is held to: its words stand within it, apart from each other, and as wide as they should be; three
numbers at least say the scale of an axis, and a legend leaves the window to the pictures.
"""

from typing import Any

WIDTHS = (390, 820, 1440)  # a telephone, a tablet, a projector
NEXT_FRAMES = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 30))))"

# Every word that is written on a canvas is noted, with its place, until the canvas is cleared.
LISTEN = """(() => {
  const own = CanvasRenderingContext2D.prototype;
  const [write, clear] = [own.fillText, own.clearRect];
  own.clearRect = function (...place) {
    this.canvas.words = [];
    return clear.apply(this, place);
  };
  own.fillText = function (text, x, y, most = Infinity) {
    const size = this.measureText(text);
    const width = Math.min(size.width, most);
    const left = x - { left: 0, start: 0, center: width / 2, right: width, end: width }[this.textAlign];
    const corners = [
      [left, y - size.actualBoundingBoxAscent],
      [left + width, y + size.actualBoundingBoxDescent],
    ].map(([right, down]) => this.getTransform().transformPoint({ x: right, y: down }));
    const [xs, ys] = ['x', 'y'].map((axis) => corners.map((one) => one[axis] / devicePixelRatio).sort((a, b) => a - b));
    (this.canvas.words ??= []).push({ text: String(text), x: xs, y: ys, pressed: width / size.width });
    return write.call(this, text, x, y, ...(most === Infinity ? [] : [most]));
  };
})()"""

FAULTS = """[...document.querySelectorAll('.view canvas')].flatMap((canvas) => {
  const words = (canvas.words ?? []).filter((one) => one.text.trim());
  const title = canvas.closest('.view').querySelector('.view-title').textContent;
  const shared = (a, b, axis) => Math.min(a[axis][1], b[axis][1]) - Math.max(a[axis][0], b[axis][0]);
  const [wide, tall] = [canvas.clientWidth, canvas.clientHeight];
  return words.flatMap((one, k) => [
    ...(one.x[0] < -1 || one.x[1] > wide + 1 || one.y[0] < -1 || one.y[1] > tall + 1 ? [`cut off: ${one.text}`] : []),
    ...(one.pressed < 0.85 ? [`pressed together: ${one.text}`] : []),
    ...words.slice(k + 1)
      .filter((other) => shared(one, other, 'x') > 1 && shared(one, other, 'y') > 1.5)
      .map((other) => `on each other: ${one.text}, ${other.text}`),
  ]).map((fault) => `${title}: ${fault}`);
})"""

# Numbers along the axis below a picture: of the words that are numbers, the lowest line.
UNSCALED = r"""[...document.querySelectorAll('.view:is(.curves, .plane) canvas')].flatMap((canvas) => {
  const numbers = (canvas.words ?? []).filter((one) => /^[−-]?\d[\d.]*[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]*$/.test(one.text));
  const lowest = Math.max(...numbers.map((one) => one.y[1]));
  const along = numbers.filter((one) => one.y[1] > lowest - 4).map((one) => one.text);
  const title = canvas.closest('.view').querySelector('.view-title').textContent;
  return numbers.length && along.length < 3 ? [`${title}: only ${along.join(' and ')} along the axis`] : [];
})"""

LEGENDS = """[...document.querySelectorAll('.view-legend')].filter((one) => one.offsetHeight > 0.3 * innerHeight)
  .map((one) => `a legend of ${one.offsetHeight} pixels`)"""


def listen(page: Any) -> None:
    """Note the words of all pictures from now on, that is, before the page is opened."""
    page.add_init_script(LISTEN)


def check(page: Any) -> None:
    """In all widths."""
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate(NEXT_FRAMES)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, f"overflows at {width}"
        found = [fault for rule in (FAULTS, UNSCALED, LEGENDS) for fault in page.evaluate(rule)]
        assert found == [], f"at {width}"
