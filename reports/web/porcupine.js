// Shows the operation that returned first at the moment in "#t=30.412s" or after it.
(() => {
  const follow = () => {
    const m = /^#t=([\d.]+)s/.exec(location.hash);
    if (!m) return;
    const at = Math.floor(m[1] * 1e9);
    let best = null, bestEnd = Infinity;
    for (const rect of document.querySelectorAll(".target-rect")) {
      const op = data.Partitions[rect.dataset.partition]?.History[rect.dataset.index];
      const end = op ? Number(op.OriginalEnd) : NaN;
      if (end >= at && end < bestEnd) [best, bestEnd] = [rect, end];
    }
    if (!best) return;
    best.scrollIntoView({ inline: "center", block: "center" });
    best.dispatchEvent(new MouseEvent("click", { bubbles: false }));
  };
  addEventListener("hashchange", follow);
  follow();
})();
