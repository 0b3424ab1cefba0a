"""Equations that several experiments on task abstractions have in common."""

from festina.experiment import Equation

JOINT_DESCENT = Equation(
    r"y = \sum_p c^p\, W^p x, \qquad \tau_w\, \dot W^p = -\frac{\partial L}{\partial W^p}, "
    r"\qquad \tau_c\, \dot c^p = -\frac{\partial L}{\partial c^p}",
    "Students W and the gates c that weight them descend one loss together, each kind on a timescale of its own.",
)

BOUNDS = Equation(
    r"L = L_{\text{task}} + \lambda_1 \sum_p \max(0, -c^p) + \lambda_2\, \bigl(\|c\| - 1\bigr)^2",
    "Besides the loss on the task shown, negative gates cost something, and so do gates whose norm is not one.",
)

REDUCED = Equation(
    r"\tau_w\, \dot w^p = c^p\, \varepsilon, \qquad "
    r"\tau_c\, \dot c^p = w^p \cdot \varepsilon - \frac{\partial R}{\partial c^p}, \qquad "
    r"\varepsilon = y^* - \sum_p c^p w^p",
    "In the plane of two teachers a path is a vector w with a gate c: an open gate lets it learn the error ε, and "
    "agreement with ε opens its gate; R bounds the gates.",
)
