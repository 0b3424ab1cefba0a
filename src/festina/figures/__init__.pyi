from .panels import DOTS as DOTS
from .panels import Page as Page
from .panels import curves as curves
from .panels import end_points as end_points
from .panels import label_of as label_of
from .panels import looks_of as looks_of
from .panels import map_of as map_of
from .panels import share_scale as share_scale
