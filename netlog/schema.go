package netlog

import (
	_ "embed"
	"slices"
)

//go:embed schema.json
var schema []byte

// Schema returns schema.json, the JSON Schema (draft 2020-12) of a line.
func Schema() []byte { return slices.Clone(schema) }
