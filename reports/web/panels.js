
// What was measured at a moment stands beside the pointer at once. Without this a browser shows it later, as a title.
for (const chart of document.querySelectorAll(".panels")) {
  const readout = chart.querySelector(".readout"), says = new Map();
  for (const column of chart.querySelectorAll(".column")) {
    const title = column.querySelector("title");
    says.set(column, title.textContent);
    title.remove(); // or it would be told twice
  }
  chart.addEventListener("pointermove", e => {
    const text = says.get(e.target);
    readout.hidden = !text;
    if (!text) return;
    const [head, ...rest] = text.split("\n"), b = document.createElement("b");
    b.textContent = head;
    readout.replaceChildren(b, rest.join("\n"));
    const r = readout.getBoundingClientRect();
    readout.style.left = Math.max(8, Math.min(e.clientX + 14, innerWidth - r.width - 8)) + "px";
    readout.style.top = (e.clientY + 20 + r.height > innerHeight ? Math.max(8, e.clientY - r.height - 14) : e.clientY + 20) + "px";
  });
  chart.addEventListener("pointerleave", () => { readout.hidden = true; });
}
