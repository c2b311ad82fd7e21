"""The arguments of the eight code tools, as the model sees them."""

from typing import Annotated, Literal

from pydantic import Field

from idea_explorer.agent.toolset import Arguments, MayBeBlank, Rule

_MAX_TEXT = 1_000  # for patterns and names; longer ones are mistakes

FilePath = Annotated[
    str,
    Field(min_length=1, description="Path of the file, relative to the root of the repository"),
    Rule("non-empty path relative to the root"),
]
Scope = Annotated[
    str,
    Field(description="Only in this folder or file, relative to the root; default: everywhere"),
    Rule("path relative to the root"),
]
Page = Annotated[
    int, Field(ge=1, description="Page of the results, from 1"), Rule("integer from 1")
]
Line = Annotated[int, Field(ge=1), Rule("integer from 1")]
Description = Annotated[
    str,
    Field(
        min_length=1,
        max_length=2_000,
        description="What changes and why, for the person who decides",
    ),
    Rule("non-empty text that says what changes and why"),
]


class ReadFile(Arguments):
    path: FilePath
    line_start: Annotated[Line, Field(description="First line to read, from 1")] = 1
    line_end: Annotated[Line | None, Field(description="Last line to read, included")] = None


class ListFiles(Arguments):
    path: Annotated[
        str,
        Field(min_length=1, description="Folder, relative to the root; '.' is the root"),
        Rule("folder relative to the root, '.' for the root"),
    ]
    recursive: Annotated[
        bool, Field(description="Also list everything below"), Rule("true or false")
    ] = False
    page: Page = 1


class SearchFiles(Arguments):
    pattern: Annotated[
        str,
        Field(
            min_length=1,
            max_length=_MAX_TEXT,
            description="Regular expression (RE2), matched within single lines; (?i) ignores case",
        ),
        Rule("non-empty regular expression"),
    ]
    path: Scope = "."
    filePattern: Annotated[  # noqa: N815  the contract's name
        str | None,
        Field(
            max_length=_MAX_TEXT, description="Only in files whose name matches, e.g. *.py, src/**"
        ),
        Rule("file name pattern such as *.py"),
    ] = None


class FindFiles(Arguments):
    pattern: Annotated[
        str,
        Field(
            min_length=1,
            max_length=_MAX_TEXT,
            description="* and ? stay within one folder, ** spans folders, e.g. **/*.test.ts",
        ),
        Rule("non-empty file name pattern"),
    ]
    path: Scope = "."
    page: Page = 1


class FindDefinition(Arguments):
    symbol: Annotated[
        str,
        Field(min_length=1, max_length=_MAX_TEXT, description="Name, or Class.method"),
        Rule("non-empty name"),
    ]
    type: Annotated[
        Literal["function", "class", "variable", "import"] | None,
        Field(description="Only this kind; methods are functions, interfaces and structs classes"),
        Rule("function, class, variable or import"),
    ] = None


class FindImporters(Arguments):
    modulePath: Annotated[  # noqa: N815  the contract's name
        str,
        Field(
            min_length=1,
            max_length=_MAX_TEXT,
            description="Path (src/utils/dates.ts), dotted name (app.models) or symbol (formatDate)",
        ),
        Rule("non-empty path, dotted name or symbol"),
    ]


class EditFile(Arguments):
    path: FilePath
    content: Annotated[
        str,
        Field(min_length=1, description="The COMPLETE new content of the whole file"),
        Rule("the complete new content of the whole file"),
    ]
    description: Description


class CreateFile(Arguments):
    path: FilePath
    content: Annotated[
        str,
        MayBeBlank(),
        Field(description="The complete content of the new file; may be empty"),
        Rule("the complete content of the new file"),
    ]
    description: Description
