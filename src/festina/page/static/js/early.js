// Loaded before anything is painted, so that a theme chosen earlier never flashes by in the other one.
(function () {
  try {
    const chosen = localStorage.getItem("festina-theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    // Without storage the system's preference holds.
  }
})();
