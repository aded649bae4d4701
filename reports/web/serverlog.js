
// The server log, of which the page shows what matters: what else there is opens on a click. Without this all rows are there.
const serverLog = details => {
  const rows = [...details.querySelectorAll("tbody tr")], folds = [];
  const fold = run => {
    const row = document.createElement("tr"), cell = row.insertCell(), button = document.createElement("button");
    const clock = r => r.cells[0].textContent;
    row.className = "fold";
    cell.colSpan = run[0].cells.length;
    button.type = "button";
    const words = run.length === 1 ? `1 more command, ${clock(run[0])}` : `${run.length} more commands, ${clock(run[0])} to ${clock(run.at(-1))}`;
    const set = open => {
      for (const r of run) r.hidden = !open;
      button.setAttribute("aria-expanded", open);
      button.textContent = words;
    };
    button.addEventListener("click", () => set(run[0].hidden));
    cell.append(button);
    run[0].before(row);
    set(false);
    folds.push({ run, set });
  };
  if (rows.some(r => r.classList.contains("told"))) {
    let run = [];
    for (const r of [...rows, null]) {
      if (r && !r.classList.contains("told")) run.push(r);
      else if (run.length) {
        fold(run);
        run = [];
      }
    }
  }
  // Brings a row in sight, whatever it is folded into.
  const show = row => {
    details.open = true;
    folds.find(f => f.run.includes(row))?.set(true);
    const scroll = row.closest(".scroll");
    scroll.scrollTop = row.offsetTop - scroll.clientHeight / 2;
    scroll.scrollIntoView({ block: "nearest" });
  };
  return { show };
};
