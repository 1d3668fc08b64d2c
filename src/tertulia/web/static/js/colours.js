// Light or dark: as the system has it, unless the reader chose otherwise. A plain script, so that nothing flashes.
(function () {
  const KEY = "tertulia.colours";
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");

  function chosen() {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null; // Storage can be forbidden; the choice then lasts as long as the page.
    }
  }

  function apply(choice) {
    const dark = choice ? choice === "dark" : system.matches;
    root.toggleAttribute("data-dark", dark);
    if (choice) root.dataset.colours = choice;
    else delete root.dataset.colours;
    document.getElementById("colours")?.setAttribute("aria-pressed", String(dark));
  }

  function toggle() {
    const wanted = root.hasAttribute("data-dark") ? "light" : "dark";
    // A choice that is the system's is no choice: the page follows the system again.
    const choice = wanted === (system.matches ? "dark" : "light") ? null : wanted;
    try {
      if (choice) localStorage.setItem(KEY, choice);
      else localStorage.removeItem(KEY);
    } catch {
      // As above.
    }
    apply(choice);
  }

  apply(chosen());
  system.addEventListener("change", () => apply(chosen()));
  document.addEventListener("DOMContentLoaded", () => {
    apply(chosen());
    document.getElementById("colours").addEventListener("click", toggle);
  });
})();
