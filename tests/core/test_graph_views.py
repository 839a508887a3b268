"""The graph for other programs, and on a page in a real browser."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from browser import Page, browser_path, opened
from memreader.errors import MissingExtraError
from memreader.graph.names import entity_key
from memreader.graph.views import GraphView, graph_dict, graph_html, graph_json, graphml, to_networkx
from memreader.records import Entity, Relation

EVIL = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'> & {{title}} <!--"
names = st.text(
    st.sampled_from("aB张<>&\"'{}/\x00\x0b\ufffe😀 ") | st.characters(exclude_categories=["Cs"]), max_size=12
)


def entity(name: str, items: int = 1) -> Entity:
    return Entity(name, entity_key(name), items)


VIEW = GraphView(
    [entity("Ana", 3), entity("Lisbon", 2), entity("张三"), entity(EVIL)],
    [
        Relation("Ana", "lives in", "Lisbon", "item-1"),
        Relation("Ana", "loves", "Lisbon", "item-2"),
        Relation("张三", EVIL, EVIL, "item-3"),
        Relation("Ana", "likes", "Tea", "item-4"),
    ],
    [("Ana", "张三", 2)],
    {"ana": "person", "lisbon": "place"},
    {"ana": ["Ana lives in Lisbon.", EVIL]},
)


def test_nodes_are_entities_and_links_say_what_they_are() -> None:
    data = graph_dict(VIEW)
    assert data["nodes"][0] == {"id": "ana", "name": "Ana", "items": 3, "kind": "person"}
    assert data["nodes"][-1] == {"id": "tea", "name": "Tea", "items": 0}
    assert data["links"][1] == {"source": "ana", "target": "lisbon", "key": 1, "relation": "loves", "item": "item-2"}
    assert data["links"][-1] == {"source": "ana", "target": "张三", "key": 0, "relation": "", "items": 2}


def test_networkx_gets_every_relation() -> None:
    graph = to_networkx(VIEW)
    assert graph.number_of_edges("ana", "lisbon") == 2
    assert graph.nodes["ana"] == {"name": "Ana", "items": 3, "kind": "person"}
    assert graph.has_edge("ana", "张三")


def test_networkx_reads_the_json_back() -> None:
    graph = nx.node_link_graph(json.loads(graph_json(VIEW)), edges="links")
    assert nx.utils.graphs_equal(graph, to_networkx(VIEW))


def test_networkx_reads_the_graphml_back() -> None:
    graph = nx.parse_graphml(graphml(VIEW), force_multigraph=True)
    assert {name for _, name in graph.nodes(data="name")} == {"Ana", "Lisbon", "张三", EVIL, "Tea"}
    assert sorted(relation for *_, relation in graph.edges("ana", data="relation")) == [
        "",
        "likes",
        "lives in",
        "loves",
    ]


@given(st.lists(names, max_size=4))
def test_no_name_is_too_odd_to_be_exported(odd: list[str]) -> None:
    view = GraphView([entity(name) for name in odd if entity_key(name)], [Relation(one, one, one, "1") for one in odd])
    json.loads(graph_json(view))
    nx.parse_graphml(graphml(view))
    page = graph_html(view, title="".join(odd))
    assert page.count("</script>") == 2
    assert "<" not in page.partition('id="data">')[2].partition("</script>")[0]
    assert "{{" not in re.sub(r'"(?:[^"\\]|\\.)*"|<title>.*?</title>|<h1>.*?</h1>', "", page, flags=re.DOTALL)


def test_an_empty_graph_is_exported() -> None:
    view = GraphView([])
    assert graph_dict(view)["nodes"] == []
    assert nx.parse_graphml(graphml(view)).number_of_nodes() == 0
    assert "<svg" in graph_html(view)


def test_without_networkx_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(MissingExtraError, match=r"llm-memreader\[graph\]"):
        to_networkx(VIEW)
    assert json.loads(graph_json(VIEW))["nodes"]


def test_a_page_of_many_draws_those_with_most_links() -> None:
    view = GraphView([entity(f"n{at}") for at in range(20)], [Relation("n7", "knows", "n8", "1")])
    page = graph_html(view, max_drawn=3)
    data = json.loads(re.search(r'id="data">(.*?)</script>', page)[1])
    assert [node["id"] for node in data["nodes"]] == ["n7", "n8", "n0"]
    assert data["hidden"] == 17
    with pytest.raises(ValueError, match="max_drawn"):
        graph_html(view, max_drawn=0)


def test_the_page_names_no_other_file() -> None:
    page = graph_html(GraphView([entity("Ana")]))
    assert not re.search(r"\b(?:src|href)=|url\(|@import|fetch\(|XMLHttp|WebSocket|import\(", page)
    assert "default-src 'none'" in page


PLACES = "[...document.querySelectorAll('circle')].map((c) => c.getBoundingClientRect()).map((box) => [box.x, box.y])"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    if not browser_path():
        pytest.skip("no Chromium here: install chromium, or name one in CHROMIUM")
    folder = tmp_path_factory.mktemp("page")
    file = folder / "graph.html"
    file.write_text(graph_html(VIEW, title=f"Ana {EVIL}"), encoding="utf-8")
    with opened(file, folder / "profile") as page:
        page.wait("document.body.dataset.settled === 'yes'")
        yield page


class TestInABrowser:
    def test_it_draws_every_entity_and_relation(self, page: Page) -> None:
        assert page.evaluate("document.querySelectorAll('g.node').length") == 5
        assert page.evaluate("document.querySelectorAll('#edges line').length") == 5
        labels = page.evaluate("[...document.querySelectorAll('text.relation')].map((label) => label.textContent)")
        assert labels == ["lives in", "loves", EVIL, "likes"]
        assert page.evaluate("document.getElementById('count').textContent") == "5 entities"

    def test_the_drawing_is_spread_inside_the_window(self, page: Page) -> None:
        boxes = page.evaluate(PLACES)
        assert all(0 < x < 1200 and 0 < y < 800 for x, y in boxes)
        assert len({(round(x), round(y)) for x, y in boxes}) == 5

    def test_better_linked_entities_are_larger(self, page: Page) -> None:
        sizes = page.evaluate("[...document.querySelectorAll('circle')].map((c) => Number(c.getAttribute('r')))")
        assert sizes[0] == max(sizes) > min(sizes)

    def test_a_click_shows_the_memories(self, page: Page) -> None:
        page.press("g.node[aria-label='Ana'] circle")
        words = page.evaluate("document.getElementById('panel').innerText")
        for part in ("Ana lives in Lisbon.", EVIL, "Ana – loves → Lisbon", "张三 (2)", "3 memories"):
            assert part in words

    def test_the_search_fades_the_others(self, page: Page) -> None:
        page.press("#search")
        page.type("LISB")
        shown = "[...document.querySelectorAll('g.node:not(.faded)')].map((n) => n.getAttribute('aria-label'))"
        assert page.evaluate(shown) == ["Lisbon"]
        page.evaluate("search.value = ''; search.oninput()")
        assert len(page.evaluate(shown)) == 5

    def test_an_entity_is_dragged_and_the_rest_stays(self, page: Page) -> None:
        before = page.evaluate(PLACES)
        (x, y), *others = before
        page.drag((x + 6, y + 6), (x + 46, y + 66))
        after = page.evaluate(PLACES)
        assert after[0] == pytest.approx([x + 40, y + 60], abs=12)
        assert after[1:] == [pytest.approx(each, abs=1) for each in others]

    def test_the_wheel_zooms(self, page: Page) -> None:
        before = page.evaluate("view.scale")
        page.call("Input.dispatchMouseEvent", type="mouseWheel", x=300, y=300, deltaX=0, deltaY=-200)
        page.wait(f"view.scale > {before}")

    def test_dark_and_light_change_places(self, page: Page) -> None:
        back = "getComputedStyle(document.body).backgroundColor"
        before = page.evaluate(back)
        page.press("#theme")
        assert page.evaluate(back) != before

    def test_names_never_become_markup_and_nothing_is_fetched(self, page: Page) -> None:
        assert page.evaluate("typeof window.hacked") == "undefined"
        assert page.evaluate("document.querySelectorAll('img, script').length") == 2
        assert page.evaluate("document.title") == f"Ana {EVIL}"
        assert page.errors == []
        assert [request for request in page.requests if not request.endswith("/graph.html")] == []
