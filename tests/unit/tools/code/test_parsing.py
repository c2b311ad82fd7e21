"""What the parsers find in each language, and that nothing they are given makes them fail."""

import textwrap
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from idea_explorer.domain.deadline import TimeLimitExceededError, run_with_time_limit
from idea_explorer.tools.code.parsing import grammar_of, language_of, parse, treesitter
from idea_explorer.tools.code.parsing.more_grammars import GRAMMARS
from idea_explorer.tools.code.parsing.treesitter import parse_with_grammar

SOURCES = {
    "python": """
        import os.path as p
        from . import views
        from ..base import Model as Base, Field

        LIMIT: int = 3
        A, (B, *_) = 1, (2, 3)

        class User(Base):
            name = Field()

            async def save(
                self, force=False
            ) -> None:
                local = 1
                def inner(): pass

        if LIMIT:
            def late(): import json
    """,
    "javascript": """
        import React, { useState as state } from 'react';
        import * as dates from './dates.js';
        export { format } from '../utils';
        const fs = require('fs');
        export default class View extends React.Component {
          title = 'x';
          render() { const local = 1; return null; }
        }
        export const load = async (id) => { await import('./lazy'); };
        function* walk() {}
        exports.helper = function () {};
        let count = 0;
        const { a, b: c = 1, ...rest } = load(), [d] = [];
        const { join, resolve: absolute } = require('path');
        const once = require('./once').default;
        setup(function () { const inside = require.resolve('./inside'), local = 1; });
    """,
    "typescript": """
        import type { User } from "@/models/user";
        import fs = require("fs");
        export interface Shape { area(): number }
        type Id = string | number;
        export enum Color { Red }
        abstract class Base { abstract draw(): void; private size: number = 1; }
        export function make<T>(value: T): T { return value; }
        namespace Inner { export const deep = 1; }
    """,
    "tsx": """
        import { Card } from './Card';
        export const Page: React.FC = () => <Card title="x" />;
        function Row(props: Props) { return <tr/>; }
    """,
    "go": """
        package main

        import (
            "fmt"
            store "example.com/team/app/pkg/store"
        )

        const Limit, Depth = 3, 4
        var count int

        type Server struct { name string }
        type Handler interface { Serve() }

        func New(name string) *Server { local := 1; _ = local; return nil }
        func (s *Server) Run(port int) error { return nil }
    """,
    "rust": """
        use std::{fmt, io::{self, Read as R}};
        use crate::store::Item;
        mod helpers;
        pub const LIMIT: usize = 3;
        pub struct Server<T> { name: T }
        pub trait Run { fn run(&self); }
        enum Kind { A }
        impl<T> Server<T> { pub fn new(name: T) -> Self { let local = 1; todo!() } }
        macro_rules! shout { () => {} }
    """,
    "java": """
        package app;
        import java.util.List;
        import static app.Util.join;
        import app.models.*;
        public class Server extends Base implements Runnable {
            private static final int LIMIT = 3;
            enum Kind { A, B }
            public Server(String name) { int local = 1; }
            @Override
            public void run() {}
            record Point(int x) {}
        }
        interface Shape { double area(); }
    """,
    "c": """
        #include <stdio.h>
        #include "../lib/list.h"
        #define LIMIT 3
        #define MAX(a, b) ((a) > (b) ? (a) : (b))
        typedef struct node { int value; } node_t;
        enum kind { A, B };
        static int count = 0;
        extern int elsewhere;
        struct node *table[4];
        int declared(void);
        static char *name_of(struct node *n) { int local = 1; return 0; }
        int main(void) { return 0; }
    """,
    "cpp": """
        #include "../lib/list.hpp"
        namespace shop {
        enum class Kind { A };
        class Server : public Base {
         public:
          explicit Server(int port) {}
          void run() const;
          int port_;
        };
        int Server::count() { int local = 1; return local; }
        using Id = int;
        }
    """,
    "csharp": """
        using System.Text;
        namespace Shop;
        public enum Kind { A }
        public interface IRun { void Run(); }
        public class Server : IRun {
            private int port;
            public string Name { get; set; }
            public Server(int port) { var local = 1; }
            public void Run() {}
        }
    """,
    "kotlin": """
        import shop.store.Item
        enum class Kind { A }
        class Server(val port: Int) : Base() {
            val name = "x"
            fun run(): Int { val local = 1; return local }
        }
        object Single
        fun top() = 1
    """,
    "php": """
        <?php
        use Shop\\Store\\Item;
        require_once 'lib/list.php';
        interface Runs { public function run(); }
        class Server implements Runs {
            const LIMIT = 3;
            private $port;
            public function run() { $local = 1; }
        }
        function top() {}
    """,
    "ruby": """
        require 'json'
        require_relative '../lib/list'
        module Shop
          LIMIT = 3
          class Server < Base
            def self.make; end
            def run(port)
              local = 1
            end
          end
        end
    """,
}
DEFINITIONS = {
    "cpp": "Kind A Server Server run port_ count Id",
    "csharp": "Kind A IRun Run Server port Name Server Run",
    "kotlin": "Kind A Server port name run Single top",
    "php": "Runs run Server LIMIT port run top",
    "ruby": "Shop LIMIT Server make run",
    "python": "LIMIT A B User name save inner late",
    "javascript": "View title render load walk helper count a c rest d",
    "typescript": "Shape area Id Color Red Base draw size make deep",
    "tsx": "Page Row",
    "go": "Limit Depth count Server name Handler Serve New Run",
    "rust": "LIMIT Server name Run run Kind A new shout",
    "java": "Server LIMIT Kind A B Server run Point Shape area",
    "c": "LIMIT MAX node value node_t kind A B count table name_of main",
}
IMPORTS = {
    "cpp": "2:lib/list",
    "csharp": "System System/Text",
    "kotlin": "shop/store shop/store/Item",
    "php": "Shop/Store Shop/Store/Item lib/list",
    "ruby": "json 2:lib/list",
    "python": "os/path 1: 1:views 2:base 2:base/Model 2:base/Field json",
    "javascript": (
        "react react/React react/useState 1:dates 1:dates/dates 2:utils 2:utils/format fs 1:lazy"
        " path path/join path/resolve 1:once 1:inside"
    ),
    "typescript": "@/models/user @/models/user/User fs",
    "tsx": "1:Card 1:Card/Card",
    "go": "fmt example.com/team/app/pkg/store",
    "rust": "std std/fmt std/io std/io/Read crate/store crate/store/Item 1:helpers",
    "java": "java/util java/util/List app app/Util app/Util/join app/models",
    "c": "stdio 2:lib/list",
}


