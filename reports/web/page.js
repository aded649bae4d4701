
// The page around the picture. Everything here is a convenience: without it the page still tells
// the whole story.
(() => {
  const $ = id => document.getElementById(id);
  const dataBox = $("data"), box = $("timeline"), range = document.querySelector(".range");
  let picture = null, showMessages = null;

  // The address has the part of the run that is in view, the moment that was chosen, which groups are folded,
  // and what was asked for of lanes and operations, once the reader has moved or asked.
  const short = t => String(Math.round(t / 1e3) / 1e6);
  let moved = false, due = 0;
  let messages = null, asMessages = false; // the sequence view, and whether it is shown
  let seen = null;
  const asked = (name, e) => e && e.value.trim() ? `&${name}=${encodeURIComponent(e.value.trim())}` : "";
  const remember = view => {
    seen = view;
    if (asMessages || !view) return;
    clearTimeout(due);
    due = moved && setTimeout(() => {
      const at = view.chosen === null ? "" : `&at=${short(view.chosen)}s`;
      try { history.replaceState(null, "", `#view=${short(view.from)}s,${short(view.to)}s${at}${view.folded && "&folded=" + view.folded}${asked("lanes", $("lanes"))}${asked("find", $("filter"))}${$("all-moments")?.checked ? "&story=all" : ""}`); } catch { /* some viewers forbid it */ }
    }, 250);
  };
  if (dataBox && box) {
    const data = unpack(JSON.parse(dataBox.textContent));
    picture = timeline(data, box, $("overview"), $("tip"), $("announce"), (text, view) => { range.textContent = text; remember(view); });
    for (const e of document.querySelectorAll(".tools, .keys")) e.hidden = false;
    const acts = { in: () => picture.zoom(1 / 2), out: () => picture.zoom(2), whole: () => picture.whole(), violation: () => picture.violation() };
    for (const b of document.querySelectorAll("[data-do]")) b.addEventListener("click", () => { moved = true; acts[b.dataset.do](); });
    for (const e of ["wheel", "pointerdown", "keydown", "dblclick"]) box.addEventListener(e, () => { moved = true; }, { passive: true, capture: true }); // before what is then done is remembered
    $("overview").addEventListener("pointerdown", () => { moved = true; });
    const lanes = $("lanes");
    lanes.addEventListener("input", () => {
      const words = lanes.value.toLowerCase().split(/[\s,]+/).filter(Boolean), n = picture.only(words);
      $("announce").textContent = messages && asMessages ? `${messages.only(words)} messages` : `${n} lanes`;
    });
    const address = hash => { try { history.replaceState(null, "", hash); } catch { /* some viewers forbid it */ } };
    if ($("sequence")) {
      const toScale = $("h-picture").textContent, log = $("log") && serverLog($("log"));
      const open = m => {
        const row = $("m-" + m.r) || $("op-" + m.op);
        if (!row) return;
        if (m.r) log.show(row);
        else row.scrollIntoView({ block: "nearest" });
        mark("#log .chosen, #ops .chosen", row);
      };
      messages = sequence(data, $("sequence"), $("tip"), $("announce"), text => { if (asMessages) range.textContent = text; }, open);
      const show = on => {
        asMessages = on;
        clearTimeout(due);
        $("show-messages").setAttribute("aria-pressed", on);
        for (const e of [$("sequence"), $("sequence-legend")]) e.hidden = !on;
        for (const e of document.querySelectorAll("[data-do]")) e.hidden = on;
        box.closest("figure").classList.toggle("messages", on);
        $("tip").hidden = true;
        $("h-picture").textContent = on ? "Who sent whom what" : toScale;
        if (on) messages.moment(picture.from());
        else picture.redraw();
      };
      showMessages = show;
      // Paper has the picture, and below it all messages if they are shown.
      const onPaper = on => {
        if (on && !asMessages) return;
        $("sheets").replaceChildren(...(on ? messages.sheets() : []));
        $("h-picture").textContent = asMessages && !on ? "Who sent whom what" : toScale;
      };
      matchMedia("print").addEventListener("change", e => onPaper(e.matches));
      addEventListener("beforeprint", () => onPaper(true));
      addEventListener("afterprint", () => onPaper(false));
      $("show-messages").addEventListener("click", () => {
        show(!asMessages);
        address(asMessages ? "#messages" : location.pathname + location.search);
      });
      for (const e of [box, $("sequence")]) {
        e.addEventListener("keydown", key => {
          if (key.key !== "m" || key.ctrlKey || key.metaKey || key.altKey) return;
          $("show-messages").click();
          (asMessages ? $("sequence") : box).focus();
        });
      }
      $("sequence").addEventListener("message", e => {
        if (e.detail.r) address("#m=" + e.detail.r);
        mark("#log .chosen", $("m-" + e.detail.r));
      });
      $("sequence").addEventListener("moment", e => mark(".story .chosen", document.querySelector(`.story li[data-n="${e.detail.n}"]`)));
      $("log")?.addEventListener("click", e => {
        const link = e.target.closest('a[href^="#m="]');
        if (!link) return;
        e.preventDefault();
        address(link.hash);
        follow(link.hash, true);
      });
    }
    const keys = $("keys");
    $("show-keys").addEventListener("click", () => keys.showModal());
    addEventListener("keydown", e => {
      if (e.key === "?" && !keys.open && !e.target.closest?.("input")) keys.showModal();
    });
  }

  const mark = (selector, chosen) => {
    for (const e of document.querySelectorAll(selector)) e.classList.remove("chosen");
    if (chosen) chosen.classList.add("chosen");
  };

  // A link to a moment is "#t=30.412s", to a stretch "#t=30.412s-45.4s". It works from outside too.
  // Where the picture stays beside the text, the page stays where it is.
  const beside = matchMedia("(min-width: 1280px)");
  const stays = link => beside.matches && link && link.closest(".beside");
  const follow = (hash, still, link) => {
    const part = /^#view=(-?[\d.]+)s,([\d.]+)s(?:&at=([\d.]+)s)?((?:&(?:folded|lanes|find|story)=[^&]*)*)$/.exec(hash);
    if (part && picture) {
      picture.look(part[1] * 1e9, part[2] * 1e9, part[3] ? part[3] * 1e9 : null);
      const words = new URLSearchParams(part[4]);
      picture.folded(words.get("folded") || "");
      if ($("all-moments")) $("all-moments").checked = words.get("story") === "all";
      for (const [name, e] of [["lanes", $("lanes")], ["find", $("filter")]]) {
        if (!e || e.value === (words.get(name) || "")) continue;
        e.value = words.get(name) || "";
        e.dispatchEvent(new Event("input"));
      }
    }
    const nth = /^#m(?:essages|=(\d+))$/.exec(hash);
    if (nth && showMessages) {
      if (!asMessages) showMessages(true);
      if (nth[1]) messages.row(Number(nth[1]));
      if (!beside.matches) $("sequence").scrollIntoView({ block: "nearest", behavior: "auto" });
    }
    const m = /^#t=([\d.]+)s(?:-([\d.]+)s)?$/.exec(hash);
    if (!m || !picture) return;
    const from = m[1] * 1e9, to = m[2] ? m[2] * 1e9 : from;
    if (asMessages) {
      messages.moment(from);
      if (!stays(link)) $("sequence").scrollIntoView({ block: "nearest", behavior: "auto" });
      return;
    }
    if (to > from) picture.around(from, to, still);
    else picture.choose(from, Number(link?.closest(".story li")?.dataset.n) || undefined);
    if (!stays(link)) box.scrollIntoView({ block: "nearest", behavior: "auto" });
  };
  const go = link => {
    moved = false;
    clearTimeout(due);
    try { history.replaceState(null, "", link.hash); } catch { /* some viewers forbid it */ }
    follow(link.hash, false, link);
  };
  document.addEventListener("click", e => {
    const link = e.target.closest('a[href^="#t="]') || e.target.closest(".story li, #ops tbody tr")?.querySelector('a[href^="#t="]');
    if (!link || !picture || String(getSelection())) return;
    e.preventDefault();
    go(link);
    const row = link.closest("#ops tbody tr"), moment = link.closest(".story li");
    if (row) mark("#ops .chosen", row);
    if (moment) mark(".story .chosen", moment);
  });
  addEventListener("hashchange", () => follow(location.hash));

  if (box) {
    box.addEventListener("moment", e => mark(".story .chosen", e.detail.n && document.querySelector(`.story li[data-n="${e.detail.n}"]`)));
    box.addEventListener("operation", e => {
      const row = $("op-" + e.detail);
      if (!row) return;
      mark("#ops .chosen", row);
      const scroll = row.closest(".scroll");
      scroll.scrollTop = row.offsetTop - scroll.clientHeight / 2;
    });
  }

  const filter = $("filter");
  if (filter) {
    filter.closest("label").hidden = false;
    const rows = [...document.querySelectorAll("#ops tbody tr")].map(row => ({ row, text: row.textContent.toLowerCase() }));
    filter.addEventListener("input", () => {
      const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const r of rows) {
        r.row.hidden = !words.every(w => r.text.includes(w));
        if (!r.row.hidden) shown++;
      }
      $("matches").textContent = words.length ? `${shown} of ${rows.length}` : "";
    });
  }

  follow(location.hash, true); // when all of it listens
  for (const e of [$("lanes"), $("filter"), $("all-moments")]) e?.addEventListener("input", () => { moved = true; remember(seen); });

  const copy = $("copy");
  if (copy) {
    copy.hidden = false;
    copy.addEventListener("click", async () => {
      const command = $("command");
      let done = false;
      try {
        await navigator.clipboard.writeText(command.textContent);
        done = true;
      } catch {
        getSelection().selectAllChildren(command);
        done = document.execCommand("copy");
      }
      copy.textContent = done ? "copied" : "select it and copy";
      setTimeout(() => { copy.textContent = "copy"; }, 1500);
    });
  }
})();
