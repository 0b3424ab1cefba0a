"""The browser page: a gallery of experiments with sliders, live charts and maps, served to this machine alone."""