def source(grammar: str) -> bytes:
    return textwrap.dedent(SOURCES[grammar]).encode()


def names(grammar: str, text: bytes) -> list[str]:
    return [definition.name for definition in parse(grammar, text).definitions]


@pytest.mark.parametrize("grammar", SOURCES)
def test_definitions_are_found_and_locals_are_not(grammar: str) -> None:
    assert sorted(names(grammar, source(grammar))) == sorted(DEFINITIONS[grammar].split())


def test_a_component_has_the_symbols_of_its_scripts() -> None:
    component = b"""<template><p>function no() {}</p></template>
<script>
import { b } from './b.js'
</script>
<script setup lang="ts">
interface Props { size: number }
const load = (): void => {}
</script>
<style>a { color: red }</style>
"""
    for grammar in ("vue", "svelte"):
        parsed = parse(grammar, component)
        found = [(d.name, d.line) for d in parsed.definitions]
        assert found == [("Props", 6), ("size", 6), ("load", 7)]
        assert next((i.spec, i.line) for i in parsed.imports) == ("./b.js", 3)


@pytest.mark.parametrize("grammar", SOURCES)
def test_imports_are_found_with_what_they_name(grammar: str) -> None:
    found = {
        f"{imported.level}:{imported.target}" if imported.level else imported.target
        for imported in parse(grammar, source(grammar)).imports
    }
    assert found == set(IMPORTS[grammar].split())


def test_every_grammar_that_a_file_name_leads_to_is_there() -> None:
    endings = "py pyi js jsx mjs ts tsx go rs java c h cpp cs kt php rb"
    assert {grammar_of(f"a.{ending}") for ending in endings.split()} == set(GRAMMARS)
    assert grammar_of("a.vue") == "vue"  # of which the scripts are parsed
    assert grammar_of("a.swift") is None


@pytest.mark.parametrize(
    ("grammar", "name", "kind", "line", "signature", "container"),
    [
        ("python", "save", "function", 12, "async def save( self, force=False ) -> None", "User"),
        ("python", "User", "class", 9, "class User(Base)", ""),
        ("python", "LIMIT", "variable", 6, "LIMIT: int = 3", ""),
        ("javascript", "View", "class", 6, "export default class View extends React.Component", ""),
        ("javascript", "load", "function", 10, "export const load = async (id) =>", ""),
        ("javascript", "render", "function", 8, "render()", "View"),
        ("typescript", "make", "function", 8, "export function make<T>(value: T): T", ""),
        ("typescript", "deep", "variable", 9, "deep = 1; }", "Inner"),
        ("go", "Run", "function", 16, "func (s *Server) Run(port int) error", "Server"),
        ("go", "Server", "class", 12, "type Server struct { name string }", ""),
        ("rust", "new", "function", 9, "pub fn new(name: T) -> Self", "Server"),
        ("java", "run", "function", 11, "@Override public void run()", "Server"),
        ("c", "name_of", "function", 12, "static char *name_of(struct node *n)", ""),
    ],
)
def test_a_definition_is_described(
    grammar: str, name: str, kind: str, line: int, signature: str, container: str
) -> None:
    found = [d for d in parse(grammar, source(grammar)).definitions if d.name == name]
    described = [(d.kind, d.line, d.signature, d.container) for d in found]
    assert (kind, line, signature, container) in described


def test_a_type_statement_is_read_by_any_python() -> None:
    """Python's own parser knows it from 3.12 on."""
    (found,) = parse("python", b"type Pair = tuple[int, int]\n").definitions
    assert (found.name, found.kind, found.line) == ("Pair", "class", 1)


