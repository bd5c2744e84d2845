package trust

import (
	"os"
	"path/filepath"
	"testing"
)

// What a tool makes in a folder is what it was again, unless others have changed
// it since: then the tool's own undoing stands.
func TestAroundAndRestore(t *testing.T) {
	for _, others := range []bool{false, true} {
		root := system(t, map[string]string{"certs/a.pem": "a", "certs/by-hand.pem": "by hand", "certs/below/x": "x"})
		link := filepath.Join(root, "certs/l.pem")
		if err := os.Symlink("a.pem", link); err != nil {
			t.Fatal(err)
		}
		before := snapshot(t, filepath.Join(root, "certs"))
		tool := func(made string) func() error {
			return func() error {
				put(t, root, "certs/bundle", made)
				os.Remove(filepath.Join(root, "certs/by-hand.pem"))
				os.Remove(link)
				return os.Symlink("b.pem", link)
			}
		}
		in(t, root, func(j *Journal) {
			for range 2 {
				if err := j.around([]string{"/certs", "/missing"}, tool("with ours")); err != nil {
					t.Fatal(err)
				}
			}
		})
		if others {
			put(t, root, "certs/new.pem", "new")
		}
		in(t, root, func(j *Journal) {
			if err := j.restore([]string{"/certs", "/missing"}, tool("without")); err != nil {
				t.Fatal(err)
			}
			if err := j.Finish(); err != nil {
				t.Error(err)
			}
		})
		after := snapshot(t, filepath.Join(root, "certs"))
		target, _ := os.Readlink(link)
		if others && (content(t, root, "certs/bundle") != "without" || target != "b.pem") || !others && (after != before || target != "a.pem") {
			t.Errorf("others %v: %s\nbefore:\n%s", others, after, before)
		}
	}
}
