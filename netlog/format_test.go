package netlog_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/netlog/netlogtest"
)

func readFormat(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestFormatExample(t *testing.T) {
	_, example, ok := strings.Cut(readFormat(t), "```jsonl\n")
	example, _, closed := strings.Cut(example, "```")
	if !ok || !closed {
		t.Fatal("FORMAT.md has no example")
	}
	path := filepath.Join(t.TempDir(), "network.jsonl")
	if err := os.WriteFile(path, []byte(example), 0o600); err != nil {
		t.Fatal(err)
	}
	if lines := netlogtest.Validate(t, path); len(lines) < 5 {
		t.Errorf("the example has %d lines", len(lines))
	}
}

// TestFormatIsComplete looks in FORMAT.md for every field and word of the schema.
func TestFormatIsComplete(t *testing.T) {
	format := readFormat(t)
	var schema any
	if err := json.Unmarshal(netlog.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	words := 0
	mention := func(word string) {
		words++
		if !strings.Contains(format, "`"+word+"`") {
			t.Errorf("FORMAT.md does not have `%s`", word)
		}
	}
	var walk func(any)
	walk = func(v any) {
		m, ok := v.(map[string]any)
		if !ok {
			return
		}
		for key, v := range m {
			switch v := v.(type) {
			case []any:
				for _, word := range v {
					if s, ok := word.(string); ok && key == "enum" {
						mention(s)
					}
					walk(word)
				}
			case map[string]any:
				if key == "properties" {
					for field := range v {
						mention(field)
					}
				}
				walk(v)
			}
		}
	}
	walk(schema)
	if words < 100 {
		t.Errorf("the schema has %d words", words)
	}
}
