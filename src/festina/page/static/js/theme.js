/** Light and dark: the system's preference, until the reader chooses otherwise. */

const KEY = "festina-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

/** Whether the page is dark at present. */
export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : system.matches;
}

/** Let a button change the theme; charts hear of it by the document's event `themechange`. */
export function attachThemeButton(button) {
  const label = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", isDark() ? "Use light colours" : "Use dark colours");
  };
  const tell = () => {
    label();
    document.dispatchEvent(new Event("themechange"));
  };
  button.addEventListener("click", () => {
    const next = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    keep(next);
    tell();
  });
  system.addEventListener("change", tell);
  label();
}

function keep(theme) {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // A page without storage forgets the choice, which is no error.
  }
}
