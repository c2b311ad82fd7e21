"""Which imports mean a module that a model asks about."""

from pathlib import Path

import pytest

from tests.fakes.code_repository import CodeBench, fill

PROJECT = {
    "src/app/__init__.py": "",
    "src/app/models.py": "from . import views\nclass User: pass\n",
    "src/app/views.py": "from .models import User as U\nimport json\n",
    "src/app/sub/__init__.py": "from .. import models\n",
    "src/app/sub/deep.py": "from ..models import (\n    User,\n)\nfrom app import models\n",
    "src/app/json.py": "",
    "tool.py": "import app.models as m, app.views\n",
    "other/models.py": "",
    "other/use.py": "from .models import Thing\n",
    "web/utils/dates.ts": "export const format = 1;\n",
    "web/utils/index.ts": "export * from './dates';\n",
    "web/pages/home.tsx": "import { format } from '../utils/dates';\nimport x from '../utils';\n",
    "web/pages/list.js": "const d = require('@/utils/dates.js');\nimport 'dates';\n",
    "web/other/dates.ts": "import './dates.css';\n",
    "web/other/use.ts": "import { other } from './dates';\n",
    "web/user.service.ts": "",
    "web/main.ts": "import { U } from './user.service';\nimport y from '.';\n",
    "pkg/store/store.go": "package store\n",
    "cmd/main.go": 'package main\nimport "example.com/app/pkg/store"\n',
    "rust/src/store/mod.rs": "pub struct Item;\n",
    "rust/src/main.rs": "mod store;\nuse crate::store::{Item, other::Thing};\n",
    "rust/src/web.rs": "mod pages;\nuse super::store::Item;\nuse self::pages::*;\n",
    "rust/src/web/pages.rs": "use super::super::store;\nuse serde::store;\n",
    "java/src/main/java/com/acme/User.java": "class User {}\n",
    "java/src/main/java/com/acme/web/Page.java": "import com.acme.User;\nimport com.acme.*;\n",
    "c/lib/list.h": "",
    "c/main.c": '#include "lib/list.h"\n#include <stdio.h>\n',
}

MODELS_IMPORTERS = (
    "src/app/sub/__init__.py:1 src/app/sub/deep.py:1 src/app/sub/deep.py:4"
    " src/app/views.py:1 tool.py:1"
)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> CodeBench:
    root = tmp_path_factory.mktemp("code")
    return CodeBench(root / "cache").over_folder(fill(root / "project", PROJECT))


@pytest.mark.parametrize(
    ("module_path", "importers"),
    [
        ("src/app/models.py", MODELS_IMPORTERS),
        ("app.models", MODELS_IMPORTERS),
        ("./app/views", "src/app/models.py:1 tool.py:1"),
        ("other/models.py", "other/use.py:1"),
        # Python's own json is not a module of the package app
        ("src/app/json.py", ""),
        ("src/app/__init__.py", "src/app/models.py:1 src/app/sub/__init__.py:1 src/app/sub/deep.py:4"),
        ("web/utils/dates.ts", "web/pages/home.tsx:1 web/pages/list.js:1 web/utils/index.ts:1"),
        ("../../utils/dates", "web/pages/home.tsx:1 web/pages/list.js:1 web/utils/index.ts:1"),
        ("web/utils/index.ts", "web/pages/home.tsx:2"),
        ("web/other/dates.ts", "web/other/use.ts:1"),
        ("format", "web/pages/home.tsx:1"),
        ("User", "java/src/main/java/com/acme/web/Page.java:1 src/app/sub/deep.py:1 src/app/views.py:1"),
        ("app.models.User", "src/app/sub/deep.py:1 src/app/views.py:1"),
        ("user.service", "web/main.ts:1"),
        ("pkg/store", "cmd/main.go:2"),
        ("pkg/store/store.go", "cmd/main.go:2"),
        (
            "rust/src/store/mod.rs",
            "rust/src/main.rs:1 rust/src/main.rs:2 rust/src/web.rs:2 rust/src/web/pages.rs:1",
        ),
        ("rust/src/web/pages.rs", "rust/src/web.rs:1 rust/src/web.rs:3"),
        ("store::Item", "rust/src/main.rs:2 rust/src/web.rs:2"),
        ("java/src/main/java/com/acme/User.java", "java/src/main/java/com/acme/web/Page.java:1"),
        (
            "com.acme",
            "java/src/main/java/com/acme/web/Page.java:1 java/src/main/java/com/acme/web/Page.java:2",
        ),
        ("c/lib/list.h", "c/main.c:1"),
        ("no/such/module.py", ""),
        ("..", ""),
        ("./", ""),
    ],
)  # fmt: skip
def test_importers_are_found_from_the_end_of_the_path(
    bench: CodeBench, module_path: str, importers: str
) -> None:
    answer = bench.call("find_importers", modulePath=module_path)
    assert answer["ok"]
    assert [f"{i['file']}:{i['line']}" for i in answer["importers"]] == importers.split()
    assert answer["total"] == len(importers.split())


def test_a_statement_over_several_lines_is_shown_on_one(bench: CodeBench) -> None:
    answer = bench.call("find_importers", modulePath="app.models.User")
    assert answer["importers"][0]["statement"] == "from ..models import ( User, )"


def test_a_long_list_is_cut_and_its_total_is_not(tmp_path: Path) -> None:
    files = {f"m{number}.py": "import core\n" for number in range(230)}
    bench = CodeBench(tmp_path / "cache").over_folder(fill(tmp_path / "project", files))
    answer = bench.call("find_importers", modulePath="core")
    assert (len(answer["importers"]), answer["total"]) == (200, 230)
