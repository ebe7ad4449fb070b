"""Where imports lead, language by language, and that none leads out."""

import pytest

from toolcrib.codeindex.modules import lead


def leads(sources, path: str) -> dict[str, tuple[str, ...]]:
    """Of each import of a file, by its module: all files."""
    tree = sources.tree()
    found: dict[str, tuple[str, ...]] = {}
    for what in tree.view.imports(path):
        found[what.module] = tuple(dict.fromkeys((*found.get(what.module, ()), *lead(tree, path, what).all)))
    return found


def test_python(sources) -> None:
    sources.write(
        {
            "src/app/__init__.py": "",
            "src/app/core/__init__.py": "from .call import Call\n",
            "src/app/core/call.py": "class Call: ...\n",
            "src/app/json.py": "",
            "src/app/main.py": "import json\nimport app.core.call as c\nfrom . import core, json as own\nfrom .core import call\nfrom ..app.core.call import Call\nfrom app import nothing\nimport requests\nfrom space.inner import leaf\n",
            "tests/test_main.py": "from app.core import call\nimport helper\n",
            "tests/helper.py": "",
            "src/space/inner/leaf.py": "",
        }
    )
    assert leads(sources, "src/app/main.py") == {
        "json": (),
        "app.core.call": ("src/app/core/call.py",),
        ".": ("src/app/__init__.py", "src/app/core/__init__.py", "src/app/json.py"),
        ".core": ("src/app/core/__init__.py", "src/app/core/call.py"),
        "..app.core.call": ("src/app/core/call.py",),
        "app": ("src/app/__init__.py",),
        "requests": (),
        "space.inner": ("src/space/inner/leaf.py",),
    }
    assert leads(sources, "tests/test_main.py") == {
        "app.core": ("src/app/core/__init__.py", "src/app/core/call.py"),
        "helper": ("tests/helper.py",),
    }


def test_javascript_and_typescript(sources) -> None:
    sources.write(
        {
            "tsconfig.json": '{ // comments\n "compilerOptions": {"baseUrl": ".", "paths": {"@lib/*": ["src/lib/*"],},}, }',
            "src/index.ts": "import {a} from './a';\nimport b from './b.js';\nexport * from './dir';\nimport '@lib/deep';\nimport x from 'react';\nimport y from '@me/other';\nimport z from '@me/other/more';\n",
            "src/a.tsx": "export const a = 1;\n",
            "src/b.ts": "export default 1;\n",
            "src/dir/index.ts": "export const d = 1;\n",
            "src/lib/deep.ts": "export const e = 1;\n",
            "packages/other/package.json": '{"name": "@me/other", "main": "./dist/index.js", "source": "src/entry.ts"}',
            "packages/other/src/entry.ts": "export default 2;\n",
            "packages/other/src/more.ts": "export default 2;\n",
            "packages/other/more/package.json": '{"main": "dist/x.js"}',
            "packages/other/deep/use.ts": "import '@me/other';\nimport '..';\n",
            "old.js": "const a = require('./src/b');\n",
        }
    )
    assert leads(sources, "src/index.ts") == {
        "./a": ("src/a.tsx",),
        "./b.js": ("src/b.ts",),
        "./dir": ("src/dir/index.ts",),
        "@lib/deep": ("src/lib/deep.ts",),
        "react": (),
        "@me/other": ("packages/other/src/entry.ts",),
        "@me/other/more": ("packages/other/src/more.ts",),
    }
    assert leads(sources, "packages/other/deep/use.ts") == {
        "@me/other": ("packages/other/src/entry.ts",),
        "..": ("packages/other/src/entry.ts",),
    }
    assert leads(sources, "old.js") == {"./src/b": ("src/b.ts",)}


def test_go(sources) -> None:
    sources.write(
        {
            "go.mod": "module example.com/app\n\ngo 1.22\n",
            "main.go": 'package main\n\nimport (\n\t"fmt"\n\t"example.com/app/internal/store"\n)\n',
            "fmt/own.go": "package fmt\n",
            "internal/store/store.go": "package store\n\nfunc Open() {}\n",
            "internal/store/store_test.go": "package store\n",
        }
    )
    assert leads(sources, "main.go") == {"fmt": (), "example.com/app/internal/store": ("internal/store/store.go",)}


