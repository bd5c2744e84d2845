package netlog_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/netlog/netlogtest"
)

// strangers puts files beside a log that have the name of an older one.
func strangers(t *testing.T, dir, logLine string) {
	t.Helper()
	path := func(number string) string { return filepath.Join(dir, "network."+number+".jsonl") }
	write(t, path("2024"), "a year's figures\n")
	write(t, path("2025"), logLine) // a copy
	write(t, path("2026"), "")
	write(t, path("4"), `{"n":4}`+"\n")
	if err := errors.Join(
		os.Mkdir(path("2"), 0o700),
		syscall.Mkfifo(path("3"), 0o600),
		os.Symlink(path("2025"), path("5")),
	); err != nil {
		t.Fatal(err)
	}
}

// What only has the name of an older file is neither read, counted nor deleted.
func TestStrangersOfTheSet(t *testing.T) {
	dir := t.TempDir()
	live := filepath.Join(dir, netlog.LiveName)
	other := t.TempDir()
	w := openWriter(t, filepath.Join(other, netlog.LiveName))
	closeWriter(t, w)
	strangers(t, dir, content(t, filepath.Join(other, netlog.LiveName)))
	before := state(dir)

	if _, err := netlog.OpenLog(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("strangers alone give %v", err)
	}
	w = rotating(t, dir, 1000, 3)
	for range 40 {
		exchange(w, "x")
	}
	closeWriter(t, w)
	w = rotating(t, dir, 1000, 3)
	closeWriter(t, w)

	var ours []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.Contains(before, filepath.Join(dir, e.Name())+" ") {
			ours = append(ours, e.Name())
		}
	}
	if len(ours) != 3 {
		t.Errorf("the log's files are %q", ours)
	}
	log, err := netlog.OpenLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := log.Scan()
	s.Next()
	first := s.Head().N
	log.Close()
	netlogtest.ValidateWith(t, dir, netlogtest.Options{First: first})
	if p, err := netlog.NewReader(live).Page(w.Stats().Last-1, 1); err != nil || p.Next != w.Stats().Last || p.BegunAgain {
		t.Errorf("the last page is %+v, %v", p, err)
	}
	for _, name := range ours {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	// The folder's own time has changed.
	cut := func(s string) string { _, s, _ = strings.Cut(s, "\n"); return s }
	if after := state(dir); cut(after) != cut(before) {
		t.Errorf("the strangers were\n%s\nand are\n%s", before, after)
	}
}

// A copy of the live file that has the very name of its older one.
func TestCopyOfTheLiveFile(t *testing.T) {
	dir := t.TempDir()
	live := filepath.Join(dir, netlog.LiveName)
	w := openWriter(t, live)
	exchange(w, "x")
	closeWriter(t, w)
	write(t, filepath.Join(dir, "network.1.jsonl"), content(t, live))
	if lines := netlogtest.Validate(t, dir); len(lines) != 3 {
		t.Errorf("%d lines", len(lines))
	}
}

// A writer that is refused leaves no file behind.
func TestRefusedLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, ".network.jsonl.next", "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := config(filepath.Join(dir, netlog.LiveName))
	c.MaxBytes = 1000
	if _, err := netlog.OpenWriter(c); err == nil {
		t.Fatal("no error")
	}
	if _, err := os.Stat(c.Path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the log is there: %v", err)
	}
}
