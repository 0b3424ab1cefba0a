// Typeset what Sphinx leaves in <span class="math"> and <div class="math">, with the KaTeX kept beside this file.
document.addEventListener("DOMContentLoaded", () => {
  for (const element of document.querySelectorAll("span.math, div.math")) {
    renderMathInElement(element, {
      delimiters: [
        { left: "\\(", right: "\\)", display: false },
        { left: "\\[", right: "\\]", display: true },
      ],
      throwOnError: false,
    });
  }
});
