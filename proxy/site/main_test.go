package site

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// notes is a site behind a route of its own.
func notes() Site {
	return Site{Name: "notes", Upstream: "http://gw:8080/website/notes/", Domains: []string{"notes.test", "www.notes.test"}}
}

func table(t *testing.T, c Config) *Table {
	t.Helper()
	made, err := NewTable(c)
	if err != nil {
		t.Fatal(err)
	}
	return made
}