def test_rust(sources) -> None:
    sources.write(
        {
            "src/lib.rs": "mod net;\nmod util;\nuse crate::net::http::Client;\n",
            "src/net/mod.rs": "pub mod http;\nuse super::util::join;\n",
            "src/net/http.rs": "use std::io;\nuse crate::util;\npub struct Client;\n",
            "src/util.rs": "pub fn join() {}\n",
        }
    )
    assert {file for files in leads(sources, "src/lib.rs").values() for file in files} == {
        "src/net/mod.rs",
        "src/net/http.rs",
        "src/util.rs",
    }
    assert {file for files in leads(sources, "src/net/mod.rs").values() for file in files} == {
        "src/net/http.rs",
        "src/util.rs",
    }
    assert {file for files in leads(sources, "src/net/http.rs").values() for file in files} == {"src/util.rs"}


def test_c_ruby_bash(sources) -> None:
    sources.write(
        {
            "src/a.c": '#include "a.h"\n#include <lib/b.h>\n#include <stdio.h>\n',
            "src/a.h": "",
            "include/lib/b.h": "",
            "lib/thing.rb": "require_relative 'thing/part'\nrequire 'json'\nrequire 'thing/other'\n",
            "lib/thing/part.rb": "",
            "lib/thing/other.rb": "",
            "run.sh": '. ./common.sh\nsource "lib/more.sh"\n',
            "common.sh": "",
            "lib/more.sh": "",
        }
    )
    assert leads(sources, "src/a.c") == {"a.h": ("src/a.h",), "lib/b.h": ("include/lib/b.h",), "stdio.h": ()}
    assert set(leads(sources, "lib/thing.rb").values()) == {("lib/thing/part.rb",), (), ("lib/thing/other.rb",)}
    assert set(leads(sources, "run.sh").values()) == {("common.sh",), ("lib/more.sh",)}


def test_java_csharp_php(sources) -> None:
    sources.write(
        {
            "src/main/java/com/me/App.java": "package com.me;\nimport com.me.store.Store;\nimport java.util.List;\nimport static com.me.store.Keys.ONE;\n",
            "src/main/java/com/me/store/Store.java": "package com.me.store;\npublic class Store {}\n",
            "src/main/java/com/me/store/Keys.java": "package com.me.store;\npublic class Keys { public static int ONE = 1; }\n",
            "App.cs": "using Me.Data;\nusing System;\nnamespace Me { class App {} }\n",
            "Store.cs": "namespace Me.Data { public class Store {} }\n",
            "php/index.php": "<?php\nuse Me\\Data\\Store;\nuse Other\\Thing;\n",
            "php/lib/Data/Store.php": "<?php\nnamespace Me\\Data;\nclass Store {}\n",
        }
    )
    files = {file for files in leads(sources, "src/main/java/com/me/App.java").values() for file in files}
    assert files == {"src/main/java/com/me/store/Store.java", "src/main/java/com/me/store/Keys.java"}
    assert {file for files in leads(sources, "App.cs").values() for file in files} == {"Store.cs"}
    assert {file for files in leads(sources, "php/index.php").values() for file in files} == {"php/lib/Data/Store.php"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a/x.py", "from ........ import secret\nfrom .....secret import x\n"),
        ("a/x.js", "import '../../../secret';\nimport '/../../secret';\n"),
        ("a/x.c", '#include "../../../secret.h"\n'),
        ("a/x.sh", "source ../../../secret.sh\n"),
    ],
)
def test_nothing_leads_out(sources, name, text) -> None:
    for ending in ("py", "js", "h", "sh"):
        (sources.root.parent / f"secret.{ending}").write_text("SECRET")
    sources.write({name: text})
    assert set(leads(sources, name).values()) <= {()}


def test_a_hostile_manifest_ends_soon(sources) -> None:
    """Text made for a regular expression to look at again and again; and JSON as deep as it is long."""
    for text in ("/*" * 100_000, '"\\' * 100_000, "[" * 200_000, ',"' * 100_000):
        sources.write({"tsconfig.json": text, "a.ts": "import 'alias/x';\n"})
        assert leads(sources, "a.ts") == {"alias/x": ()}
