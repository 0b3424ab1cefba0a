/** A question that must be answered before something long begins. */

import { element } from "./dom.js";
import { duration } from "./numbers.js";

/** Ask whether a long run is wanted; a promise of yes or no. */
export function confirmLongRun({ message, confirm }) {
  return new Promise((resolve) => {
    const expected = confirm.seconds ? `It would take about ${duration(confirm.seconds)}.` : "";
    const dialog = element(
      "dialog",
      { "aria-labelledby": "confirm-heading" },
      element("h2", { id: "confirm-heading" }, "A long run"),
      element("p", {}, confirm.reason || message),
      expected ? element("p", {}, expected) : null,
      element(
        "div",
        { class: "buttons" },
        element("button", { type: "button", class: "primary", onclick: () => dialog.close("yes") }, "Run it"),
        element("button", { type: "button", onclick: () => dialog.close("no") }, "Do not run"),
      ),
    );
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
