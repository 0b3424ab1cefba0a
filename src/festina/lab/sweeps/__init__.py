"""Sweeps: any number of axes × seeds, computed by any number of workers into one store that survives a kill."""
