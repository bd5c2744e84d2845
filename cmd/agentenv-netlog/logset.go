package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// olderFiles are the files beside the live one that readers take for the same
// log: network.N.jsonl for network.jsonl (netlog/FORMAT.md, Files).
func olderFiles(live string) []string {
	entries, err := os.ReadDir(filepath.Dir(live))
	if err != nil {
		return nil // it is not there either
	}
	var list []string
	for _, e := range entries {
		if isOlder(e.Name(), filepath.Base(live)) {
			list = append(list, filepath.Join(filepath.Dir(live), e.Name()))
		}
	}
	return list
}

// isOlder says whether name is that of an older file of the log named live.
func isOlder(name, live string) bool {
	ext := filepath.Ext(live)
	rest, before := strings.CutPrefix(name, strings.TrimSuffix(live, ext)+".")
	number, after := strings.CutSuffix(rest, ext)
	return before && after && isLineNumber(number)
}

func isLineNumber(s string) bool {
	n, err := strconv.ParseInt(s, 10, 64)
	return err == nil && n > 0 && strconv.FormatInt(n, 10) == s
}

// newerFile is the live file of whose log path is an older one, by its name; ""
// when it is none.
func newerFile(path string) string {
	ext := filepath.Ext(path)
	stem := strings.TrimSuffix(path, ext)
	if isLineNumber(strings.TrimPrefix(ext, ".")) {
		return stem
	}
	if number := filepath.Ext(stem); isLineNumber(strings.TrimPrefix(number, ".")) {
		return strings.TrimSuffix(stem, number) + ext
	}
	return ""
}

// isOfLog says whether path is a file of the log that is read at log, also by
// another name, or would be one if it were made.
func isOfLog(path, log string) bool {
	live := log
	if newer := newerFile(log); newer != "" {
		if _, err := os.Lstat(newer); err == nil {
			live = newer
		}
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	for _, file := range append(olderFiles(live), live, log) {
		if sameFile(path, file) {
			return true
		}
	}
	if !sameFile(filepath.Dir(path), filepath.Dir(live)) {
		return false
	}
	name, next := filepath.Base(path), "."+filepath.Base(live)+".next" // what a rotation makes
	return isOlder(name, filepath.Base(live)) || name == next || name == next+".link"
}

// isAlias says whether two paths name one file, or would if it were made.
func isAlias(a, b string) bool {
	return sameFile(a, b) || filepath.Base(a) == filepath.Base(b) && sameFile(filepath.Dir(a), filepath.Dir(b))
}
