package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// docs/commands.md is what the commands say of themselves; make docs writes it.
func TestTheReferenceIsCurrent(t *testing.T) {
	const path = "../../docs/commands.md"
	page := reference(newRoot(""))
	if *update {
		if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	had, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(had) != page {
		t.Error("docs/commands.md is not what the commands say (make docs)")
	}
}

// reference is a page of a command and all that are below it.
func reference(root *cobra.Command) string {
	var list, sections strings.Builder
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		anchor := strings.ReplaceAll(c.CommandPath(), " ", "-")
		fmt.Fprintf(&list, "- [`%s`](#%s): %s\n", c.CommandPath(), anchor, markdown(c.Short))
		section(&sections, c)
		for _, below := range c.Commands() {
			if below.IsAvailableCommand() && below.Name() != "completion" {
				walk(below)
			}
		}
	}
	walk(root)
	return "# Commands\n\nMade of what `agentenv-netlog COMMAND --help` says, by `make docs`.\n\n" + list.String() + sections.String()
}

func section(b *strings.Builder, c *cobra.Command) {
	fmt.Fprintf(b, "\n## %s\n", c.CommandPath())
	if c.Long != "" {
		fenced(b, "text", c.Long)
	} else {
		fmt.Fprintf(b, "\n%s.\n", markdown(c.Short))
	}
	if !c.HasAvailableSubCommands() {
		fenced(b, "text", c.UseLine())
	}
	if c.HasExample() {
		fenced(b, "sh", strings.TrimPrefix(strings.ReplaceAll(c.Example, "\n  ", "\n"), "  "))
	}
	before := "\n| flag | |\n|---|---|\n"
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" && f.Name != "version" {
			b.WriteString(before + flagRow(f))
			before = ""
		}
	})
}

func fenced(b *strings.Builder, language, text string) {
	fmt.Fprintf(b, "\n```%s\n%s\n```\n", language, text)
}

// flagRow is what --help says of a flag, as a row of a table.
func flagRow(f *pflag.Flag) string {
	value, usage := pflag.UnquoteUsage(f)
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	if value != "" {
		name += " " + value
	}
	switch f.DefValue {
	case "", "false", "0", "0s", "[]":
	default:
		usage += " (default " + f.DefValue + ")"
	}
	return fmt.Sprintf("| `%s` | %s |\n", strings.ReplaceAll(name, "|", `\|`), markdown(usage))
}

// markdown escapes a text's punctuation.
func markdown(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "|", `\|`, "<", `\<`, "[", `\[`, "`", "\\`").Replace(s)
}
