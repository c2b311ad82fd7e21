"""The queries for each tree-sitter grammar.

@function, @class and @variable mark a definition with its @name; @scope is only a container of others,
@locals a function without a name, and @container is a method's type if the method is not inside it. @import
marks a statement with its @module, and the imported @symbol with its @alias, if any; @_call is the function
that is called to import, and has to be one of IMPORT_CALLS.
"""

from collections.abc import Callable

from idea_explorer.domain.dataclass import dataclass
from idea_explorer.tools.code.parsing.modules import (
    ModuleReference,
    go_package,
    include_file,
    java_name,
    path_module,
    python_module,
    rust_uses,
)

# A long query takes a tenth of a second to compile, during which no other thread runs; in parts, it does not.
PART_END = ";;;"
IMPORT_CALLS = frozenset({"require", "require.resolve", "require_relative"})


@dataclass(frozen=True, slots=True)
class Grammar:
    """`package` holds the grammar, `function` gives it; `names` reads the text of a @module."""

    package: str
    query: str
    names: Callable[[str], list[ModuleReference]]
    function: str = "language"


# The ways to write `{a, b: c, ...d} = ` and `[a, b = 1] = `, two levels deep.
_PATTERN = """[
  (identifier) @name
  (object_pattern [
    (shorthand_property_identifier_pattern) @name
    (object_assignment_pattern left: (shorthand_property_identifier_pattern) @name)
    (rest_pattern (identifier) @name)
    (pair_pattern value: [
      (identifier) @name
      (assignment_pattern left: (identifier) @name)
      (object_pattern [
        (shorthand_property_identifier_pattern) @name
        (object_assignment_pattern left: (shorthand_property_identifier_pattern) @name)
        (pair_pattern value: (identifier) @name)
      ])
    ])
  ])
  (array_pattern [
    (identifier) @name
    (assignment_pattern left: (identifier) @name)
    (rest_pattern (identifier) @name)
    (object_pattern (shorthand_property_identifier_pattern) @name)
  ])
]"""
_FUNCTION = "[(arrow_function) (function_expression) (generator_function)]"
_REQUIRE = """(call_expression function: [(identifier) (member_expression)] @_call
  arguments: (arguments . (string) @module))"""
_JAVASCRIPT = f"""
(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(class_declaration name: (_) @name) @class
(method_definition name: (_) @name) @function
(variable_declarator name: {_PATTERN}) @variable
(variable_declarator name: (identifier) @name value: {_FUNCTION}) @function
(variable_declarator name: (identifier) @name value: (class)) @class
(assignment_expression left: (member_expression property: (_) @name) right: {_FUNCTION}) @function
(assignment_expression left: (member_expression property: (_) @name) right: (class)) @class
(pair key: (_) @name value: {_FUNCTION}) @function
[(function_expression) (arrow_function) (generator_function) (class_static_block)] @locals

(import_statement source: (string) @module) @import
(import_statement (import_clause (identifier) @symbol) source: (string) @module) @import
(import_statement (import_clause (namespace_import (identifier) @symbol))
  source: (string) @module) @import
(import_statement (import_clause (named_imports
  (import_specifier name: (_) @symbol alias: (identifier)? @alias)))
  source: (string) @module) @import
(export_statement source: (string) @module) @import
(export_statement (export_clause (export_specifier name: (_) @symbol alias: (_)? @alias))
  source: (string) @module) @import
{_REQUIRE} @import
(variable_declarator name: (identifier) @alias value: [
  {_REQUIRE} @import (member_expression object: {_REQUIRE} @import)
])
(variable_declarator name: (object_pattern [
  (shorthand_property_identifier_pattern) @symbol
  (object_assignment_pattern left: (shorthand_property_identifier_pattern) @symbol)
  (pair_pattern key: (property_identifier) @symbol value: (identifier) @alias)
  (pair_pattern value: (object_pattern (shorthand_property_identifier_pattern) @symbol))
]) value: {_REQUIRE} @import)
(call_expression function: (import) arguments: (arguments . (string) @module)) @import
"""

_TYPESCRIPT = (
    _JAVASCRIPT
    + """
(abstract_class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @class
(type_alias_declaration name: (_) @name) @class
(enum_declaration name: (_) @name) @class
(enum_body name: (_) @name @variable)
(enum_assignment name: (_) @name) @variable
(interface_body (property_signature name: (_) @name) @variable)
(interface_body (method_signature name: (_) @name) @function)
(class_body (method_signature name: (_) @name) @function)
(type_alias_declaration value: (object_type (property_signature name: (_) @name) @variable))
(type_alias_declaration value: (object_type (method_signature name: (_) @name) @function))
(function_signature name: (identifier) @name) @function
(abstract_method_signature name: (_) @name) @function
(public_field_definition name: (_) @name) @variable
(public_field_definition name: (_) @name value: [(arrow_function) (function_expression)]) @function
(internal_module name: (identifier) @name) @scope
(import_statement (import_require_clause (identifier) @alias source: (string) @module)) @import
"""
)

