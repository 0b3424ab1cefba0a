/** Rasters: neurons by classes, sorted, with bands that say which neurons belong together. */

import { createView } from "./frame.js";
import { panelDrawing } from "./panels.js";

/** A view of sorted rows of cells, as wide as there is room. */
export const create = (options) => createView("raster", panelDrawing({ stretch: true }), options);
