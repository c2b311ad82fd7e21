"""Which file an import means, by the settings of a project and the rules of its language."""

from pathlib import Path

import pytest

from idea_explorer.domain.paths import RepositoryPath
from tests.fakes.code_repository import CodeBench, fill

PROJECT = {
    # a workspace: aliases, package names, exports, imports and index files
    "package.json": '{"private": true, "workspaces": ["packages/*"]}',
    "tsconfig.base.json": """{
        // shared by all
        "compilerOptions": {"baseUrl": ".", "paths": {"@core/*": ["packages/core/src/*"],}}
    }""",
    "packages/core/package.json": """{
        "name": "@acme/core",
        "exports": {
            ".": {"types": "./dist/index.d.ts", "import": "./dist/index.js"},
            "./dates": "./dist/time/dates.js",
            "./parts/*": "./dist/parts/*.js"
        },
        "imports": {"#internal": "./src/internal.ts", "#lib/*": "./src/lib/*.ts", "#*": "./src/*.ts"}
    }""",
    "packages/core/src/index.ts": "export * from './time/dates.js';\n",
    "packages/core/src/time/dates.ts": "export const now = 1;\n",
    "packages/core/src/parts/one.ts": "import { now } from '#internal';\nimport '#lib/two';\n",
    "packages/core/src/internal.ts": "import '#hidden';\n",
    "packages/core/src/hidden.ts": "",
    "packages/core/src/lib/two.ts": "",
    "packages/web/package.json": '{"name": "web", "main": "lib/main.js"}',
    "packages/web/tsconfig.json": '{"extends": "../../tsconfig.base"}',
    "packages/web/src/main.ts": (
        "import { now } from '@acme/core';\nimport '@acme/core/dates';\nimport '@acme/core/parts/one';\n"
        "import { x } from '@core/time/dates';\nimport 'packages/core/src/internal';\n"
    ),
    "packages/web/src/App.vue": "<script lang='ts'>\nimport { now } from '@core/index'\n</script>\n",
    "packages/web/src/uses.js": "const p = require.resolve('./main');\nrequire('..');\nimport 'react';\n",
    # crates of one workspace, one of which passes a name on
    "rust/core/Cargo.toml": '[package]\nname = "my-core"\nedition = "2021"\n',
    "rust/core/src/lib.rs": "mod store;\npub use store::Item;\n",
    "rust/core/src/store.rs": "pub struct Item;\nmod tests { use super::*; }\n",
    "rust/app/Cargo.toml": '[package]\nname = "app"\nedition = "2021"\n[[bin]]\npath = "run.rs"\n',
    "rust/app/run.rs": "mod cli;\nuse my_core::Item;\nuse serde::store;\n",
    "rust/app/cli.rs": "use crate::other;\nuse my_core as core;\n",
    # Go's module root
    "go/go.mod": "module example.com/team/shop\n",
    "go/shop.go": "package shop\n",
    "go/cart/cart.go": 'package cart\nimport (\n  "example.com/team/shop"\n  "encoding/json"\n)\n',
    "go/json/json.go": "package json\n",
    # headers of the same name
    "c/include/list.h": "",
    "c/one/list.h": "",
    "c/one/a.c": '#include "list.h"\n#include <list.h>\n#include <string.h>\n',
    "c/two/b.c": '#include "list.h"\n#include "../one/list.h"\n',
    "c/two/string.h": "",
    # classes within classes
    "java/a/b/Outer.java": "package a.b;\n",
    "java/c/Use.java": "import a.b.Outer.Inner.Deep;\nimport static a.b.Outer.make;\n",
    # a name of the standard library, and the same module at two roots
    "py/one/helpers.py": "",
    "py/one/run.py": "import helpers\nimport json\n",
    "py/two/helpers.py": "",
    "py/two/run.py": "import helpers\n",
    "py/two/json.py": "",
}  # fmt: skip


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> CodeBench:
    root = tmp_path_factory.mktemp("code")
    return CodeBench(root / "cache").over_folder(fill(root / "project", PROJECT))


