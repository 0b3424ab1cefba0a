/** Where an exported file begins: the page of one finished run, from what the file itself holds. */

import { createFinished } from "./finished.js";
import { attachThemeButton } from "./theme.js";

const run = JSON.parse(document.getElementById("run").textContent);
const content = document.getElementById("content");

content.append(createFinished(run).root);
attachThemeButton(document.getElementById("theme"));
document.querySelector("a.skip").addEventListener("click", (event) => {
  event.preventDefault();
  content.focus();
});
