/** Where the page begins: the address says which view is shown. */

import { parseAddress } from "./address.js";
import { announce, element } from "./dom.js";
import { showExperiment } from "./experiment.js";
import { showGallery } from "./gallery.js";
import { showMap } from "./map.js";
import { showOwn } from "./own.js";
import { showStory } from "./story.js";
import { attachThemeButton } from "./theme.js";

const VIEWS = { gallery: showGallery, experiment: showExperiment, map: showMap, own: showOwn, story: showStory };
const content = document.getElementById("content");
let close = () => undefined;
let visits = 0;

async function show() {
  visits += 1;
  const own = visits;
  close();
  close = () => undefined;
  const address = parseAddress(location.hash);
  try {
    const stage = element("div", { class: "stage" });
    const view = VIEWS[address.view];
    if (!view) throw new Error(`There is no page ${address.path}.`);
    content.setAttribute("aria-busy", "true");
    const end = await view(stage, address);
    if (own !== visits) return end();
    close = end;
    content.replaceChildren(stage);
    if (own > 1) arrive();
  } catch (error) {
    if (own === visits) showTrouble(error);
  }
  content.removeAttribute("aria-busy");
  return undefined;
}

/** After a link was followed, reading goes on at the top of the new view. */
function arrive() {
  scrollTo(0, 0);
  content.querySelector("h1")?.focus({ preventScroll: true });
  announce(document.title);
}

function showTrouble(error) {
  content.replaceChildren(
    element("h1", { tabindex: "-1" }, "This cannot be shown"),
    element("p", { class: "trouble", role: "alert" }, error.message),
    element("p", {}, element("a", { href: "#/" }, "All experiments")),
  );
}

document.querySelector("a.skip").addEventListener("click", (event) => {
  event.preventDefault(); // its address would be taken for a view's
  content.focus();
});
attachThemeButton(document.getElementById("theme"));
addEventListener("hashchange", show);
show();
