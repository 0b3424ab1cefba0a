/** Heat maps: kernels, similarities, maps over two fields; simulation and theory side by side. */

import { createView } from "./frame.js";
import { panelDrawing } from "./panels.js";

/** A view of panels of square cells. */
export const create = (options) => createView("heat", panelDrawing({ stretch: false }), options);
