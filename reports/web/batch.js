"use strict";
// The page works without this: all rows and columns are there.
(() => {
  const form = document.getElementById("choose"), matrix = document.querySelector(".matrix"), matches = document.getElementById("matches");
  if (!form || !matrix) return;
  const rows = [...matrix.tBodies[0].rows].map(row => ({ row, text: row.cells[0].textContent.toLowerCase() }));
  const strays = [...document.querySelectorAll(".stray")].map(card => ({ card, text: card.textContent.toLowerCase() }));

  // choose leaves the columns of a lock, the rows of scenarios that have all words, and of these the ones that show what is wanted.
  const choose = () => {
    const data = new FormData(form), lock = data.get("lock"), show = data.get("show"), words = data.get("scenario").toLowerCase().split(/\s+/).filter(Boolean);
    for (const e of matrix.querySelectorAll("[data-lock]")) e.hidden = lock !== "" && e.dataset.lock !== lock;
    let shown = 0;
    for (const { row, text } of rows) {
      const cells = [...row.querySelectorAll("td")].filter(c => !c.hidden);
      row.hidden = !words.every(w => text.includes(w)) || show !== "" && !cells.some(c => c.classList.contains("tone-" + show));
      if (!row.hidden) shown++;
    }
    for (const { card, text } of strays) card.hidden = !words.every(w => text.includes(w)) || lock !== "" && card.dataset.of !== lock;
    const query = new URLSearchParams([...data].filter(([, value]) => value));
    matches.textContent = [...query].length ? `${shown} of ${rows.length} scenarios` : "";
    try { history.replaceState(null, "", `?${query}${location.hash}`); } catch { /* some viewers forbid it */ }
  };

  // What the address says is chosen first, so that a link shows what its sender saw.
  const query = new URLSearchParams(location.search);
  for (const [name, value] of query) if (form.elements[name]) form.elements[name].value = value;
  form.hidden = false;
  form.addEventListener("input", choose);
  form.addEventListener("submit", e => e.preventDefault());
  if ([...query].length) choose();
})();
