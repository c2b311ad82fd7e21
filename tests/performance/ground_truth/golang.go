// Definitions and imports of Go by its own parser: go run golang.go ROOT < a path on each line
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
)

type found struct {
	File        string          `json:"file"`
	Definitions [][]interface{} `json:"definitions"`
	Imports     [][]interface{} `json:"imports"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		files := token.NewFileSet()
		parsed, err := parser.ParseFile(files, filepath.Join(os.Args[1], lines.Text()), nil, 0)
		if err != nil {
			continue
		}
		result := found{File: lines.Text(), Definitions: [][]interface{}{}, Imports: [][]interface{}{}}
		define := func(name *ast.Ident) {
			if name.Name != "_" {
				result.Definitions = append(result.Definitions, []interface{}{files.Position(name.Pos()).Line, name.Name})
			}
		}
		for _, spec := range parsed.Imports {
			target, _ := strconv.Unquote(spec.Path.Value)
			result.Imports = append(result.Imports, []interface{}{files.Position(spec.Pos()).Line, target})
		}
		depth := 0
		var stack []ast.Node
		ast.Inspect(parsed, func(node ast.Node) bool {
			if node == nil {
				switch stack[len(stack)-1].(type) {
				case *ast.FuncDecl, *ast.FuncLit:
					depth--
				}
				stack = stack[:len(stack)-1]
				return true
			}
			stack = append(stack, node)
			switch one := node.(type) {
			case *ast.FuncDecl:
				define(one.Name)
				depth++
			case *ast.FuncLit:
				depth++
			case *ast.TypeSpec:
				define(one.Name)
			case *ast.ValueSpec:
				if depth == 0 {
					for _, name := range one.Names {
						define(name)
					}
				}
			case *ast.StructType:
				for _, field := range one.Fields.List {
					for _, name := range field.Names {
						define(name)
					}
				}
			case *ast.InterfaceType:
				for _, field := range one.Methods.List {
					for _, name := range field.Names {
						define(name)
					}
				}
			}
			return true
		})
		written, _ := json.Marshal(result)
		fmt.Println(string(written))
	}
}
