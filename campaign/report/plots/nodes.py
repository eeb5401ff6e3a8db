"""The plot of cells that report each node by itself: the values of all nodes, from the lowest to the highest."""

from __future__ import annotations

from collections.abc import Sequence

from campaign.core import units
from campaign.report.plots import shapes
from campaign.report.plots.drawing import DrawnPlot
from campaign.results.cells import Row

FILE, TITLE = "by_node", "Values of the nodes, each by itself"  # no plot of a pack has this id
MARKED = 200  # nodes with a marker each; more are a line


def by_node(rows: Sequence[Row]) -> DrawnPlot | None:
    """A panel for each cell with values of nodes; outlying nodes are crossed and named."""
    of_nodes = [row for row in rows if row.by_node]
    if not of_nodes:
        return None
    remarks = ["the vertical axis does not begin at 0"]
    remarks += ["crossed: outlying"] if any(row.outlying for row in of_nodes) else []
    return DrawnPlot(tuple(map(_panel, of_nodes)), "The value of each node, sorted.", remarks=tuple(remarks))


def _panel(row: Row) -> shapes.Panel:
    values = sorted((value, node) for node, value in row.by_node.items())
    places = {node: (float(place), value) for place, (value, node) in enumerate(values)}
    ends = dict.fromkeys((values[0][1], values[-1][1]))
    x = shapes.Axis(-0.5, len(values) - 0.5, tuple((places[node][0], node) for node in ends), "nodes, by value")
    few = len(values) <= MARKED
    marks = (
        shapes.Line(tuple(places.values()), shapes.colour(0), joined=not few, marked=few),
        shapes.Line((), shapes.colour(0), crossed=tuple(places[node] for node in row.outlying)),
    )
    spread = "" if row.spread is None else f", spread {row.spread:.1%}"
    title = f"{row.cell}: {len(values)} of {units.several(len(row.nodes), 'node')}{spread}"
    # Only the range of the values, whose differences are what is looked for.
    least, most = values[0][0], values[-1][0]
    margin = (most - least or abs(most) or 1.0) / 10
    return shapes.Panel(title, x, shapes.linear_axis(most + margin, row.unit, low=least - margin), marks)
