"use strict";
// The page works without this: all columns and rows are there, and each story opens by itself.
(() => {
  const form = document.getElementById("choose");
  const all = (selector) => [...document.querySelectorAll(selector)];

  // choose shows the columns of the languages and locks that are ticked, and the rows in which one of the guarantees broke.
  const choose = () => {
    const data = new FormData(form);
    const languages = data.getAll("language");
    const lock = data.get("lock");
    const guarantee = data.get("guarantee");
    const wanted = (e) => languages.includes(e.dataset.language) && (!lock || e.dataset.lock === lock);
    for (const e of all("[data-lock]")) e.hidden = !wanted(e);
    for (const row of all(".field tbody tr")) {
      row.hidden = !!guarantee && ![...row.querySelectorAll("td")].some((c) => !c.hidden && c.dataset.broke.split(" ").includes(guarantee));
    }
    const query = new URLSearchParams([...data].filter(([, value]) => value));
    history.replaceState(null, "", `?${query}${location.hash}`);
  };

  // What the address says is chosen first, so that a link shows what its sender saw.
  const query = new URLSearchParams(location.search);
  if ([...query].length) {
    for (const box of all("input[name=language]")) box.checked = query.getAll("language").includes(box.value);
    for (const list of form.querySelectorAll("select")) list.value = query.get(list.name) || "";
  }
  form.hidden = false;
  form.addEventListener("input", choose);
  choose();

  const open = () => {
    const story = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (story?.showModal && !story.open) story.showModal();
  };
  for (const story of all("dialog")) {
    story.addEventListener("close", () => history.replaceState(null, "", location.pathname + location.search));
    story.addEventListener("click", (e) => e.target === story && story.close());
  }
  addEventListener("hashchange", open);
  open();
})();
