"""What a name means where it is used: beside it, through imports and re-exports, else by its name."""

import pytest


def targets(sources, symbol: str, file: str, **more) -> list[tuple]:
    """Where a symbol leads without jedi: file, line and confidence; or the module outside."""
    answer = sources.ask(lambda code: code.resolve_symbol(symbol, file, precise=False, **more))
    return [
        (each.get("file", each.get("module")), each.get("line"), each["confidence"]) for each in answer["definitions"]
    ]


@pytest.fixture
def package(sources):
    sources.write(
        {
            "pkg/__init__.py": "from .api import connect as join\nfrom .models import *\n",
            "pkg/api.py": "from .deep.net import connect\n",
            "pkg/deep/__init__.py": "",
            "pkg/deep/net.py": "import os\n\n\ndef connect():\n    pass\n",
            "pkg/models.py": "class Model:\n    def save(self):\n        pass\n\n\nclass Other:\n    def save(self):\n        pass\n",
            "main.py": "import pkg\nimport os.path\nfrom pkg import join, Model\nfrom pkg.models import Other as Another\nfrom gone import away\n\njoin()\nModel().save()\n",
        }
    )
    return sources


@pytest.mark.parametrize(
    ("symbol", "found"),
    [
        ("join", [("pkg/deep/net.py", 4, "syntactic")]),
        ("pkg.join", [("pkg/deep/net.py", 4, "syntactic")]),
        ("pkg.models.Model", [("pkg/models.py", 1, "syntactic")]),
        ("Model", [("pkg/models.py", 1, "syntactic")]),
        ("Model.save", [("pkg/models.py", 2, "syntactic")]),
        ("Another.save", [("pkg/models.py", 7, "syntactic")]),
        ("pkg", [("pkg/__init__.py", 1, "syntactic")]),
        ("os", [("os.path", None, "syntactic")]),
        ("away", [("gone", None, "syntactic")]),
        ("save", [("pkg/models.py", 2, "text"), ("pkg/models.py", 7, "text")]),
    ],
)
def test_python_without_jedi(package, symbol, found) -> None:
    assert targets(package, symbol, "main.py") == found


def test_the_way_is_told(package) -> None:
    answer = package.ask(lambda code: code.resolve_symbol("join", "main.py", precise=False))
    assert answer["definitions"][0]["via"] == ["main.py", "pkg/__init__.py", "pkg/api.py"]
    assert (answer["confidence"], answer["engine"]) == ("syntactic", "index")


def test_barrels_and_defaults(sources) -> None:
    sources.write(
        {
            "src/index.ts": "export * from './shapes';\nexport { Round as Circle } from './shapes/round';\n",
            "src/shapes/index.ts": "export * from './square';\n",
            "src/shapes/square.ts": "export class Square {\n  area(): number { return 1; }\n}\n",
            "src/shapes/round.ts": "export class Round {}\n",
            "src/single.ts": "export default function single() {}\n",
            "app.ts": "import { Square, Circle } from './src';\nimport one from './src/single';\nimport * as all from './src';\n",
        }
    )
    assert targets(sources, "Square", "app.ts") == [("src/shapes/square.ts", 1, "syntactic")]
    assert targets(sources, "Square.area", "app.ts") == [("src/shapes/square.ts", 2, "syntactic")]
    assert targets(sources, "Circle", "app.ts") == [("src/shapes/round.ts", 1, "syntactic")]
    assert targets(sources, "one", "app.ts") == [("src/single.ts", 1, "syntactic")]
    assert targets(sources, "all.Square", "app.ts") == [("src/shapes/square.ts", 1, "syntactic")]


def test_packages_that_are_folders(sources) -> None:
    sources.write(
        {
            "go.mod": "module example.com/app\n",
            "store/store.go": "package store\n\ntype Store struct{}\n",
            "store/open.go": "package store\n\nfunc Open() *Store { return nil }\n\nfunc (s *Store) Close() {}\n",
            "main.go": 'package main\n\nimport "example.com/app/store"\n\nfunc main() { store.Open().Close() }\n',
        }
    )
    assert targets(sources, "store.Open", "main.go") == [("store/open.go", 3, "syntactic")]
    assert targets(sources, "Store", "store/open.go") == [("store/store.go", 3, "syntactic")]
    assert targets(sources, "store.Store.Close", "main.go") == [("store/open.go", 5, "syntactic")]


def test_rust_c_and_java(sources) -> None:
    sources.write(
        {
            "src/lib.rs": "mod net;\nuse crate::net::Client;\nfn f(c: Client) {}\n",
            "src/net.rs": "pub struct Client;\nimpl Client {\n    pub fn send(&self) {}\n}\n",
            "main.c": '#include "list.h"\nint main(void) { return list_size(0); }\n',
            "list.h": "int list_size(void *list);\n",
            "a/App.java": "package a;\nimport b.Store;\nclass App { Store s; Near n; }\n",
            "a/Near.java": "package a;\nclass Near {}\n",
            "b/Store.java": "package b;\npublic class Store {}\n",
        }
    )
    assert targets(sources, "Client", "src/lib.rs") == [("src/net.rs", 1, "syntactic")]
    assert targets(sources, "Client::send", "src/lib.rs") == [("src/net.rs", 3, "syntactic")]
    assert targets(sources, "list_size", "main.c") == [("list.h", 1, "syntactic")]
    assert targets(sources, "Store", "a/App.java") == [("b/Store.java", 2, "syntactic")]
    assert targets(sources, "Near", "a/App.java") == [("a/Near.java", 2, "syntactic")]


def test_imports_in_a_circle_end(sources) -> None:
    sources.write(
        {
            "a.py": "from b import *\nfrom b import thing\n",
            "b.py": "from a import *\nfrom a import thing\n",
            "x.ts": "export * from './y';\nexport { q } from './y';\n",
            "y.ts": "export * from './x';\nexport { q } from './x';\n",
            "other.py": "def thing(): ...\n",
        }
    )
    assert targets(sources, "thing", "a.py") == [("other.py", 1, "text")]
    with pytest.raises(Exception, match="nothing called q is defined"):
        targets(sources, "q", "x.ts")


def test_a_thousand_star_imports_of_each_other_end_soon(sources) -> None:
    count = 60
    stars = "".join(f"from m{n} import *\n" for n in range(count))
    sources.write({f"m{n}.py": stars for n in range(count)} | {"end.py": "def wanted(): ...\n"})
    assert targets(sources, "wanted", "m0.py") == [("end.py", 1, "text")]