def test_python_that_its_own_parser_refuses_is_still_read() -> None:
    old = (
        b"import sets\nfrom .base import X as Y\nclass Old:\n    def go(self):\n        print 'x'\n"
    )
    parsed = parse("python", old)
    assert [d.name for d in parsed.definitions] == ["Old", "go"]
    assert [(i.target, i.level, i.bound) for i in parsed.imports] == [
        ("sets", 0, ""),
        ("base", 1, ""),
        ("base/X", 1, "Y"),
    ]


@pytest.mark.parametrize(
    ("grammar", "text", "expected"),
    [
        ("javascript", b"function whole() {}\nfunction broken( {\nclass After {}\n", "whole"),
        ("go", b"package a\nfunc Whole() {}\nfunc (\n", "Whole"),
        ("rust", b"fn whole() {}\nfn broken( -> {\n", "whole"),
        ("java", b"class Whole { void run() {} \n", "run"),
    ],
)
def test_a_file_with_errors_gives_what_is_whole(grammar: str, text: bytes, expected: str) -> None:
    assert expected in names(grammar, text)


@pytest.mark.parametrize(
    "text",
    [
        b"(" * 5_000,
        b"x = " + b"-" * 20_000 + b"1",
        b"a" + b".a" * 20_000,
        b"\xff\xfe\x00",
        b"# coding: no-such-codec\nx = 1",
        b"",
    ],
    ids=["parentheses", "signs", "attributes", "bytes", "codec", "empty"],
)
def test_python_that_no_parser_likes_has_no_symbols_and_does_no_harm(text: bytes) -> None:
    assert parse("python", text).imports == ()


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(sorted(GRAMMARS)), st.data())
def test_a_mutilated_file_never_fails(grammar: str, data: st.DataObject) -> None:
    text = source(grammar)
    at = data.draw(st.integers(0, len(text)))
    junk = data.draw(st.binary(max_size=12))
    parse(grammar, text[:at] + junk + text[at + len(junk) :])
    parse_with_grammar(grammar, junk + text[at:])


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("src/app.py", "python"),
        ("App.TSX", "typescript"),
        ("Dockerfile", "dockerfile"),
        ("build/Makefile", "makefile"),
        ("package.json", "json"),
        ("LICENSE", "text"),
        (".env", "text"),
    ],
)
def test_a_file_s_language_is_told_by_its_name(path: str, language: str) -> None:
    assert language_of(path) == language


def test_a_source_in_many_parts_has_every_symbol_once() -> None:
    functions = "".join(f"function f{number}() {{ return {number}; }}\n" for number in range(2_000))
    source = f"class Outer {{ method() {{}} }}\nconst all = () => {{\n{functions}}};\n"
    found = parse("javascript", source.encode()).definitions
    assert len(source) > 2 * treesitter.QUERY_BYTES
    assert [d.name for d in found] == [
        "Outer", "method", "all", *(f"f{number}" for number in range(2_000)),
    ]  # fmt: skip


@pytest.mark.parametrize("grammar", ["javascript", "python"])
def test_the_symbols_of_a_large_file_are_found_to_its_end(grammar: str) -> None:
    line = "def f{}(): return 1\n" if grammar == "python" else "function f{}() {{ return 1; }}\n"
    rest = ("#" if grammar == "python" else "//") + "-" * 998 + "\n"
    source = "".join(line.format(number) + rest for number in range(500)).encode()

    found = parse(grammar, source).definitions

    assert treesitter.MAX_SOURCE * 0.95 < len(source) < treesitter.MAX_SOURCE
    assert [d.name for d in found] == [f"f{number}" for number in range(500)]


def test_of_a_large_file_that_takes_too_long_the_beginning_is_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(treesitter, "FILE_SECONDS", 0.5)
    monkeypatch.setattr(treesitter, "MAX_SLOW_SOURCE", 5_000)
    source = b"package a\nfunc first() {}\n" + b"type a struct{a " * 30_000

    found = parse("go", source).definitions

    assert "first" in [d.name for d in found]


def test_a_file_that_takes_too_long_from_its_beginning_has_no_symbols(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(treesitter, "FILE_SECONDS", 0.1)
    source = b"function a() {}\n" + b"//\n" * 30_000 + b"/"  # the parser tries each comment again

    assert parse("javascript", source).definitions == ()


def test_a_call_that_nobody_waits_for_stops_in_a_large_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(treesitter, "FILE_SECONDS", 0.2)
    stopped = threading.Event()

    def work() -> None:
        try:
            parse("go", b"type a struct{a " * 30_000)
        except TimeLimitExceededError:
            stopped.set()

    with pytest.raises(TimeLimitExceededError):
        run_with_time_limit(work, 0.05, name="work")
    assert stopped.wait(60)


def test_only_the_beginning_of_a_huge_file_is_looked_at() -> None:
    source = b"function a() {}\n" + b"//\n" * treesitter.MAX_SOURCE + b"function b() {}\n"
    assert [d.name for d in parse("javascript", source).definitions] == ["a"]
