"""The queries for C++, C#, Kotlin, PHP and Ruby, in the terms of grammars.py. The first file in such a
language loads its grammar."""

from idea_explorer.tools.code.parsing.grammars import C_DEFINITIONS, PART_END, Grammar
from idea_explorer.tools.code.parsing.grammars import GRAMMARS as FIRST
from idea_explorer.tools.code.parsing.modules import (
    include_file,
    java_name,
    namespace_name,
    path_module,
)

_CPP = (
    C_DEFINITIONS
    + f"""
{PART_END}
(class_specifier name: (_) @name body: (_)) @class
(struct_specifier name: (template_type) @name body: (_)) @class
(namespace_definition name: (_) @name) @scope
(alias_declaration name: (type_identifier) @name) @class
(concept_definition name: (identifier) @name) @class
(function_definition declarator: (function_declarator declarator: [
  (field_identifier) @name
  (destructor_name) @name
  (operator_name) @name
  (qualified_identifier scope: (_) @container name: (_) @name)
])) @function
(function_definition declarator: (_ (function_declarator declarator: [
  (field_identifier) @name
  (operator_name) @name
  (qualified_identifier scope: (_) @container name: (_) @name)
]))) @function
(field_declaration declarator: (function_declarator declarator: (field_identifier) @name)) @function
"""
)

GRAMMARS = {
    **FIRST,
    "cpp": Grammar("tree_sitter_cpp", _CPP, include_file),
    "csharp": Grammar(
        "tree_sitter_c_sharp",
        """
(class_declaration name: (identifier) @name) @class
(interface_declaration name: (identifier) @name) @class
(struct_declaration name: (identifier) @name) @class
(record_declaration name: (identifier) @name) @class
(enum_declaration name: (identifier) @name) @class
(delegate_declaration name: (identifier) @name) @class
(enum_member_declaration name: (identifier) @name) @variable
(method_declaration name: (identifier) @name) @function
(constructor_declaration name: (identifier) @name) @function
(local_function_statement name: (identifier) @name) @function
(property_declaration name: (identifier) @name) @variable
(event_declaration name: (identifier) @name) @variable
(field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @variable
(event_field_declaration
  (variable_declaration (variable_declarator name: (identifier) @name))) @variable
(using_directive [(identifier) (qualified_name)] @module) @import
""",
        namespace_name,
    ),
    "kotlin": Grammar(
        "tree_sitter_kotlin",
        """
(class_declaration name: (identifier) @name) @class
(object_declaration name: (identifier) @name) @class
(type_alias type: (identifier) @name) @class
(function_declaration name: (identifier) @name) @function
(property_declaration (variable_declaration (identifier) @name)) @variable
(enum_entry (identifier) @name) @variable
(class_parameter ["val" "var"] (identifier) @name) @variable
(import (qualified_identifier) @module) @import
""",
        java_name,
    ),
    "php": Grammar(
        "tree_sitter_php",
        """
(class_declaration name: (name) @name) @class
(interface_declaration name: (name) @name) @class
(trait_declaration name: (name) @name) @class
(enum_declaration name: (name) @name) @class
(enum_case name: (name) @name) @variable
(function_definition name: (name) @name) @function
(method_declaration name: (name) @name) @function
(const_element (name) @name) @variable
(property_element name: (variable_name (name) @name)) @variable
(namespace_use_clause [(qualified_name) (name)] @module) @import
(require_expression (string) @module) @import
(require_once_expression (string) @module) @import
(include_expression (string) @module) @import
(include_once_expression (string) @module) @import
""",
        namespace_name,
        "language_php",
    ),
    "ruby": Grammar(
        "tree_sitter_ruby",
        """
(class name: (_) @name) @class
(module name: (_) @name) @class
(method name: (_) @name) @function
(singleton_method name: (_) @name) @function
(assignment left: (constant) @name) @variable
(call method: (identifier) @_call arguments: (argument_list . (string) @module)) @import
""",
        path_module,
    ),
}
