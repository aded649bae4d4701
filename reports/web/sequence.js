
// The sequence view: a column for each client and each server, and an arrow for each command and each reply. Every end of an
// arrow has a row of its own, in the order of time, so that idle stretches take no height. Only what is in sight is drawn.
const sequence = (data, box, tipBox, announceBox, onView, onOpen) => {
  const NS = "http://www.w3.org/2000/svg";
  const HEAD = 34, RIGHT = 10, LETTER = 6.4, IDLE = 1e8; // pixels, and nanoseconds
  const TALL = { sent: 20, at: 14, got: 18, lost: 16, pin: 22, idle: 26 };
  const all = data.messages || [], columns = data.columns || [];
  const COLUMN = Math.max(56, Math.min(110, 7.4 * Math.max(0, ...columns.map(c => c.n.length)) + 16)); // at least
  let messages = [], rows = [], used = [], height = HEAD, width = 0, gutter = 0, wide = 0, frame = 0;
  let active = null, byKey = false, words = null, asked = [];
  let held = null; // how far the view is scrolled to the right, while the servers stay at its right edge

  const node = (parent, name, attrs, text) => {
    const n = document.createElementNS(NS, name);
    for (const k in attrs) n.setAttribute(k, attrs[k]);
    if (text !== undefined) n.textContent = text;
    parent.append(n);
    return n;
  };
  const stamp = t => (t / 1e9).toFixed(4) + " s";
  const span = t => t < 1e9 ? Math.round(t / 1e6) + " ms" : (t / 1e9).toFixed(t < 1e10 ? 2 : 1) + " s";
  const cut = (text, room) => text.length * LETTER <= room ? text : room < 4 * LETTER ? "" : text.slice(0, Math.floor(room / LETTER) - 1) + "…";
  // What the server log says of a message: its row has it all.
  const cells = m => {
    const row = m.r && document.getElementById("m-" + m.r);
    return row && [...row.cells].map(c => c.textContent);
  };
  const says = m => {
    const c = cells(m);
    const who = `${columns[m.c].n} to ${columns[m.s].n}`;
    if (!c) return { title: `${m.l}, lost on its way`, who: m.lost === "reply" ? `${columns[m.s].n} to ${columns[m.c].n}` : who, lines: [m.t] };
    const [text, reply, key] = c.slice(-3);
    const lines = [text, `sent ${stamp(m.sent)}, executed ${stamp(m.at)}`];
    if (m.lost) lines.push(`reply ${reply}, which never came${m.x ? ": lost at " + stamp(m.x) : ""}`);
    else if (reply) lines.push(`reply ${reply}, came at ${stamp(m.got)}`);
    if (key) lines.push(`the key then: ${key}`);
    return { title: m.copy ? m.l + ", a copy of what was sent before" : m.l, who, lines };
  };

  // What a column answers to: its own name, and those of the lanes that its messages come from.
  const lanes = (data.lanes || []).map(l => `${l.name} ${l.sub || ""}`.toLowerCase()), named = i => names[i];
  const names = columns.map((c, i) => [c.n.toLowerCase(), ...new Set(all.filter(m => m.c === i).map(m => lanes[m.client] || ""))].join(" "));

  // Where each end lies. Of ends at the same time, those of the message that was sent first come first.
  const lay = () => {
    const ends = [], sending = new Set(messages.flatMap(m => [m.c, m.s]));
    // A crowd that sends nothing takes no room; who was asked for stays, and so do the servers.
    used = columns.map((_, i) => i).filter(i => sending.has(i) || columns[i].k === "server" || asked.some(w => named(i).includes(w)));
    messages.forEach((m, i) => {
      m.i = i;
      m.ends = {};
      const add = (kind, t, order) => ends.push({ kind, t, m, i, order });
      const instant = m.sent === m.at && m.got === m.at;
      if (!m.copy) add("sent", m.sent, 0);
      if (m.lost === "request" || !m.r) return add("lost", m.x, 1);
      if (instant) return;
      add("at", m.at, 1);
      if (m.lost) add("lost", Math.max(m.x || m.at, m.at), 2);
      else if (m.got) add("got", m.got, 2);
    });
    for (const pin of data.pins || []) ends.push({ kind: "pin", t: pin.a, pin, i: Infinity, order: 3 });
    ends.sort((a, b) => a.t - b.t || (a.i === b.i ? 0 : a.i - b.i) || a.order - b.order);
    rows = [];
    height = HEAD + 6;
    let before = 0;
    const put = row => {
      row.y = height + TALL[row.kind] / 2;
      height += TALL[row.kind];
      rows.push(row);
    };
    for (const e of ends) {
      if (e.t - before >= IDLE) put({ kind: "idle", t: before, for: e.t - before });
      before = Math.max(before, e.t);
      put(e);
      if (e.m) e.m.ends[e.kind] = e.y;
    }
    for (const m of messages) {
      const original = m.copy && messages.find(o => o.r === m.copy);
      if (m.copy) m.ends.sent = original ? (original.ends.sent + (original.ends.at ?? original.ends.sent)) / 2 : m.ends.at;
      if (m.ends.at === undefined) m.ends.at = m.ends.lost ?? m.ends.sent;
      const ys = Object.values(m.ends);
      m.top = Math.min(...ys);
      m.bottom = Math.max(...ys);
    }
    height += 8;
  };

  const svg = document.createElementNS(NS, "svg");
  svg.setAttribute("class", "drawing");
  svg.setAttribute("role", "presentation");
  const servers = () => used.filter(i => columns[i].k === "server").length;
  const x = i => {
    const n = used.indexOf(i) + 0.5;
    if (held === null || columns[i].k !== "server") return gutter + wide * n;
    return held + width - RIGHT - wide * (used.length - n);
  };
  // Where the columns of clients end that can be seen from a place.
  const edge = right => held === null ? right : held + width - RIGHT - wide * servers();

  const draw = () => {
    frame = 0;
    if (!box.clientWidth) return; // it is hidden
    measure(box.clientWidth);
    const top = box.scrollTop, left = box.scrollLeft, bottom = top + box.clientHeight;
    svg.setAttribute("width", whole());
    svg.setAttribute("height", height);
    svg.replaceChildren();
    // Of a crowd the servers stay in sight, where they leave room for clients: each arrow begins or ends there.
    held = whole() > width && wide * servers() < (width - gutter) / 2 ? left : null;
    paint(svg, top, bottom, left, left + width);
    const first = rows.find(r => r.y > top + HEAD), last = rows.findLast(r => r.y < bottom);
    if (first && last) onView(stamp(first.t) + " to " + stamp(Math.max(first.t, last.t)));
    if (byKey) place();
  };
  const measure = to => {
    width = to;
    gutter = width < 640 ? 72 : 92;
    wide = Math.max(COLUMN, (width - gutter - RIGHT) / Math.max(1, used.length));
  };
  const whole = () => Math.max(width, gutter + wide * used.length + RIGHT);
  const hidden = (i, right) => columns[i].k !== "server" && x(i) + (held === null ? 0 : wide / 2 - 1) > edge(right);
  // Draws what lies between two heights and two places from the left, below a head with the names.
  const paint = (svg, top, bottom, left, right) => {
    const seen = (a, b) => b >= top - 20 && a <= bottom + 20;
    for (const i of used) {
      if (x(i) + wide < left || x(i) - wide > right || hidden(i, right)) continue;
      node(svg, "line", { class: "life " + columns[i].k, x1: x(i), x2: x(i), y1: Math.max(HEAD, top), y2: Math.min(height, bottom) });
    }
    const marks = node(svg, "g", { "aria-hidden": "true" });
    words = node(svg, "g", { "aria-hidden": "true" }); // what the names of the messages say anyway
    for (const r of rows) {
      if (!seen(r.y, r.y)) continue;
      if (r.kind === "idle") {
        node(marks, "line", { class: "idle", x1: left + gutter, x2: Math.min(right, whole()), y1: r.y, y2: r.y });
        node(marks, "text", { class: "idle-text", x: left + gutter + 6, y: r.y - 3 }, `nothing for ${span(r.for)}`);
      }
      if (r.kind === "pin") drawPin(marks, r, left);
    }
    for (const m of messages) if (seen(m.top, m.bottom) || m === active) drawMessage(svg, m);
    if (!messages.length) node(words, "text", { class: "says soft", x: left + gutter + 6, y: HEAD + 20 }, "no message on this page has these words");
    svg.append(words);
    const times = node(svg, "g", { transform: `translate(${left} 0)`, "aria-hidden": "true" });
    node(times, "rect", { class: "gutter", x: 0, y: top, width: gutter - 6, height: bottom - top });
    for (const r of rows) if ((r.kind === "sent" || r.kind === "pin" || r.m?.copy && r.kind === "at") && seen(r.y, r.y)) node(times, "text", { class: "time", x: gutter - 12, y: r.y + 4 }, stamp(r.t));
    const head = node(svg, "g", { class: "head", transform: `translate(0 ${top})`, "aria-hidden": "true" });
    node(head, "rect", { class: "gutter", x: 0, y: 0, width: whole(), height: HEAD });
    for (const i of used) {
      const c = columns[i];
      if (x(i) < left + gutter || x(i) > right || hidden(i, right)) continue;
      const t = node(head, "text", { class: "name", x: x(i), y: 20 }, cut(c.n, wide - 18));
      node(t, "title", {}, c.n);
      node(head, "rect", { class: c.o >= 0 ? "swatch o" + c.o : "swatch " + c.k, x: x(i) - 14, y: 27, width: 28, height: 3, rx: 1.5 });
    }
  };
  // All of it for paper, where nothing scrolls: a drawing for each sheet, cut between two rows, each with the names above.
  const sheets = () => {
    const drawings = [], before = width, chosen = active, place = held;
    measure(700);
    held = null;
    active = null;
    const most = 880 * whole() / width; // what is wider than the sheet is drawn smaller
    for (let top = 0; top < height - 8;) {
      const last = rows.findLast(r => r.y + TALL[r.kind] / 2 <= top + most), bottom = last && last !== rows.at(-1) ? last.y + TALL[last.kind] / 2 : height;
      const sheet = document.createElementNS(NS, "svg");
      sheet.setAttribute("class", "drawing sheet");
      sheet.setAttribute("viewBox", `0 ${top} ${whole()} ${bottom - top}`);
      sheet.setAttribute("aria-hidden", "true"); // what it shows is in the server log
      paint(sheet, top, bottom, 0, whole());
      for (const g of sheet.querySelectorAll("[id]")) g.removeAttribute("id");
      drawings.push(sheet);
      top = bottom >= height ? height : bottom - HEAD;
    }
    active = chosen;
    held = place;
    measure(before);
    return drawings;
  };
  const redraw = () => { frame = frame || requestAnimationFrame(draw); };

  const drawPin = (parent, r, left) => {
    const g = node(parent, "g", { class: "pin w-" + r.pin.w, transform: `translate(${left + gutter + 12} ${r.y})` });
    node(g, "circle", { r: 8.5 });
    node(g, "text", { y: 3.5 }, r.pin.n);
    node(parent, "text", { class: "told w-" + r.pin.w, x: left + gutter + 26, y: r.y + 4 }, cut(r.pin.t, width - gutter - 36));
  };

  const arrow = (g, kind, x0, y0, x1, y1) => {
    node(g, "line", { class: "hit", x1: x0, y1: y0, x2: x1, y2: y1 });
    node(g, "line", { x1: x0, y1: y0, x2: x1, y2: y1 });
    const angle = Math.atan2(y1 - y0, x1 - x0) * 180 / Math.PI;
    if (kind === "lost") node(g, "path", { class: "cross", d: "M-5-5 5 5M5-5-5 5", transform: `translate(${x1} ${y1})` });
    else node(g, "path", { class: "tip-of", d: "M0 0-8-3.5V3.5Z", transform: `translate(${x1} ${y1}) rotate(${angle})` });
  };
  const drawMessage = (svg, m) => {
    const xc = x(m.c), xs = x(m.s), e = m.ends, toRight = xs > xc, s = says(m);
    const g = node(svg, "g", { id: "q-" + m.i, class: "message" + (m === active ? " chosen" : ""), role: "option", "data-m": m.i, "aria-selected": m === active,
      "aria-posinset": m.i + 1, "aria-setsize": messages.length, "aria-label": [s.title, s.who, ...s.lines].join(", ") });
    const part = kind => node(g, "g", { class: kind });
    const far = (from, to) => from + (to - from) * 0.7;
    if (!m.r && m.lost === "reply") arrow(part("reply lost"), "lost", xs, e.sent, far(xs, xc), e.lost);
    else if (!m.r) arrow(part("sent lost"), "lost", xc, e.sent, far(xc, xs), e.lost);
    else {
      const from = m.copy ? (xc + xs) / 2 : xc;
      arrow(part(m.copy ? "sent copy" : "sent"), "sent", from, e.sent, xs, e.at);
      if (m.copy) node(g, "circle", { class: "fork", cx: from, cy: e.sent, r: 4 });
      if (m.lost) arrow(part("reply lost"), "lost", xs, e.at, far(xs, xc), e.lost);
      else if (e.got !== undefined) arrow(part("reply"), "reply", xs, e.at, xc, e.got);
    }
    // Words stand beside the client, on the row of the end that they are about.
    // Where the client is out of sight they stand beside the server, and name it.
    const out = held !== null && (xc < held + gutter || hidden(m.c, 0)), near = out ? xs - 16 : xc + (toRight ? 8 : -8);
    const anchor = toRight && !out ? "start" : "end", at = near, room = out ? xs - held - gutter - 32 : Math.abs(xs - xc) - 24, c = cells(m);
    const word = (y, text, kind) => { if (text) node(words, "text", { class: kind + (m === active ? " chosen" : ""), "data-m": m.i, x: at, y: y + 4, "text-anchor": anchor }, text); };
    if (!m.copy) word(e.sent - 4, cut((out ? columns[m.c].n + " " : "") + (c && room > 200 ? `${m.l}: ${c.at(-3)}` : m.l), Math.max(room, wide - 24)), "says");
    if (e.got !== undefined && c) word(e.got, cut(c.at(-2), room * 0.6), "says soft");
  };

  // The tip of what has the focus stands beside its arrow.
  const place = () => {
    const g = active && document.getElementById("q-" + active.i), r = g && g.getBoundingClientRect(), b = box.getBoundingClientRect();
    if (!g || r.bottom < b.top || r.top > b.bottom) return tell(null);
    tell(active, Math.min(Math.max(r.left + 20, b.left), b.right - 60), Math.min(r.bottom, b.bottom) - 14);
  };
  const tell = (m, cx, cy) => {
    tipBox.hidden = !m;
    if (!m) return;
    const s = says(m), title = document.createElement("b");
    title.textContent = s.title;
    tipBox.replaceChildren(title, [s.who, ...s.lines].join("\n"));
    const r = tipBox.getBoundingClientRect();
    tipBox.style.left = Math.max(8, Math.min(cx + 14, innerWidth - r.width - 8)) + "px";
    tipBox.style.top = (cy + 20 + r.height > innerHeight ? Math.max(8, cy - r.height - 14) : cy + 20) + "px";
  };

  const scrollTo = y => { box.scrollTop = Math.max(0, y - HEAD - (box.clientHeight - HEAD) / 3); };
  // Brings the client of a message into sight, and its server if both have room.
  const aside = m => {
    const lo = Math.min(x(m.c), held === null ? x(m.s) : Infinity) - wide / 2, hi = Math.max(x(m.c), held === null ? x(m.s) : 0) + wide / 2;
    const room = held === null ? width : width - RIGHT - wide * servers();
    if (lo < box.scrollLeft + gutter) box.scrollLeft = lo - gutter;
    else if (hi > box.scrollLeft + room) box.scrollLeft = Math.min(lo - gutter, hi - room);
  };
  const select = (m, key) => {
    if (!m) return;
    active = m;
    byKey = key;
    if (m.top < box.scrollTop + HEAD || m.bottom > box.scrollTop + box.clientHeight) scrollTo(m.top);
    aside(m);
    draw();
    box.setAttribute("aria-activedescendant", "q-" + m.i);
    box.dispatchEvent(new CustomEvent("message", { detail: m }));
  };
  // The message that a row of the server log is about.
  const row = n => select(messages.find(m => m.r === n) || all.find(m => m.r === n), false);
  // What was sent at a moment, or next after it.
  const moment = t => {
    const r = rows.find(r => r.kind === "pin" && r.t === t) || rows.find(r => r.t >= t) || rows.at(-1), i = rows.indexOf(r);
    if (r) scrollTo(r.y);
    const next = rows.slice(Math.max(0, i)).find(r => r.m) || rows.slice(0, Math.max(0, i)).findLast(r => r.m);
    if (next && box.clientWidth) {
      draw(); // only then it is known how wide all of it is
      aside(next.m);
    }
    redraw();
  };
  let at = -1;
  const story = d => {
    const pins = data.pins || [];
    if (!pins.length) return;
    at = Math.min(pins.length - 1, Math.max(0, at + d));
    moment(pins[at].a);
    announceBox.textContent = stamp(pins[at].a) + ", " + pins[at].t;
    box.dispatchEvent(new CustomEvent("moment", { bubbles: true, detail: { at: pins[at].a, n: pins[at].n } }));
  };
  // Messages that have one of the words in their names or their text; all if there are none.
  const only = wanted => {
    asked = wanted;
    messages = all.filter(m => {
      const text = [columns[m.c].n, lanes[m.client] || "", columns[m.s].n, m.l, ...(cells(m) || [m.t])].join(" ").toLowerCase();
      return !wanted.length || wanted.some(w => text.includes(w));
    });
    if (active && !messages.includes(active)) {
      active = null;
      box.removeAttribute("aria-activedescendant");
      tell(null);
    }
    lay();
    box.scrollLeft = box.scrollTop = 0;
    draw();
    return messages.length;
  };

  const under = e => messages[e.target.closest?.("[data-m]")?.dataset.m];
  box.addEventListener("pointermove", e => {
    const m = under(e);
    if (m) byKey = false;
    if (m || !byKey) tell(m, e.clientX, e.clientY);
  });
  box.addEventListener("pointerleave", () => { if (!byKey) tell(null); });
  box.addEventListener("click", e => {
    const m = under(e);
    if (!m) return;
    select(m, false);
    onOpen(m);
  });
  box.addEventListener("focus", () => { if (!active && box.matches(":focus-visible")) select(messages.find(m => m.bottom > box.scrollTop + HEAD) || messages[0], true); });
  box.addEventListener("blur", () => { byKey = false; tell(null); });
  box.addEventListener("scroll", redraw, { passive: true });
  box.addEventListener("keydown", e => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const i = active ? active.i : -1;
    const to = { ArrowDown: i + 1, ArrowUp: i - 1, PageDown: i + 10, PageUp: i - 10, Home: 0, End: messages.length - 1 }[e.key];
    if (to !== undefined) select(messages[Math.max(0, Math.min(messages.length - 1, to))], true);
    else if (e.key === "ArrowRight") box.scrollLeft += wide;
    else if (e.key === "ArrowLeft") box.scrollLeft -= wide;
    else if (e.key === "n") story(1);
    else if (e.key === "p") story(-1);
    else if ((e.key === "Enter" || e.key === " ") && active) onOpen(active);
    else if (e.key === "Escape" && byKey) { byKey = false; tell(null); }
    else return;
    e.preventDefault();
  });
  new ResizeObserver(redraw).observe(box); // also when it is only taller: more is in sight
  box.append(svg);
  messages = all;
  lay();
  return { draw, row, moment, only, sheets };
};
