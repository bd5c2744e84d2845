package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// What the README and the pages of docs have of our command lines is understood:
// whole ones, in blocks, by the program itself; those within a text are of commands
// and flags that there are.
func TestThePagesCommandsAreOurs(t *testing.T) {
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks, spans := 0, 0
	for _, path := range append(files, "../../README.md") {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range shellLines(string(b)) {
			for _, args := range ourCommands(line) {
				blocks++
				var said strings.Builder
				if code := run(t.Context(), append(args, "--help"), strings.NewReader(""), &said, &said); code != 0 {
					t.Errorf("%s: %s\n%s", path, line, said.String())
				}
			}
		}
		for _, m := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(codeBlock.ReplaceAllString(string(b), ""), -1) {
			words := strings.Fields(strings.TrimPrefix(strings.TrimPrefix(m[1], "sudo "), program+" "))
			own, rest := commandOf(newRoot(""), words)
			if own == nil {
				if strings.HasPrefix(m[1], program+" ") && words[0] != "COMMAND" && words[0] != "--help" {
					t.Errorf("%s: %s: there is no such command", path, m[1])
				}
				continue
			}
			spans++
			for _, word := range rest {
				if word == "--" {
					break
				}
				name, _, _ := strings.Cut(word, "=")
				if strings.HasPrefix(name, "--") && name != "--help" && own.Flags().Lookup(name[2:]) == nil {
					t.Errorf("%s: %s: %s has no flag %s", path, m[1], own.CommandPath(), name)
				}
			}
		}
	}
	if blocks < 50 || spans < 50 {
		t.Errorf("only %d command lines and %d commands in texts were found", blocks, spans)
	}
}

var codeBlock = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

// shellLines are those of a page's blocks of sh.
func shellLines(page string) (lines []string) {
	for _, m := range codeBlock.FindAllStringSubmatch(page, -1) {
		if m[1] == "sh" {
			lines = append(lines, strings.Split(strings.ReplaceAll(m[2], "\\\n", " "), "\n")...)
		}
	}
	return lines
}

// ourCommands are the arguments of this program's commands in a line of a shell.
func ourCommands(line string) (all [][]string) {
	line, _, _ = strings.Cut(line, " #")
	for _, command := range regexp.MustCompile(`\|\|?|&&|;|\$\(|\)`).Split(line, -1) {
		words := shellWords(command)
		for len(words) > 0 && (words[0] == "sudo" || strings.Contains(words[0], "=")) {
			words = words[1:]
		}
		if len(words) > 2 && words[0] == "go" && words[1] == "run" {
			words = append([]string{filepath.Base(words[2])}, words[3:]...)
		}
		if len(words) == 0 || words[0] != program {
			continue
		}
		var args []string
		for _, w := range words[1:] {
			if w == "--" {
				break
			}
			if !strings.HasPrefix(w, ">") {
				args = append(args, w)
			}
		}
		all = append(all, args)
	}
	return all
}

// shellWords takes the quotes off.
func shellWords(s string) (words []string) {
	for _, m := range regexp.MustCompile(`(?:'[^']*'|"[^"]*"|[^\s'"])+`).FindAllString(s, -1) {
		words = append(words, strings.NewReplacer("'", "", `"`, "").Replace(m))
	}
	return words
}

// commandOf is the command that words begin with; nil when they don't.
func commandOf(root *cobra.Command, words []string) (c *cobra.Command, rest []string) {
	if len(words) == 0 || strings.HasPrefix(words[0], "-") {
		return nil, nil
	}
	c, rest, err := root.Find(words)
	if err != nil || c == root {
		return nil, nil
	}
	return c, rest
}
