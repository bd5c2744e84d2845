package main

import (
	"fmt"
	"os"
	"strings"
)

// The blocks of a page that hold what a run printed, each behind a comment that
// names it.
const (
	tableBlock  = "table"
	growthBlock = "growth"
)

// renew puts what a run printed into a page of Markdown, each in place of its block.
// What is empty leaves that as it is.
func renew(page, table, growth string) error {
	b, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	text := string(b)
	for _, one := range []struct{ block, text string }{{tableBlock, table}, {growthBlock, growth}} {
		if text, err = replaceBlock(text, one.block, one.text); err != nil {
			return fmt.Errorf("%s: %w", page, err)
		}
	}
	return os.WriteFile(page, []byte(text), 0o644)
}

// replaceBlock puts a text in place of the block that a comment names.
func replaceBlock(page, block, text string) (string, error) {
	begin := "<!-- bench: " + block + " -->\n```\n"
	const end = "\n```\n"
	before, rest, found := strings.Cut(page, begin)
	_, after, ended := strings.Cut("\n"+rest, end)
	if !found || !ended {
		return "", fmt.Errorf("it has no block %q", strings.TrimSuffix(begin, "\n"))
	}
	if text == "" {
		return page, nil
	}
	return before + begin + strings.TrimSpace(text) + end + after, nil
}
