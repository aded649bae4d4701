// Loads the list again when it has changed, but not under the hands of whoever chooses runs or types.
(() => {
  document.getElementById("live").hidden = false;
  const seconds = 2;
  let known = null;
  const look = async () => {
    try {
      const now = (await fetch(location.href, { method: "HEAD", cache: "no-store" })).headers.get("ETag");
      known = known || now;
      const busy = document.hidden || document.querySelector("#runs input:checked") || document.activeElement?.closest("form.filters");
      if (now && now !== known && !busy) return location.reload();
    } catch { /* who serves it has ended, or is not back yet */ }
    setTimeout(look, seconds * 1000);
  };
  look();
})();
