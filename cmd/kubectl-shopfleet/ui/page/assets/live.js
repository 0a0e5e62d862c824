// What the page does by itself: it says when it is no longer live, copies commands, and has keys for the screens.
(() => {
  const patience = 5000; // Milliseconds without a message, of which there is one each second.
  let last = Date.now();

  document.addEventListener("htmx:sse:after:message", () => {
    last = Date.now();
    // The extension closes the stream when a tab becomes hidden. One that was opened in the background does not become so.
    if (document.hidden) document.dispatchEvent(new Event("visibilitychange"));
  });
  document.addEventListener("visibilitychange", () => { if (!document.hidden) last = Date.now(); });
  setInterval(() => {
    const ended = !document.hidden && Date.now() - last > patience;
    const notice = document.getElementById("ended");
    if (notice.hidden === !ended) return;
    notice.hidden = !ended;
    notice.querySelector("time").textContent = document.querySelector("#bar time").textContent;
    document.body.classList.toggle("ended", ended);
  }, 1000);

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
    if (event.key === "/") {
      const search = document.querySelector("input[type=search]");
      if (search) { event.preventDefault(); search.focus(); }
      return;
    }
    const screen = document.querySelector(`a[data-key="${CSS.escape(event.key)}"]`);
    if (screen) screen.click();
  });
})();
