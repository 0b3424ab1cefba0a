"""Coding schemes of wide Bayesian networks."""
