"""The graph for other programs and for people: networkx, GraphML, JSON, one HTML page."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from memreader.errors import require
from memreader.records import Entity, Relation
from memreader.spelling import entity_key

if TYPE_CHECKING:
    import networkx

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SLOT = re.compile(r"\{\{(\w+)\}\}")
MAX_DRAWN = 400
"""Entities on a page, at most: more are no picture, and the layout looks at every pair."""


@dataclass(frozen=True, slots=True)
class GraphView:
    """What is shown of a user's graph."""

    entities: Sequence[Entity]
    relations: Sequence[Relation] = ()
    together: Iterable[tuple[str, str, int]] = ()
    """Two names and how many items mention both; each pair once."""
    kinds: Mapping[str, str] = field(default_factory=dict)
    """Entity key -> person, place, organisation, work or other."""
    memories: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Entity key -> texts of the items that mention it, shown on the page only."""


def graph_dict(view: GraphView) -> dict[str, Any]:
    """Return nodes and links as JSON-ready values, in the form networkx's `node_link_graph(..., edges="links")` reads.

    A node: id (the entity's key), name, items, kind if known. A link: source, target, key (its number among the links
    of this pair), and relation and item of a relation, or items of two that are mentioned together (relation ""). An
    end that is no entity of the view becomes a node with 0 items; a name without a key is left out.
    """
    nodes = {entity.key: {"id": entity.key, "name": entity.name, "items": entity.items} for entity in view.entities}
    counted: Counter[tuple[str, str]] = Counter()
    links: list[dict[str, Any]] = []

    def link(head: str, tail: str, **values: Any) -> None:
        source, target = entity_key(head), entity_key(tail)
        if source and target:
            for key, name in ((source, head), (target, tail)):
                nodes.setdefault(key, {"id": key, "name": name, "items": 0})
            links.append({"source": source, "target": target, "key": counted[source, target], **values})
            counted[source, target] += 1

    for each in view.relations:
        link(each.head, each.tail, relation=each.relation, item=each.item_id)
    for one, other, items in view.together:
        link(one, other, relation="", items=items)
    for key, node in nodes.items():
        if key in view.kinds:
            node["kind"] = view.kinds[key]
    return {"directed": True, "multigraph": True, "graph": {}, "nodes": list(nodes.values()), "links": links}


def graph_json(view: GraphView) -> str:
    """Return `graph_dict` as JSON text."""
    return json.dumps(graph_dict(view), ensure_ascii=False, allow_nan=False)


def to_networkx(view: GraphView) -> networkx.MultiDiGraph[str]:
    """Return the graph as a `networkx.MultiDiGraph`: nodes are entity keys, with name, items and kind as attributes.

    Two that are mentioned together are one edge, from the first to the second.

    Raises:
        MissingExtraError: networkx is not installed.
    """
    nx = require("networkx", package="networkx", extra="graph")
    graph: networkx.MultiDiGraph[str] = nx.MultiDiGraph()
    data = graph_dict(view)
    for node in data["nodes"]:
        graph.add_node(node["id"], **{name: value for name, value in node.items() if name != "id"})
    for each in data["links"]:
        values = {name: value for name, value in each.items() if name not in {"source", "target", "key"}}
        graph.add_edge(each["source"], each["target"], key=each["key"], **values)
    return graph


def graphml(view: GraphView) -> str:
    """Return the graph as GraphML; characters that XML can't hold become U+FFFD.

    Raises:
        MissingExtraError: networkx is not installed.
    """
    nx = require("networkx", package="networkx", extra="graph")
    graph = nx.relabel_nodes(to_networkx(view), _xml_ready)
    for _, values in (*graph.nodes(data=True), *((None, values) for _, _, values in graph.edges(data=True))):
        values.update({name: _xml_ready(value) for name, value in values.items()})
    return "\n".join(nx.generate_graphml(graph))


def _xml_ready(value: Any) -> Any:
    return _NOT_XML.sub("\ufffd", value) if isinstance(value, str) else value


def graph_html(view: GraphView, *, title: str = "Memory graph", max_drawn: int = MAX_DRAWN) -> str:
    """Return one HTML page that draws the graph without a network: search, drag, zoom, a click shows the memories.

    Names and memories are anybody's words: they reach the page as data, never as markup, and a content security policy
    lets only the page's own script and style run.

    Args:
        view: What to draw. Of more than `max_drawn` entities those with most links, then most items, are drawn.
        title: Of the page.
        max_drawn: Entities on the page, at most.

    Raises:
        ValueError: `max_drawn` is less than 1.
    """
    if max_drawn < 1:
        raise ValueError(f"max_drawn is at least 1, got {max_drawn}")
    data = graph_dict(view)
    degrees = Counter(end for link in data["links"] for end in {link["source"], link["target"]})
    nodes = sorted(data["nodes"], key=lambda node: (-degrees[node["id"]], -node["items"], node["id"]))[:max_drawn]
    drawn = {node["id"] for node in nodes}
    for node in nodes:
        node["memories"] = list(view.memories.get(node["id"], ()))
    links = [link for link in data["links"] if link["source"] in drawn and link["target"] in drawn]
    shown = {"nodes": nodes, "links": links, "hidden": len(data["nodes"]) - len(nodes)}
    return _filled(_template(), {"title": html.escape(title), "data": _in_script(shown)})


def _template() -> str:
    return files("memreader.graph").joinpath("page.html").read_text(encoding="utf-8")


def _in_script(value: object) -> str:
    """Return JSON that no HTML parser sees an end of a script, a comment or an entity in."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _filled(template: str, values: Mapping[str, str]) -> str:
    """Return the template with every slot filled in one pass, so that no value is read as a slot."""
    values = {
        **values,
        "script_hash": _policy_hash(template, "<script>", "</script>"),
        "style_hash": _policy_hash(template, "<style>", "</style>"),
    }
    return _SLOT.sub(lambda slot: values[slot[1]], template)


def _policy_hash(template: str, opening: str, closing: str) -> str:
    code = template.partition(opening)[2].partition(closing)[0]
    return "sha256-" + base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