@pytest.mark.parametrize(
    ("module_path", "importers"),
    [
        ("packages/core/src/index.ts", "packages/web/src/App.vue:2 packages/web/src/main.ts:1"),
        (
            "packages/core/src/time/dates.ts",
            "packages/core/src/index.ts:1 packages/web/src/main.ts:2 packages/web/src/main.ts:4",
        ),
        ("packages/core/src/parts/one.ts", "packages/web/src/main.ts:3"),
        ("packages/core/src/internal.ts", "packages/core/src/parts/one.ts:1 packages/web/src/main.ts:5"),
        ("packages/core/src/hidden.ts", "packages/core/src/internal.ts:1"),
        ("packages/core/src/lib/two.ts", "packages/core/src/parts/one.ts:2"),
        ("packages/web/src/main.ts", "packages/web/src/uses.js:1 packages/web/src/uses.js:2"),
        ("rust/core/src/store.rs", "rust/app/run.rs:2 rust/core/src/lib.rs:1 rust/core/src/lib.rs:2"),
        ("rust/core/src/lib.rs", "rust/app/cli.rs:2 rust/app/run.rs:2"),
        ("rust/app/cli.rs", "rust/app/run.rs:1"),
        ("rust/app/run.rs", "rust/app/cli.rs:1"),
        ("go/shop.go", "go/cart/cart.go:3"),
        ("go/json/json.go", ""),
        ("c/include/list.h", "c/two/b.c:1"),
        ("c/one/list.h", "c/one/a.c:1 c/one/a.c:2 c/two/b.c:2"),
        ("c/two/string.h", ""),
        ("java/a/b/Outer.java", "java/c/Use.java:1 java/c/Use.java:2"),
        ("py/one/helpers.py", "py/one/run.py:1"),
        ("py/two/helpers.py", "py/two/run.py:1"),
        ("py/two/json.py", ""),
    ],
)  # fmt: skip
def test_an_import_means_the_file_that_its_language_finds(
    bench: CodeBench, module_path: str, importers: str
) -> None:
    answer = bench.call("find_importers", modulePath=module_path)
    assert [f"{i['file']}:{i['line']}" for i in answer["importers"]] == importers.split()


def test_settings_that_cannot_be_read_do_no_harm(tmp_path: Path) -> None:
    files = {
        "package.json": "[" * 5_000,
        "a/package.json": '{"name": 3, "exports": [[[[[[[["./x"]]]]]]]], "imports": {"#a": null}}',
        "tsconfig.json": '{"extends": ["./tsconfig.json", 3], "compilerOptions": {"paths": {"@": 1}}}',
        "b/tsconfig.json": '{"extends": "../../../etc/passwd", "compilerOptions": {"baseUrl": "../.."}}',
        "Cargo.toml": "[package\n",
        "go.mod": "module\n",
        "a/a.ts": "import '@'; import '#a'; import '../../../../etc/passwd'; import './b';\n",
        "a/b.ts": "",
        "d/package.json": '{"main": "../e"}',
        "e/package.json": '{"main": "../d"}',
        "f.js": "require('./d');\n",
        "b/b.ts": "import 'a/b';\n",
        "c.rs": "use super::super::super::a::b;\n",
    }
    bench = CodeBench(tmp_path / "c").over_folder(fill(tmp_path / "p", files))
    answer = bench.call("find_importers", modulePath="a/b.ts")
    assert [i["file"] for i in answer["importers"]] == ["a/a.ts"]
    assert bench.call("find_importers", modulePath="c.rs")["ok"]


def test_an_approved_change_of_the_settings_counts(tmp_path: Path) -> None:
    files = {"tsconfig.json": "{}", "src/a.ts": "", "b.ts": "import '@app/a';\n"}
    bench = CodeBench(tmp_path / "c").over_folder(fill(tmp_path / "p", files))
    assert bench.call("find_importers", modulePath="src/a.ts")["total"] == 0
    settings = '{"compilerOptions": {"paths": {"@app/*": ["./src/*"]}}}'
    bench.workspace.approve(RepositoryPath("tsconfig.json"), settings)
    assert bench.call("find_importers", modulePath="src/a.ts")["total"] == 1
