"use strict";
// The page works without this: both pictures are there, on one axis. This is the cursor that they share.
(() => {
  const figures = [...document.querySelectorAll(".axis-of[data-end]")];
  if (!figures.length) return;
  const said = document.getElementById("cursor");
  const { left, right, end } = Object.fromEntries(Object.entries(figures[0].dataset).map(([k, v]) => [k, Number(v)]));
  const make = (svg, name, look) => {
    const e = svg.appendChild(document.createElementNS("http://www.w3.org/2000/svg", name));
    e.setAttribute("class", look);
    return e;
  };
  const marks = figures.map((f) => {
    const svg = f.querySelector("svg");
    const mark = { svg, line: make(svg, "line", "cursor"), text: make(svg, "text", "cursor-at") };
    mark.line.setAttribute("y1", 22);
    mark.line.setAttribute("y2", svg.viewBox.baseVal.height);
    mark.text.setAttribute("y", 31);
    return mark;
  });

  let at = null; // where the cursor is, in the units of the pictures; null: nowhere

  // show puts the cursor at x in both pictures, or takes it away.
  const show = (x) => {
    at = x === null || x < left - 1 || x > right + 1 ? null : Math.min(right, Math.max(left, x));
    const time = at === null ? "" : `${((at - left) / (right - left) * end / 1e9).toFixed(3)} s`;
    for (const { line, text } of marks) {
      for (const e of [line, text]) e.style.display = at === null ? "none" : "";
      if (at === null) continue;
      line.setAttribute("x1", at);
      line.setAttribute("x2", at);
      text.setAttribute("x", at + (at > right - 70 ? -5 : 5));
      text.setAttribute("text-anchor", at > right - 70 ? "end" : "start");
      text.textContent = time;
    }
    said.textContent = time && `at ${time}`;
  };

  const within = (svg, clientX) => {
    const box = svg.getBoundingClientRect();
    return (clientX - box.left) / box.width * svg.viewBox.baseVal.width;
  };
  for (const [i, f] of figures.entries()) {
    const { svg } = marks[i];
    for (const kind of ["pointermove", "pointerdown"]) svg.addEventListener(kind, (e) => show(within(svg, e.clientX)));
    svg.addEventListener("pointerleave", (e) => e.pointerType === "mouse" && show(null));
    f.addEventListener("keydown", (e) => {
      const step = (right - left) / (e.shiftKey ? 10 : 200);
      const to = { ArrowLeft: (at ?? right) - step, ArrowRight: (at ?? left) + step, Home: left, End: right, Escape: null }[e.key];
      if (to === undefined || e.ctrlKey || e.metaKey || e.altKey) return;
      e.preventDefault();
      show(to === null ? null : Math.min(right, Math.max(left, to)));
    });
  }
  show(null);
})();