# A name in a C declaration may be a pointer to, an array of, or a function that returns what is declared.
_C_VARIABLE = """[
  ({0}) @name
  (pointer_declarator declarator: [
    ({0}) @name
    (pointer_declarator declarator: [({0}) @name (pointer_declarator declarator: ({0}) @name)])
    (array_declarator declarator: ({0}) @name)
    (function_declarator declarator: (parenthesized_declarator
      (pointer_declarator declarator: ({0}) @name)))
  ])
  (array_declarator declarator: [
    ({0}) @name
    (array_declarator declarator: [({0}) @name (array_declarator declarator: ({0}) @name)])
  ])
  (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: [
    ({0}) @name
    (array_declarator declarator: ({0}) @name)
  ])))
]"""
_C_NAME = _C_VARIABLE.format("identifier")
# The last definition is `MACRO int (*name)(…)`, which the grammar takes for an error.
C_DEFINITIONS = f"""
(function_definition declarator: [
  (function_declarator declarator: (identifier) @name)
  (pointer_declarator declarator: [
    (function_declarator declarator: (identifier) @name)
    (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))
  ])
]) @function
{PART_END}
(struct_specifier name: (type_identifier) @name body: (_)) @class
(union_specifier name: (type_identifier) @name body: (_)) @class
(enum_specifier name: (type_identifier) @name body: (_)) @class
(enumerator name: (identifier) @name) @variable
(type_definition declarator: {_C_VARIABLE.format("type_identifier")}) @class
{PART_END}
(type_definition declarator: [
  (primitive_type) @name
  (pointer_declarator declarator: (function_declarator
    declarator: (parenthesized_declarator (type_identifier) @name)))
  (function_declarator declarator: [
    (type_identifier) @name (parenthesized_declarator (type_identifier) @name)
  ])
]) @class
(field_declaration declarator: {_C_VARIABLE.format("field_identifier")}) @variable
{PART_END}
(preproc_def name: (identifier) @name) @variable
(preproc_function_def name: (identifier) @name) @function
(declaration declarator: {_C_NAME}) @variable
{PART_END}
(declaration declarator: (init_declarator declarator: {_C_NAME})) @variable
(function_declarator parameters: (parameter_list
  . (ERROR) . (parameter_declaration type: (type_identifier) @name !declarator) .)) @variable
(preproc_include path: [(string_literal) (system_lib_string)] @module) @import
"""

GRAMMARS = {
    "c": Grammar(
        "tree_sitter_c",
        C_DEFINITIONS.replace(PART_END, ""),
        include_file,
    ),
    "go": Grammar(
        "tree_sitter_go",
        """
(function_declaration name: (identifier) @name) @function
(method_declaration receiver: (parameter_list (parameter_declaration type: (_) @container))
  name: (field_identifier) @name) @function
(type_spec name: (type_identifier) @name) @class
(type_alias name: (type_identifier) @name) @class
(field_declaration name: (field_identifier) @name) @variable
(method_elem name: (field_identifier) @name) @function
(func_literal) @locals
(const_spec (identifier) @name) @variable
(var_spec (identifier) @name) @variable
(import_spec name: (_)? @alias path: (_) @module) @import
""",
        go_package,
    ),
    "java": Grammar(
        "tree_sitter_java",
        """
(class_declaration name: (identifier) @name) @class
(interface_declaration name: (identifier) @name) @class
(enum_declaration name: (identifier) @name) @class
(record_declaration name: (identifier) @name) @class
(annotation_type_declaration name: (identifier) @name) @class
(method_declaration name: (identifier) @name) @function
(constructor_declaration name: (identifier) @name) @function
(compact_constructor_declaration name: (identifier) @name) @function
(annotation_type_element_declaration name: (identifier) @name) @function
(field_declaration declarator: (variable_declarator name: (identifier) @name)) @variable
(constant_declaration declarator: (variable_declarator name: (identifier) @name)) @variable
(enum_constant name: (identifier) @name) @variable
(import_declaration (scoped_identifier) @module (asterisk)? @all) @import
""",
        java_name,
    ),
    "javascript": Grammar(
        "tree_sitter_javascript",
        _JAVASCRIPT + "(field_definition property: (_) @name) @variable",
        path_module,
    ),
    # for files that Python's own parser rejects: older syntax, or unfinished edits
    "python": Grammar(
        "tree_sitter_python",
        """
(function_definition name: (identifier) @name) @function
(class_definition name: (identifier) @name) @class
(assignment left: (identifier) @name) @variable
(assignment left: (pattern_list (identifier) @name)) @variable
(type_alias_statement left: (type (identifier) @name)) @class
(import_statement name: (dotted_name) @module) @import
(import_statement name: (aliased_import name: (dotted_name) @module
  alias: (identifier) @alias)) @import
(import_from_statement module_name: (_) @module) @import
(import_from_statement module_name: (_) @module name: (dotted_name) @symbol) @import
(import_from_statement module_name: (_) @module
  name: (aliased_import name: (dotted_name) @symbol alias: (identifier) @alias)) @import
""",
        python_module,
    ),
    "rust": Grammar(
        "tree_sitter_rust",
        """
(function_item name: (identifier) @name) @function
(function_signature_item name: (identifier) @name) @function
(macro_definition name: (identifier) @name) @function
(struct_item name: (type_identifier) @name) @class
(enum_item name: (type_identifier) @name) @class
(union_item name: (type_identifier) @name) @class
(trait_item name: (type_identifier) @name) @class
(type_item name: (type_identifier) @name) @class
(associated_type name: (type_identifier) @name) @class
(enum_variant name: (identifier) @name) @variable
(field_declaration name: (field_identifier) @name) @variable
(const_item name: (identifier) @name) @variable
(static_item name: (identifier) @name) @variable
(impl_item type: (_) @name) @scope
(mod_item name: (identifier) @name body: (_)) @scope
(mod_item !body) @import @module
(use_declaration argument: (_) @module) @import
(extern_crate_declaration name: (identifier) @module) @import
""",
        rust_uses,
    ),
    "tsx": Grammar("tree_sitter_typescript", _TYPESCRIPT, path_module, "language_tsx"),
    "typescript": Grammar(
        "tree_sitter_typescript", _TYPESCRIPT, path_module, "language_typescript"
    ),
}
