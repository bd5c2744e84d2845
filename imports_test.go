// Package netlog_test holds what is true of the module as a whole: which
// package may import which, and what each package has.
package netlog_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const module = "github.com/agentenv/netlog"

// mayImport is the architecture: what of ours each package may import. A name
// on the right stands for the packages below it too. A package that is not
// here has the row of the nearest package above it, and may import that one.
// Whoever adds a package widens this table in the same commit, or leaves it.
var mayImport = map[string][]string{
	"netlog":              {},
	"har":                 {"netlog"},
	"ca":                  {},
	"proxy":               {"netlog"},
	"proxy/wire":          {},
	"proxy/wsframe":       {},
	"proxy/hello":         {},
	"proxy/h2":            {},
	"proxy/site":          {"netlog", "proxy", "ca"},
	"capture":             {},
	"capture/pcap":        {"proxy/hello"},
	"capture/traffic":     {"capture"},
	"cmd/agentenv-netlog": {"netlog", "har", "ca", "proxy", "capture", "cmd/internal"},
	"cmd/internal":        {},
	"cmd/internal/api":    {"netlog", "har", "capture"},
	"internal/webarena":   {}, // for tests
	"e2e":                 {},
	"e2e/battery":         {"netlog", "proxy"},
	"bench":               {"netlog", "ca", "proxy"},
}

// A pkg is what `go list -json` says of one package.
type pkg struct {
	Dir          string
	ImportPath   string
	Doc          string
	Imports      []string
	TestImports  []string
	XTestImports []string
	TestGoFiles  []string
	XTestGoFiles []string
}

// rel is the package's path in the module; "" at its root.
func (p pkg) rel() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
}

func packages(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.Command("go", "list", "-json", "./...").Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %v\n%s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	var all []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		if p.rel() != "" {
			all = append(all, p)
		}
	}
}

// row finds the table's row for a package: its own or the nearest above it.
func row(rel string) (name string, allowed []string) {
	for name = rel; name != "."; name = path.Dir(name) {
		if allowed, ok := mayImport[name]; ok {
			return name, allowed
		}
	}
	return "", nil
}

// below says whether rel is name or lies below it.
func below(rel, name string) bool { return rel == name || strings.HasPrefix(rel, name+"/") }

func TestAPackageImportsOnlyWhatTheArchitectureAllows(t *testing.T) {
	for _, p := range packages(t) {
		name, allowed := row(p.rel())
		if name == "" {
			t.Errorf("%s has no row in the table of imports", p.rel())
		}
		for _, imported := range p.Imports {
			of, ours := strings.CutPrefix(imported, module+"/")
			if !ours || below(of, name) {
				continue
			}
			if !slices.ContainsFunc(allowed, func(a string) bool { return below(of, a) }) {
				t.Errorf("%s imports %s; it may import only %q", p.rel(), of, allowed)
			}
		}
	}
}

func TestNothingImportsTheEndToEndTestsOrTheBenchmarks(t *testing.T) {
	for _, p := range packages(t) {
		for _, imported := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			of := strings.TrimPrefix(imported, module+"/")
			for _, leaf := range []string{"e2e", "bench"} {
				if below(of, leaf) && !below(p.rel(), leaf) {
					t.Errorf("%s imports %s", p.rel(), of)
				}
			}
		}
	}
}

func TestEveryPackageHasAPackageComment(t *testing.T) {
	for _, p := range packages(t) {
		if p.Doc == "" {
			t.Errorf("%s has no package comment", p.rel())
		}
	}
}

func TestEveryPackageLooksForGoroutinesThatItLeft(t *testing.T) {
	for _, p := range packages(t) {
		found := false
		for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			found = found || strings.Contains(string(text), "func TestMain(") && strings.Contains(string(text), "goleak.")
		}
		if !found {
			t.Errorf("%s has no TestMain with goleak", p.rel())
		}
	}
}
