"use strict";

// The items of each lane are columns (see pack.go).
const unpack = data => {
  for (const l of data.lanes) {
    const p = l.items, words = ["", ...(p.w || [])], items = new Array(p.n);
    const at = (column, i) => typeof column === "object" ? column[i] : column || 0;
    let a = 0, op = 0;
    for (let i = 0; i < p.n; i++) {
      a += at(p.a, i);
      op += at(p.op, i);
      const d = at(p.d, i);
      items[i] = { k: words[at(p.k, i)], a, b: a + at(p.b, i), o: at(p.o, i), l: words[at(p.l, i)], t: words[at(p.t, i)], op, d: d && a + d };
    }
    l.items = items;
  }
  return data;
};

// The live picture. It draws whatever part of the run is in view from the same data as the static
// one (see picture.go), so that a second is as wide as the reader wants it. Times are nanoseconds.
// Text only ever enters the page as text nodes.
const timeline = (data, box, overviewBox, tipBox, announceBox, onView) => {
  const NS = "http://www.w3.org/2000/svg";
  const SMALL = 12, RIGHT = 14, ROW = 24, LETTER = 6.7, LEAST = 2000; // pixels, and the shortest span in view
  const BEGIN = data.begin || 0, END = data.end, LENGTH = END - BEGIN, EDGE = LENGTH * 0.01;
  const laneTop = data.lanes.length ? data.top : 30, GROUP = 30; // the height of a group's head
  let bottom = data.lanes.reduce((y, l) => Math.max(y, l.y + l.h), laneTop);
  const below = data.height - bottom;
  const FEW = 40; // lanes that are drawn whether they can be seen or not
  let shown = data.lanes;
  const groups = data.groups || [], closed = new Set();
  let wanted = [];
  data.lanes.forEach((l, i) => { l.gap = i && l.g === data.lanes[i - 1].g ? l.y - data.lanes[i - 1].y - data.lanes[i - 1].h : 6; });
  const view = { from: BEGIN - EDGE, to: END + EDGE };
  let width = 0, gutter = 0, cursor = null, chosen = null, frame = 0;

  const node = (parent, name, attrs, text) => {
    const n = document.createElementNS(NS, name);
    for (const k in attrs) n.setAttribute(k, attrs[k]);
    if (text !== undefined) n.textContent = text;
    parent.append(n);
    return n;
  };
  const x = t => gutter + (t - view.from) / (view.to - view.from) * (width - RIGHT - gutter);
  const time = px => view.from + (px - gutter) / (width - RIGHT - gutter) * (view.to - view.from);
  const round = n => Math.round(n * 10) / 10;
  const classOf = it => "k-" + it.k + (it.o >= 0 ? " o" + it.o : "");
  const seconds = (t, step) => (t / 1e9).toFixed(Math.max(0, Math.min(9, -Math.floor(Math.log10(step / 1e9)))));
  // As many decimals as a pixel is worth, at least milliseconds.
  const precise = t => seconds(t, Math.min(1e6, (view.to - view.from) / Math.max(1, width))) + " s";

  const step = n => {
    const least = (view.to - view.from) / n, base = 10 ** Math.floor(Math.log10(least));
    return base * [1, 2, 5, 10].find(m => base * m >= least);
  };

  const svg = document.createElementNS(NS, "svg");
  svg.setAttribute("class", "drawing");
  svg.setAttribute("height", data.height);
  svg.setAttribute("role", "presentation");

  const draw = () => {
    frame = 0;
    if (!box.clientWidth) return; // it is hidden
    width = box.clientWidth;
    gutter = width < 640 ? 76 : data.gutter;
    svg.setAttribute("width", width);
    svg.setAttribute("viewBox", `0 0 ${width} ${bottom + below}`);
    svg.replaceChildren();
    const [top, end] = inSight(), lanes = shown.filter(l => l.y + l.h > top && l.y < end);
    const clip = node(node(svg, "defs", {}), "clipPath", { id: "plot" });
    node(clip, "rect", { x: gutter, y: 0, width: Math.max(0, width - gutter - RIGHT + 10), height: bottom + below });
    for (const l of lanes) node(svg, "rect", { class: "lane " + l.kind, x: 0, y: l.y, width, height: l.h, rx: 5 });
    drawAxis();
    const plot = node(svg, "g", { "clip-path": "url(#plot)" });
    const layers = { shapes: node(plot, "g", {}), windows: node(plot, "g", {}), arrows: node(plot, "g", {}), signs: node(plot, "g", {}), labels: node(plot, "g", {}) };
    for (const l of lanes) drawLane(l, layers);
    drawMessages(layers.arrows);
    drawWindows(layers);
    for (const l of lanes) drawName(l);
    drawPins(node(svg, "g", {}));
    if (top > 0) { // the axis stays in sight
      const head = node(svg, "g", { class: "head", transform: `translate(0 ${top})` });
      node(head, "rect", { class: "gutter", x: 0, y: 0, width, height: 26 });
      drawTimes(head);
    }
    if (chosen !== null) node(plot, "line", { class: "moment", x1: round(x(chosen)), x2: round(x(chosen)), y1: 24, y2: bottom });
    if (cursor !== null) {
      node(svg, "line", { class: "cursor", x1: cursor, x2: cursor, y1: 24, y2: bottom });
      node(svg, "text", { class: "cursor-text", x: cursor, y: 18 }, precise(time(cursor)));
    }
    drawBrush();
    onView(precise(Math.max(BEGIN, view.from)) + " to " + precise(Math.min(END, view.to)), { ...view, chosen, folded: closed.size < groups.length ? [...closed].map(g => g + 1).sort((a, b) => a - b).join() : groups.length ? "all" : "" });
  };
  // From where to where the picture can be seen, in its own pixels; all of it if it is small.
  const inSight = () => {
    if (shown.length <= FEW) return [0, Infinity];
    const b = box.getBoundingClientRect(), at = b.top - box.scrollTop;
    return [Math.max(b.top, 0) - at, Math.min(b.bottom, innerHeight) - at];
  };
  // The lanes that are shown close ranks: those that have one of the wanted words, all if there are none, but not the owners of a
  // lock whose group is folded.
  const arrange = () => {
    const says = l => [l.name, l.sub, l.note].join(" ").toLowerCase();
    shown = data.lanes.filter(l => (!wanted.length || wanted.some(w => says(l).includes(w))) && !(l.kind === "owner" && groups.length && closed.has(l.g)));
    bottom = laneTop;
    for (const g of groups) g.head.hidden = true;
    for (const l of data.lanes) l.off = !shown.includes(l);
    shown.forEach((l, i) => {
      const first = i === 0 || l.g !== shown[i - 1].g;
      if (groups.length && first) {
        const g = groups[l.g];
        g.head.hidden = false;
        g.head.style.top = bottom + 4 + "px";
        g.head.setAttribute("aria-expanded", !closed.has(l.g));
        bottom += GROUP;
      }
      const y = bottom + (first ? 0 : l.gap);
      l.base += y - l.y;
      l.y = y;
      bottom = y + l.h;
    });
    svg.setAttribute("height", bottom + below);
  };
  const only = words => {
    wanted = words;
    arrange();
    box.scrollTop = 0;
    draw();
    return shown.length;
  };
  // Folds the owners of a lock away, or of all locks, or brings them back.
  const fold = g => {
    const some = g === undefined ? groups.map((_, i) => i) : [g], open = some.some(i => !closed.has(i));
    for (const i of some) open ? closed.add(i) : closed.delete(i);
    arrange();
    draw();
    announceBox.textContent = `${shown.length} lanes`;
  };
  groups.forEach((g, i) => {
    g.head = document.createElement("button");
    g.head.type = "button";
    g.head.className = "group";
    g.head.textContent = `${g.n}, ${g.owners} ${g.owners === 1 ? "owner" : "owners"}`;
    g.head.addEventListener("click", () => fold(i));
  });
  // Folds those that a link says, by their numbers, and no others.
  const folded = says => {
    closed.clear();
    groups.forEach((_, i) => { if (says === "all" || says.split(",").includes(String(i + 1))) closed.add(i); });
    arrange();
    redraw();
  };
  const redraw = () => { frame = frame || requestAnimationFrame(draw); };

  const drawAxis = () => {
    const s = step(Math.max(2, width / 120));
    for (let i = Math.ceil(Math.max(0, view.from) / s); i * s <= Math.min(view.to, END + EDGE); i++) {
      const at = round(x(i * s));
      node(svg, "line", { class: "grid", x1: at, x2: at, y1: 28, y2: bottom });
    }
    drawTimes(svg);
  };
  const drawTimes = parent => {
    const s = step(Math.max(2, width / 120));
    for (let i = Math.ceil(Math.max(0, view.from) / s); i * s <= Math.min(view.to, END + EDGE); i++) {
      node(parent, "text", { class: "axis", x: round(x(i * s)), y: 18 }, seconds(i * s, s) + " s");
    }
  };

  // How high a ramp stands at a time, from 0 to 1.
  const share = (l, it, t) => it.d ? Math.max(0, it.d - t) / l.scale : 1;

  // Shapes too small to tell apart are gathered in one path for each class, so that a picture of
  // ten thousand operations has no more nodes than one of a hundred.
  const drawLane = (l, layers) => {
    const small = new Map(), signs = new Map(), dots = new Map(); // of each class: what is small, where its last sign is, and its dots
    const named = []; // where the names of faults stand
    const pad = (view.to - view.from) / 10, lo = view.from - pad, hi = view.to + pad;
    for (const it of l.items || []) {
      if (it.b < lo || it.a > hi) continue;
      const shape = data.shapes[it.k], y = shape.h ? l.base + shape.y : l.y, h = shape.h || l.h;
      const a = Math.max(it.a, lo), b = Math.min(it.b, hi), x0 = x(a), x1 = x(b), c = classOf(it);
      if (shape.form === "sym") {
        if (Math.abs(x0 - (signs.get(c) ?? -Infinity)) < 8) continue; // it would hide the one before
        signs.set(c, x0);
        if (it.k === "read" || it.k === "write") { // the many of them, as one path
          dots.set(c, `${dots.get(c) || ""}M${round(x0 - 3)} ${y}a3 3 0 1 0 6 0a3 3 0 1 0-6 0z`);
          continue;
        }
        node(layers.signs, "use", { class: c, href: "#s-" + it.k, transform: `translate(${round(x0)} ${y})` });
        continue;
      }
      if (shape.form === "tick" || x1 - x0 < SMALL) {
        const w = shape.form === "tick" ? 2 : Math.max(1, Math.round(x1 - x0)), left = Math.round(x0);
        const up = t => shape.form === "ramp" ? Math.round(h * (1 - share(l, it, t))) : 0;
        const spots = small.get(c) || new Map();
        spots.set(left * SMALL + w, `M${left} ${y + h}V${y + up(a)}L${left + w} ${y + up(b)}V${y + h}z`);
        small.set(c, spots);
      } else if (shape.form === "ramp") {
        const up = t => round(y + h * (1 - share(l, it, t)));
        node(layers.shapes, "polygon", { class: c, points: `${round(x0)},${y + h} ${round(x0)},${up(a)} ${round(x1)},${up(b)} ${round(x1)},${y + h}` });
      } else {
        node(layers.shapes, "rect", { class: c, x: round(x0), y, width: round(x1 - x0), height: h, rx: shape.h > 10 ? 3 : 0 });
      }
      if (it.l) {
        const left = Math.max(x0, gutter) + 7, room = Math.min(x1, width - RIGHT) - left;
        const full = !shape.h, wide = it.l.length * LETTER; // a fault names itself at the top of the lane, where no other does
        if (room <= wide && (!full || x0 < gutter) || full && named.some(at => Math.abs(left - at.left) < (left < at.left ? wide : at.wide))) continue;
        if (full) named.push({ left, wide });
        node(layers.labels, "text", { class: "label l-" + it.k, x: round(left), y: full ? y + 11 : y + h / 2 + 4 }, it.l);
      }
    }
    for (const [c, d] of dots) node(layers.signs, "path", { class: c, d });
    for (const [c, spots] of small) node(layers.shapes, "path", { class: c, d: [...spots.values()].join("") });
  };

  const drawWindows = layers => {
    const used = {};
    for (const w of data.windows || []) {
      if (w.b < view.from || w.a > view.to) continue;
      const x0 = Math.max(x(w.a), gutter - 9), x1 = Math.min(x(w.b), width + 9), wide = Math.max(2, x1 - x0);
      node(layers.windows, "rect", { class: "k-window", x: round(x0), y: w.y + 2, width: round(wide), height: ROW - 6, rx: 3 });
      if (w.through) node(layers.windows, "rect", { class: "k-through", x: round(x0), y: w.y + ROW - 4, width: round(wide), height: bottom - w.y - ROW + 4 });
      // The label lies in the window or else beside it, and is short where there is little room.
      used[w.y] = Math.max(used[w.y] || gutter, gutter);
      for (const label of [w.l, w.g]) {
        const room = label.length * LETTER + 10, left = Math.max(x0, gutter);
        const at = Math.min(x1, width - RIGHT) - left > room ? left + 8 : x1 + room < width ? x1 + 7 : x0 - room;
        if (at < used[w.y]) continue;
        node(layers.labels, "text", { class: "window-label", x: round(at), y: w.y + 15 }, label);
        used[w.y] = Math.max(x1, at + room);
        break;
      }
    }
  };

  // Messages are arrows between lanes: a Lamport diagram, once there is room for it.
  const drawMessages = layer => {
    const seen = (data.messages || []).filter(m => m.sent <= view.to && (m.got || m.at) >= view.from);
    if (seen.length > 60 || (view.to - view.from) / width * 6 > 5e6) return;
    let labelled = -Infinity;
    for (const m of seen) {
      const client = data.lanes[m.client], server = data.lanes[m.server]; // none: of neither
      if (!client || !server || client.off || server.off) continue;
      const down = server.y > client.y, yc = client.base + (down ? 34 : 14), ys = server.y + (down ? 8 : server.h - 4);
      arrow(layer, x(m.sent), yc, x(m.at), ys, "sent", x(m.sent) - labelled > 60 ? m.l : "");
      if (x(m.sent) - labelled > 60) labelled = x(m.sent);
      if (m.got) arrow(layer, x(m.at), ys, x(m.got), yc, "reply", "");
      else arrow(layer, x(m.at), ys, x(m.at) + 14, ys + (yc - ys) * 0.4, "reply lost", "");
    }
  };
  const arrow = (layer, x0, y0, x1, y1, kind, label) => {
    const g = node(layer, "g", { class: "arrow " + kind });
    node(g, "line", { x1: round(x0), y1: y0, x2: round(x1), y2: y1 });
    const angle = Math.atan2(y1 - y0, x1 - x0) * 180 / Math.PI;
    if (kind.endsWith("lost")) node(g, "path", { d: "M-4-4 4 4M4-4-4 4", transform: `translate(${round(x1)} ${round(y1)})` });
    else node(g, "path", { d: "M0 0-7-3V3Z", transform: `translate(${round(x1)} ${round(y1)}) rotate(${round(angle)})` });
    if (label) node(g, "text", { x: round((x0 + x1) / 2 - 6), y: round((y0 + y1) / 2 + 8) }, label);
  };

  // Numbers of the story stand side by side where they would hide each other, and none reaches over the edge.
  const drawPins = layer => {
    const seen = [];
    let room = -Infinity;
    for (const p of data.pins || []) {
      const at = x(p.a), place = Math.max(at, room);
      p.place = null;
      if (at < gutter || at > width - RIGHT || place - at > (p.w === "plain" ? 20 : 60)) continue;
      p.place = place;
      room = place + 18;
      seen.push(p);
    }
    room = width - 10;
    for (const p of seen.toReversed()) {
      p.place = Math.min(p.place, room);
      room = p.place - 18;
    }
    for (const p of seen) {
      const at = x(p.a);
      if (p.place !== at) node(layer, "path", { class: "leader", d: `M${round(at)} ${laneTop}V${laneTop - 4}L${round(p.place)} ${laneTop - 10}` });
      const g = node(layer, "g", { class: "pin w-" + p.w, transform: `translate(${round(p.place)} ${laneTop - 14})` });
      node(g, "circle", { r: 8.5 });
      node(g, "text", { y: 3.5 }, p.n);
    }
  };

  const drawName = l => {
    const narrow = gutter < 100, lines = narrow || l.h < 40 ? 0 : (l.sub ? 1 : 0) + (l.note ? 1 : 0), y = l.y + l.h / 2 + 4 - lines * 7;
    const text = node(svg, "text", { class: "name", x: narrow ? 10 : 20, y }, narrow && l.name.length > 8 ? l.name.slice(0, 7) + "…" : l.name);
    node(text, "title", {}, [l.name, l.sub, l.note].filter(Boolean).join(", "));
    if (l.color >= 0) node(svg, "rect", { class: "swatch o" + l.color, x: narrow ? 2 : 8, y: l.y + l.h / 2 - 7, width: 4, height: 14, rx: 2 });
    const room = 16 - l.name.length; // letters, on one line with the name
    if (!narrow && l.h < 40 && l.sub && room > 2) node(text, "tspan", { class: "sub", dx: 6 }, l.sub.length > room ? l.sub.slice(0, room - 1) + "…" : l.sub);
    if (lines > 0) node(svg, "text", { class: "name sub", x: 20, y: y + 15 }, l.sub);
    if (lines > 1) node(svg, "text", { class: "name sub", x: 20, y: y + 29 }, l.note);
  };

  // The overview: the whole run in a strip, and which part of it is in view.
  let brush = null;
  const OVER = 34;
  const overviewX = t => gutter + Math.max(0, t - BEGIN) / LENGTH * (width - RIGHT - gutter);
  const drawOverview = () => {
    const o = document.createElementNS(NS, "svg");
    o.setAttribute("width", width);
    o.setAttribute("height", OVER);
    node(o, "rect", { class: "back", x: gutter, y: 0, width: Math.max(0, width - RIGHT - gutter), height: OVER, rx: 4 });
    const owners = data.lanes.filter(l => l.kind === "owner"), row = Math.min(7, (OVER - 10) / Math.max(1, owners.length));
    owners.forEach((l, i) => {
      const d = (l.items || []).filter(it => it.k === "held" || it.k === "doubt" || it.k === "permits").map(it =>
        `M${round(overviewX(it.a))} ${round(5 + i * row)}h${round(Math.max(1, overviewX(it.b) - overviewX(it.a)))}v${round(row * 0.7)}H${round(overviewX(it.a))}z`);
      node(o, "path", { class: "k-held o" + l.color, d: d.join("") });
    });
    for (const w of data.windows || []) {
      if (w.through || !data.windows.some(v => v.through)) node(o, "rect", { class: "win", x: round(overviewX(w.a)), y: OVER - 4, width: round(Math.max(2, overviewX(w.b) - overviewX(w.a))), height: 3 });
    }
    brush = node(o, "rect", { class: "brush", y: 0.6, height: OVER - 1.2, rx: 4 });
    overviewBox.replaceChildren(o);
  };
  const drawBrush = () => {
    if (!brush) return;
    const x0 = Math.max(gutter, overviewX(view.from)), x1 = Math.min(width - RIGHT, overviewX(view.to));
    brush.setAttribute("x", round(x0));
    brush.setAttribute("width", round(Math.max(4, x1 - x0)));
    overviewBox.classList.toggle("all", view.from <= BEGIN && view.to >= END);
  };

  // Moving about.
  const clamp = (from, to) => {
    let span = Math.min(Math.max(to - from, LEAST), LENGTH + 2 * EDGE);
    const middle = (from + to) / 2, lo = BEGIN - EDGE + span / 2, hi = END + EDGE - span / 2;
    const c = Math.min(Math.max(middle, lo), Math.max(lo, hi));
    return [c - span / 2, c + span / 2];
  };
  let motion = 0;
  const goal = { ...view }; // where the motion ends: who presses two keys at once means both
  const show = (from, to, still) => {
    const [f, t] = [goal.from, goal.to] = clamp(from, to), f0 = view.from, t0 = view.to, begun = performance.now();
    cancelAnimationFrame(motion);
    if (still || matchMedia("(prefers-reduced-motion: reduce)").matches) {
      [view.from, view.to] = [f, t];
      return redraw();
    }
    const move = now => {
      const k = Math.min(1, Math.max(0, (now - begun) / 180)), e = 1 - (1 - k) ** 3;
      [view.from, view.to] = [f0 + (f - f0) * e, t0 + (t - t0) * e];
      if (k < 1) motion = requestAnimationFrame(move);
      draw();
    };
    motion = requestAnimationFrame(move);
  };
  const zoom = (factor, at, still) => {
    const c = at === undefined ? (goal.from + goal.to) / 2 : at;
    show(c - (c - goal.from) * factor, c + (goal.to - c) * factor, still);
  };
  const pan = (share, still) => {
    const d = (goal.to - goal.from) * share;
    show(goal.from + d, goal.to + d, still);
  };
  const whole = still => show(BEGIN - EDGE, END + EDGE, still);
  // A stretch with as much again around it; a moment with a little.
  const around = (from, to, still) => {
    const margin = to > from ? (to - from) * 0.6 : Math.min(LENGTH / 30, 2e9);
    show(from - margin, to + margin, still);
  };
  // Brings one of some owners' lanes into view, first one on which something happens at a time.
  const reveal = (names, t) => {
    const all = shown.filter(l => l.kind === "owner" && names.includes(l.name));
    const l = all.find(l => (l.items || []).some(it => it.a <= t && t <= it.b)) || all[0];
    if (l && (l.y < box.scrollTop + laneTop || l.y + l.h > box.scrollTop + box.clientHeight)) box.scrollTop = Math.max(0, l.y - Math.max(laneTop, box.clientHeight / 3));
  };
  const windows = data.windows || [];
  let nth = -1;
  const violation = () => {
    if (!windows.length) return;
    const w = windows[nth = (nth + 1) % windows.length];
    around(w.a, w.b);
    reveal(w.o || [], w.a);
    announceBox.textContent = w.l + ": " + w.t;
  };
  let at = -1;
  const story = d => {
    const pins = data.pins || [];
    if (!pins.length) return;
    at = Math.min(pins.length - 1, Math.max(0, at + d));
    choose(pins[at].a, pins[at].n);
    announceBox.textContent = precise(pins[at].a) + ", " + pins[at].t;
  };
  const choose = (t, n) => {
    chosen = t;
    if (n) at = n - 1;
    if (t < goal.from || t > goal.to) around(t, t);
    else redraw();
    const pins = (data.pins || []).filter(p => n ? p.n === n : p.a === t);
    reveal(pins.map(p => p.o), t);
    box.dispatchEvent(new CustomEvent("moment", { detail: { at: t, n } }));
  };

  // What is under the pointer: signs before ticks before bars before bands, small before large.
  const hit = (px, py) => {
    for (const p of data.pins || []) {
      if (p.place != null && Math.hypot(px - p.place, py - laneTop + 14) < 10) return { pin: p, title: precise(p.a), text: p.t };
    }
    for (const w of windows) {
      if (py >= w.y && py < w.y + ROW && px >= x(w.a) - 3 && px <= x(w.b) + 3) return { window: w, title: w.l, text: w.t };
    }
    const l = shown.find(l => py >= l.y && py < l.y + l.h);
    if (!l || px < gutter) return null;
    let best = null, bestRank = Infinity;
    for (const it of l.items || []) {
      const shape = data.shapes[it.k], x0 = x(it.a), x1 = x(it.b);
      const reach = { sym: 9, tick: 4 }[shape.form] || 2;
      if (px < x0 - reach || px > x1 + reach) continue;
      const y = shape.h ? l.base + shape.y : l.y, h = shape.h || l.h;
      if (shape.form === "sym" ? Math.abs(py - y) > 10 : py < y - 4 || py > y + h + 4) continue;
      const rank = { sym: 0, tick: 1, bar: 2, ramp: 3 }[shape.form] * 1e6 + (shape.h ? 0 : 4e6) + Math.min(x1 - x0, 9e5) + Math.abs(px - (x0 + x1) / 2) / 1e3;
      if (rank < bestRank) [best, bestRank] = [it, rank];
    }
    return best && { item: best, title: data.shapes[best.k].says, text: describe(best) };
  };
  const describe = it => {
    const row = it.op && document.getElementById("op-" + it.op);
    const lines = [];
    if (it.k === "owns") lines.push(it.l);
    if (it.t) lines.push(it.t);
    else if (it.k === "ramp" || it.k === "member") lines.push(`${precise(it.d - it.a)} at ${precise(it.a)}, ${precise(Math.max(0, it.d - it.b))} at ${precise(it.b)}`, `deadline ${precise(it.d)}`);
    else if (it.b > it.a) lines.push(`${precise(it.a)} to ${precise(it.b)} (${seconds(it.b - it.a, 1e6)} s)`);
    else lines.push(precise(it.a));
    if (row) {
      const c = [...row.cells].map(cell => cell.textContent);
      lines.push(`#${c[0]} ${c[3]}: ${c[5]} → ${c[6]}`, `called ${c[1]}, returned ${c[2]}`);
    }
    return lines.join("\n");
  };
  const showTip = (found, cx, cy) => {
    tipBox.hidden = !found;
    if (!found) return;
    const b = document.createElement("b");
    b.textContent = found.title;
    tipBox.replaceChildren(b, found.text);
    const r = tipBox.getBoundingClientRect();
    tipBox.style.left = Math.max(8, Math.min(cx + 14, innerWidth - r.width - 8)) + "px";
    tipBox.style.top = (cy + 20 + r.height > innerHeight ? Math.max(8, cy - r.height - 14) : cy + 20) + "px";
  };

  const local = e => {
    const r = box.getBoundingClientRect();
    return [e.clientX - r.left, e.clientY - r.top + box.scrollTop];
  };
  box.addEventListener("wheel", e => {
    const unit = e.deltaMode === 1 ? 16 : 1;
    if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) pan((e.deltaX || e.deltaY) * unit / width, true);
    else if (e.ctrlKey || e.metaKey || document.activeElement === box) zoom(Math.exp(Math.max(-80, Math.min(80, e.deltaY * unit)) * (e.ctrlKey ? 0.008 : 0.003)), time(local(e)[0]), true);
    else return; // the page scrolls, unless the picture was chosen first
    e.preventDefault();
  }, { passive: false });

  const touches = new Map();
  let dragged = false;
  box.addEventListener("pointerdown", e => {
    if (e.button) return;
    touches.set(e.pointerId, e.clientX);
    dragged = false;
  });
  box.addEventListener("pointermove", e => {
    const [px, py] = local(e);
    if (touches.has(e.pointerId)) {
      const before = [...touches.values()], was = touches.get(e.pointerId);
      if (!dragged && Math.abs(e.clientX - was) < 4) return;
      if (!dragged) box.setPointerCapture(e.pointerId);
      dragged = true;
      touches.set(e.pointerId, e.clientX);
      const now = [...touches.values()];
      const scale = (view.to - view.from) / (width - RIGHT - gutter);
      if (now.length === 2) {
        const left = box.getBoundingClientRect().left;
        zoom(Math.max(20, Math.abs(before[0] - before[1])) / Math.max(20, Math.abs(now[0] - now[1])), time((now[0] + now[1]) / 2 - left), true);
      } else show(view.from - (e.clientX - was) * scale, view.to - (e.clientX - was) * scale, true);
      box.classList.add("dragging");
      showTip(null);
      return;
    }
    cursor = px >= gutter && px <= width - RIGHT ? px : null;
    redraw();
    showTip(hit(px, py), e.clientX, e.clientY);
  });
  const release = e => {
    touches.delete(e.pointerId);
    box.classList.remove("dragging");
  };
  box.addEventListener("pointerup", e => {
    const click = touches.has(e.pointerId) && !dragged;
    release(e);
    if (!click) return;
    const found = hit(...local(e));
    if (!found) return;
    if (found.pin) choose(found.pin.a, found.pin.n);
    if (found.window) around(found.window.a, found.window.b);
    if (found.item && found.item.op) box.dispatchEvent(new CustomEvent("operation", { detail: found.item.op }));
    if (e.pointerType !== "mouse") showTip(found, e.clientX, e.clientY);
  });
  box.addEventListener("pointercancel", release);
  box.addEventListener("pointerleave", () => { cursor = null; showTip(null); redraw(); });
  box.addEventListener("dblclick", e => zoom(1 / 3, time(local(e)[0])));
  box.addEventListener("keydown", e => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const act = {
      ArrowLeft: () => pan(-0.15), ArrowRight: () => pan(0.15), ArrowUp: () => zoom(1 / 1.6), ArrowDown: () => zoom(1.6),
      "+": () => zoom(1 / 1.6), "=": () => zoom(1 / 1.6), "-": () => zoom(1.6), 0: () => whole(), Home: () => whole(),
      c: () => fold(), v: violation, n: () => story(1), p: () => story(-1),
    }[e.key];
    if (!act) return;
    act();
    e.preventDefault();
  });
  const jump = e => {
    const r = overviewBox.getBoundingClientRect();
    const t = BEGIN + (e.clientX - r.left - gutter) / (width - RIGHT - gutter) * LENGTH, half = (view.to - view.from) / 2;
    show(t - half, t + half, true);
  };
  overviewBox.addEventListener("pointerdown", e => { overviewBox.setPointerCapture(e.pointerId); jump(e); });
  overviewBox.addEventListener("pointermove", e => { if (overviewBox.hasPointerCapture(e.pointerId)) jump(e); });

  box.classList.add("live");
  // Paper has the whole run, whatever part of it is in view.
  const paper = document.createElement("div");
  paper.className = "paper";
  paper.append(...box.childNodes);
  box.before(paper);
  box.append(svg, ...groups.map(g => g.head));
  arrange();
  overviewBox.hidden = false;
  new ResizeObserver(() => {
    if (box.clientWidth === width) return;
    draw();
    drawOverview();
    drawBrush();
  }).observe(box);
  const more = () => { if (shown.length > FEW) redraw(); }; // other lanes may be in sight
  for (const place of [box, window]) place.addEventListener("scroll", more, { passive: true });
  addEventListener("resize", more);
  draw();
  drawOverview();
  // Open on the violation, unless it can be seen well enough in the whole run.
  const first = windows.find(w => w.through) || windows[0];
  if (first && (first.b - first.a) < LENGTH * 0.08) around(first.a, first.b, true);
  if (first) reveal(first.o || [], first.a);
  drawBrush();
  // What somebody else has seen: the same part, and the same moment even if it lies outside.
  const look = (from, to, at) => {
    chosen = at;
    show(from, to, true);
  };
  const from = () => chosen ?? Math.max(0, view.from); // where the reader is
  return { zoom, whole, violation, around, choose, look, only, folded, redraw, from };
};
