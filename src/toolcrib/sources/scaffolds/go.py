"""A new tool in Go."""

MODULE = """\
module tool

go 1.19
"""
"""What `go get` writes its packages into. The name is of no matter: nobody imports a tool."""

TEMPLATE = r"""// @NAME@: a tool, started with one --name=value word for each argument. What it prints is its answer.
// After a change, build it again: go build -o @NAME@ @NAME@.go
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

type parameter struct {
	name, kind string
	required   bool
}

// The arguments: name, type, and whether it must be there. The same stands in tool.yaml, for the model and the gate.
var parameters = []parameter{
@PARAMETERS@}

// The answer as text; or an error, with words for the model, for what cannot be done.
func answer(arguments map[string]interface{}, workspace string) (string, error) {
	// TODO: do the work here. Paths are meant from the workspace, which is the working directory too.
	lines := []string{"@NAME@ works."}
	for _, each := range parameters {
		if value, given := arguments[each.name]; given {
			lines = append(lines, fmt.Sprintf("%s: %v", each.name, value))
		}
	}
	return strings.Join(lines, "\n"), nil
}

func writeOutput(text string) {
	fmt.Println(text)
}

func readArguments(words []string) (map[string]interface{}, error) {
	arguments := map[string]interface{}{}
	for _, word := range words {
		name, text, given := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		each := find(name)
		if !strings.HasPrefix(word, "--") || !given || each == nil {
			return nil, fmt.Errorf("%.80q is no argument of this tool", word)
		}
		value, err := readValue(each, text)
		if err != nil {
			return nil, err
		}
		arguments[name] = value
	}
	for _, each := range parameters {
		if _, given := arguments[each.name]; each.required && !given {
			return nil, fmt.Errorf("--%s=... is missing", each.name)
		}
	}
	return arguments, nil
}

func find(name string) *parameter {
	for at := range parameters {
		if parameters[at].name == name {
			return &parameters[at]
		}
	}
	return nil
}

func readValue(each *parameter, text string) (interface{}, error) {
	var number float64
	switch {
	case each.kind == "string":
		return text, nil
	case each.kind == "boolean" && (text == "true" || text == "false"):
		return text == "true", nil
	case each.kind == "number" && text != "null" && json.Unmarshal([]byte(text), &number) == nil:
		return number, nil
	}
	return nil, fmt.Errorf("--%s=%.80q is not a %s", each.name, text, each.kind)
}

func main() {
	arguments, err := readArguments(os.Args[1:])
	if err != nil {
		fail(2, err)
	}
	workspace := os.Getenv("TOOLCRIB_WORKSPACE")
	if workspace == "" {
		workspace = os.Getenv("FORGE_WORKSPACE")
	}
	if workspace == "" {
		workspace = "."
	}
	text, err := answer(arguments, workspace)
	if err != nil {
		fail(1, err)
	}
	writeOutput(text)
}

func fail(status int, err error) {
	fmt.Fprintf(os.Stderr, "@NAME@: %v\n", err)
	os.Exit(status)
}
"""
